//! Creates CronJobs with many parallel clients. Each client sends one request at a time.

use std::{cell::Cell, rc::Rc, time::Duration};

use anyhow::Context;
use bytes::Bytes;
use tokio::task::LocalSet;

use super::{
    clock,
    connection::{Connection, ConnectionTarget},
    latency::Latencies,
};

/// The collection of the CronJobs.
pub const CRON_JOBS: &str = "/apis/batch/v1/namespaces/default/cronjobs";

/// The number of CronJobs and of clients that create them.
#[derive(Clone, Copy, Debug)]
pub struct CreatePhase {
    /// The number of parallel clients.
    pub clients: usize,
    /// The number of CronJobs.
    pub count: usize,
}

/// The measurements of one phase.
#[derive(Clone, Debug)]
pub struct CreateResults {
    /// The number of parallel clients.
    pub clients: usize,
    /// The latency of each create.
    pub latencies: Latencies,
    /// The duration of the phase.
    pub duration: Duration,
}

impl CreateResults {
    /// Creates per second.
    pub fn per_second(&self) -> f64 {
        self.latencies.count() as f64 / self.duration.as_secs_f64()
    }
}

/// Creates CronJobs whose names have a prefix.
pub async fn create_phase(
    target: &ConnectionTarget,
    phase: CreatePhase,
    prefix: &str,
) -> anyhow::Result<CreateResults> {
    let bodies = (0..phase.count).map(|number| cron_job_body(prefix, number)).collect();
    create_all(target, phase.clients, bodies).await
}

/// Creates CronJobs from request bodies. The measurement begins after all clients have connected.
pub async fn create_all(
    target: &ConnectionTarget,
    clients: usize,
    bodies: Rc<[Bytes]>,
) -> anyhow::Result<CreateResults> {
    let mut connections = Vec::new();
    for _ in 0..clients {
        connections.push(Connection::open(target).await?);
    }
    let next = Rc::new(Cell::new(0));
    let local = LocalSet::new();
    let start = clock::now();
    let started: Vec<_> = connections
        .into_iter()
        .map(|connection| {
            local.spawn_local(run_client(connection, Rc::clone(&bodies), Rc::clone(&next)))
        })
        .collect();
    let samples = local.run_until(join_clients(started)).await?;
    Ok(CreateResults { clients, duration: start.elapsed(), latencies: Latencies::new(samples) })
}

type ClientTask = tokio::task::JoinHandle<anyhow::Result<Vec<Duration>>>;

async fn join_clients(clients: Vec<ClientTask>) -> anyhow::Result<Vec<Duration>> {
    let mut samples = Vec::new();
    for client in clients {
        samples.extend(client.await.context("a client failed")??);
    }
    Ok(samples)
}

async fn run_client(
    mut connection: Connection,
    bodies: Rc<[Bytes]>,
    next: Rc<Cell<usize>>,
) -> anyhow::Result<Vec<Duration>> {
    let mut samples = Vec::new();
    while let Some(body) = bodies.get(next.replace(next.get() + 1)) {
        let start = clock::now();
        connection.post(CRON_JOBS, body.clone()).await?;
        samples.push(start.elapsed());
    }
    Ok(samples)
}

/// A typical CronJob that is not due during a benchmark.
pub fn cron_job_body(prefix: &str, number: usize) -> Bytes {
    let container = r#"{"name":"main","image":"busybox:1.37","command":["/bin/sh","-c","date; echo hello"],"env":[{"name":"GREETING","value":"hello"}],"resources":{"requests":{"cpu":"100m","memory":"64Mi"},"limits":{"memory":"128Mi"}}}"#;
    let pod = format!(r#"{{"restartPolicy":"OnFailure","containers":[{container}]}}"#);
    let job = format!(r#"{{"backoffLimit":3,"template":{{"spec":{pod}}}}}"#);
    let spec = format!(
        r#"{{"schedule":"{} 5 29 2 *","concurrencyPolicy":"Forbid","jobTemplate":{{"spec":{job}}}}}"#,
        number % 60
    );
    let meta = format!(r#"{{"name":"{prefix}-{number:06}","labels":{{"app":"bench"}}}}"#);
    let text =
        format!(r#"{{"apiVersion":"batch/v1","kind":"CronJob","metadata":{meta},"spec":{spec}}}"#);
    Bytes::from(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_json_with_distinct_names() {
        let read = |number| {
            serde_json::from_slice::<serde_json::Value>(&cron_job_body("a", number)).unwrap()
        };
        assert_eq!(read(7)["metadata"]["name"], "a-000007");
        assert_eq!(read(61)["spec"]["schedule"], "1 5 29 2 *");
    }
}
