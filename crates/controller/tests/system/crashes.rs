//! The controller dies, answers are lost: each slot still has one Job.

use std::sync::Arc;

use http::Request;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tower::{BoxError, service_fn};

use crate::world::{JOBS, World, slot, template};

/// A way to the server on which the answer to every so-manieth write is lost.
fn lossy(inner: Client, every: usize) -> Client {
    let mut writes = 0_usize;
    let service = service_fn(move |request: Request<Body>| {
        let is_write = request.method() != http::Method::GET;
        let is_lost = is_write && writes.is_multiple_of(every);
        writes += usize::from(is_write);
        let client = inner.clone();
        async move {
            let answer = client.send(request).await?;
            match is_lost {
                true => Err(BoxError::from("the connection was reset")),
                false => Ok(answer),
            }
        }
    });
    Client::new(service, "default")
}

#[tokio::test]
async fn lost_answers_double_nothing() {
    for every in [1_usize, 2, 3] {
        let mut world = World::at("08:00:10").await;
        world.kill().await;
        world.start_with(lossy(world.client.clone(), every + 1));
        // A history of one, so that a second run of a slot would not be stopped by its name.
        let spec = json!({"schedule": "* * * * *", "successfulJobsHistoryLimit": 0});
        world.cron_job("a", spec).await;
        world.until_next("a", "08:01:00").await;
        for minute in 1..5 {
            world.set(&format!("08:0{minute}:00"));
            let name = format!("a-{}", slot(&format!("08:0{minute}:00")));
            let listed = |found: &Value| found["status"]["active"][0]["name"] == name.as_str();
            world.until("a", listed).await;
            world.finish(&name, "Complete").await;
            world.until("a", |found| found["status"]["successfulRuns"] == minute).await;
        }
        assert_eq!(world.created("/jobs.batch/", 0), 4, "every {every}");
    }
}

#[tokio::test]
async fn a_controller_that_dies_after_any_write_is_followed_by_one_that_doubles_nothing() {
    for ttl in [None, Some(0)] {
        for writes in 0..6_u64 {
            let mut world = World::at("08:00:10").await;
            let mut spec = json!({"schedule": "* * * * *", "successfulJobsHistoryLimit": 0});
            if let Some(ttl) = ttl {
                spec["jobTemplate"] = template(json!({"ttlSecondsAfterFinished": ttl}));
            }
            world.cron_job("a", spec).await;
            world.until_next("a", "08:01:00").await;
            let start = world.store.revision();
            world.set("08:01:00");
            let mut watch = world.store.watch("/", start).unwrap();
            let dying = async {
                while world.store.revision() < start + writes {
                    watch.next().await.unwrap();
                }
            };
            let _ = tokio::time::timeout(std::time::Duration::from_millis(300), dying).await;
            world.kill().await;
            let name = format!("a-{}", slot("08:01:00"));
            if !world.jobs("a").is_empty() {
                world.finish(&name, "Complete").await;
                // The time to live is over at once.
                let path = format!("{JOBS}/{name}?propagationPolicy=Background");
                if ttl.is_some() {
                    world.send("DELETE", &path, &Value::Null).await.unwrap();
                }
            }
            world.start();
            world.set("08:01:30");
            world.until_next("a", "08:02:00").await;
            if let [job] = &world.jobs("a")[..]
                && world.read("a").await["status"]["active"] != Value::Null
            {
                world.finish(&format!("a-{job}"), "Complete").await;
            }
            world.until("a", |found| found["status"]["successfulRuns"] == 1).await;
            world.until_jobs("a", &[]).await;
            assert_eq!(
                world.created("/jobs.batch/", start),
                1,
                "killed after {writes} writes, {ttl:?}"
            );
        }
    }
}

/// A way to the server on which the answers to status writes of one CronJob wait.
fn slow(inner: Client, gate: Arc<Semaphore>) -> Client {
    let service = service_fn(move |request: Request<Body>| {
        let is_slow = request.uri().path().ends_with("/cronjobs/a/status");
        let (client, gate) = (inner.clone(), gate.clone());
        async move {
            let answer = client.send(request).await?;
            if is_slow {
                gate.acquire().await?.forget();
            }
            Ok::<_, BoxError>(answer)
        }
    });
    Client::new(service, "default")
}

#[tokio::test]
async fn a_cron_job_that_goes_while_its_status_is_written_does_not_come_back() {
    let mut world = World::at("08:00:10").await;
    world.kill().await;
    let gate = Arc::new(Semaphore::new(0));
    world.start_with(slow(world.client.clone(), gate.clone()));
    let spec = json!({"schedule": "* * * * *"});
    world.cron_job("a", spec.clone()).await;
    // It is written, and nobody has heard.
    world.until_next("a", "08:01:00").await;
    let path = "/apis/batch/v1/namespaces/default/cronjobs/a";
    world.send("DELETE", path, &Value::Null).await.unwrap();
    // Whoever has seen the next one has seen that this one is gone.
    world.cron_job("b", spec).await;
    world.until_next("b", "08:01:00").await;
    gate.add_permits(100);
    world.set("08:01:00");
    world.until_next("b", "08:02:00").await;
    world.set("08:02:00");
    world.until_next("b", "08:03:00").await;
    assert_eq!(world.jobs("a"), [""; 0]);
}
