//! CronJobs created by many clients at once, each waiting for its answer before the next.

use std::{cell::Cell, rc::Rc, time::Duration};

use anyhow::Context;
use bytes::Bytes;
use tokio::task::LocalSet;

use super::{
    clock,
    connection::{Connection, Target},
    latency::Latencies,
};

/// Where the CronJobs of all phases are.
pub(crate) const PATH: &str = "/apis/batch/v1/namespaces/default/cronjobs";

/// How many CronJobs are created, by how many clients.
#[derive(Clone, Copy, Debug)]
pub(super) struct Phase {
    pub(super) clients: usize,
    pub(super) count: usize,
}

/// What a phase measured.
#[derive(Clone, Debug)]
pub(crate) struct Created {
    pub(super) clients: usize,
    pub(super) latencies: Latencies,
    pub(crate) took: Duration,
}

impl Created {
    pub(super) fn per_second(&self) -> f64 {
        self.latencies.count() as f64 / self.took.as_secs_f64()
    }
}

/// Creates CronJobs whose names start with a word.
pub(super) async fn run(target: &Target, phase: Phase, word: &str) -> anyhow::Result<Created> {
    let bodies = (0..phase.count).map(|number| body(word, number)).collect();
    these(target, phase.clients, bodies).await
}

/// Creates CronJobs. Connections are open and bodies made before the clock starts.
pub(crate) async fn these(
    target: &Target,
    clients: usize,
    bodies: Rc<[Bytes]>,
) -> anyhow::Result<Created> {
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
            local.spawn_local(client(connection, Rc::clone(&bodies), Rc::clone(&next)))
        })
        .collect();
    let samples = local.run_until(gather(started)).await?;
    Ok(Created { clients, took: start.elapsed(), latencies: Latencies::new(samples) })
}

type Client = tokio::task::JoinHandle<anyhow::Result<Vec<Duration>>>;

async fn gather(clients: Vec<Client>) -> anyhow::Result<Vec<Duration>> {
    let mut samples = Vec::new();
    for client in clients {
        samples.extend(client.await.context("a client ended")??);
    }
    Ok(samples)
}

async fn client(
    mut connection: Connection,
    bodies: Rc<[Bytes]>,
    next: Rc<Cell<usize>>,
) -> anyhow::Result<Vec<Duration>> {
    let mut samples = Vec::new();
    while let Some(body) = bodies.get(next.replace(next.get() + 1)) {
        let start = clock::now();
        connection.post(PATH, body.clone()).await?;
        samples.push(start.elapsed());
    }
    Ok(samples)
}

/// A CronJob as people write it, never due while a benchmark runs.
pub(super) fn body(word: &str, number: usize) -> Bytes {
    let container = r#"{"name":"main","image":"busybox:1.37","command":["/bin/sh","-c","date; echo hello"],"env":[{"name":"GREETING","value":"hello"}],"resources":{"requests":{"cpu":"100m","memory":"64Mi"},"limits":{"memory":"128Mi"}}}"#;
    let pod = format!(r#"{{"restartPolicy":"OnFailure","containers":[{container}]}}"#);
    let job = format!(r#"{{"backoffLimit":3,"template":{{"spec":{pod}}}}}"#);
    let spec = format!(
        r#"{{"schedule":"{} 5 29 2 *","concurrencyPolicy":"Forbid","jobTemplate":{{"spec":{job}}}}}"#,
        number % 60
    );
    let meta = format!(r#"{{"name":"{word}-{number:06}","labels":{{"app":"bench"}}}}"#);
    let text =
        format!(r#"{{"apiVersion":"batch/v1","kind":"CronJob","metadata":{meta},"spec":{spec}}}"#);
    Bytes::from(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_json_with_names_of_their_own() {
        let read =
            |number| serde_json::from_slice::<serde_json::Value>(&body("a", number)).unwrap();
        assert_eq!(read(7)["metadata"]["name"], "a-000007");
        assert_eq!(read(61)["spec"]["schedule"], "1 5 29 2 *");
    }
}
