//! Tests with crashes and lost responses: each slot (scheduled time) still has exactly one Job.

use std::sync::Arc;

use http::Request;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tower::{BoxError, service_fn};

use crate::test_cluster::{JOBS, TestCluster, slot_suffix, template};

/// A client that loses the response of one in `every` writes.
fn client_losing_responses(inner: Client, every: usize) -> Client {
    let mut writes = 0_usize;
    let service = service_fn(move |request: Request<Body>| {
        let is_write = request.method() != http::Method::GET;
        let is_lost = is_write && writes.is_multiple_of(every);
        writes += usize::from(is_write);
        let client = inner.clone();
        async move {
            let response = client.send(request).await?;
            if is_lost { Err(BoxError::from("the connection was reset")) } else { Ok(response) }
        }
    });
    Client::new(service, "default")
}

#[tokio::test]
async fn lost_responses_do_not_create_second_jobs() {
    for every in [1_usize, 2, 3] {
        let mut cluster = TestCluster::with_cron_job_controller("08:00:10").await;
        cluster.kill().await;
        cluster.start_with(client_losing_responses(cluster.server.client(), every + 1));
        // Finished Jobs are deleted, so that the name of a Job would not prevent a second run of its slot.
        let spec = json!({"schedule": "* * * * *", "successfulJobsHistoryLimit": 0});
        cluster.create_cron_job("a", spec).await;
        cluster.wait_for_next("a", "08:01:00").await;
        for minute in 1..5 {
            cluster.set_time(&format!("08:0{minute}:00"));
            let name = format!("a-{}", slot_suffix(&format!("08:0{minute}:00")));
            let listed = |found: &Value| found["status"]["active"][0]["name"] == name.as_str();
            cluster.wait_for("a", listed).await;
            cluster.finish_job(&name, "Complete").await;
            cluster.wait_for("a", |found| found["status"]["successfulRuns"] == minute).await;
        }
        assert_eq!(cluster.created_count("/jobs.batch/", 0), 4, "every {every}");
    }
}

#[tokio::test]
async fn a_crash_after_any_write_does_not_create_a_second_job() {
    for ttl in [None, Some(0)] {
        for writes in 0..6_u64 {
            let mut cluster = TestCluster::with_cron_job_controller("08:00:10").await;
            let mut spec = json!({"schedule": "* * * * *", "successfulJobsHistoryLimit": 0});
            if let Some(ttl) = ttl {
                spec["jobTemplate"] = template(json!({"ttlSecondsAfterFinished": ttl}));
            }
            cluster.create_cron_job("a", spec).await;
            cluster.wait_for_next("a", "08:01:00").await;
            let start = cluster.server.store.revision();
            cluster.set_time("08:01:00");
            let mut watch = cluster.server.store.watch("/", start).unwrap();
            let writing = async {
                while cluster.server.store.revision() < start + writes {
                    watch.next().await.unwrap();
                }
            };
            let _ = tokio::time::timeout(std::time::Duration::from_millis(300), writing).await;
            cluster.kill().await;
            let name = format!("a-{}", slot_suffix("08:01:00"));
            if !cluster.jobs("a").is_empty() {
                cluster.finish_job(&name, "Complete").await;
                // The TTL is over at once.
                let path = format!("{JOBS}/{name}?propagationPolicy=Background");
                if ttl.is_some() {
                    cluster.server.send("DELETE", &path, &Value::Null).await.unwrap();
                }
            }
            cluster.start();
            cluster.set_time("08:01:30");
            cluster.wait_for_next("a", "08:02:00").await;
            if let [job] = &cluster.jobs("a")[..]
                && cluster.read("a").await["status"]["active"] != Value::Null
            {
                cluster.finish_job(&format!("a-{job}"), "Complete").await;
            }
            cluster.wait_for("a", |found| found["status"]["successfulRuns"] == 1).await;
            cluster.wait_for_jobs("a", &[]).await;
            assert_eq!(
                cluster.created_count("/jobs.batch/", start),
                1,
                "killed after {writes} writes, {ttl:?}"
            );
        }
    }
}

/// A client that delays the responses of status writes of the CronJob `a` until the gate has permits.
fn client_with_slow_status(inner: Client, gate: Arc<Semaphore>) -> Client {
    let service = service_fn(move |request: Request<Body>| {
        let is_slow = request.uri().path().ends_with("/cronjobs/a/status");
        let client = inner.clone();
        let gate = gate.clone();
        async move {
            let response = client.send(request).await?;
            if is_slow {
                gate.acquire().await?.forget();
            }
            Ok::<_, BoxError>(response)
        }
    });
    Client::new(service, "default")
}

#[tokio::test]
async fn a_cron_job_deleted_during_its_status_write_stays_deleted() {
    let mut cluster = TestCluster::with_cron_job_controller("08:00:10").await;
    cluster.kill().await;
    let gate = Arc::new(Semaphore::new(0));
    cluster.start_with(client_with_slow_status(cluster.server.client(), gate.clone()));
    let spec = json!({"schedule": "* * * * *"});
    cluster.create_cron_job("a", spec.clone()).await;
    // The status is written, but the controller has no response yet.
    cluster.wait_for_next("a", "08:01:00").await;
    let path = "/apis/batch/v1/namespaces/default/cronjobs/a";
    cluster.server.send("DELETE", path, &Value::Null).await.unwrap();
    // A controller that has reconciled `b` has also seen the deletion of `a`.
    cluster.create_cron_job("b", spec).await;
    cluster.wait_for_next("b", "08:01:00").await;
    gate.add_permits(100);
    cluster.set_time("08:01:00");
    cluster.wait_for_next("b", "08:02:00").await;
    cluster.set_time("08:02:00");
    cluster.wait_for_next("b", "08:03:00").await;
    assert_eq!(cluster.jobs("a"), [""; 0]);
}
