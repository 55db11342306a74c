//! CronJobs on a server that is not ours.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::{Method, Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tower::{BoxError, service_fn};

use crate::world::{CRON_JOBS, JOBS, World, slot, template};

const SINCE: &str = "punctual.dev/schedule-since";
const MISSED: &str = "punctual.dev/missed";

fn annotation<'a>(found: &'a Value, key: &str) -> &'a str {
    found["metadata"]["annotations"][key].as_str().unwrap_or_default()
}

/// Another controller that has found another CronJob has looked at everything there is.
async fn anew(world: &mut World) -> Vec<String> {
    let before = world.store.revision();
    world.kill().await;
    world.start();
    world.cron_job("z", json!({"schedule": "0 0 1 1 *"})).await;
    world.until("z", |found| !annotation(found, SINCE).is_empty()).await;
    world.written(before)
}

#[tokio::test]
async fn a_miss_is_remembered_by_the_annotation_and_nothing_is_written_again() {
    let mut world = World::abroad("08:00:10").await;
    world.cron_job("a", json!({"schedule": "0 * * * *", "startingDeadlineSeconds": 60})).await;
    let found = world.until("a", |found| !annotation(found, SINCE).is_empty()).await;
    assert_eq!(annotation(&found, SINCE), "2026-01-31T08:00:10Z 0 * * * *");
    world.set("09:01:30");
    let found = world.until("a", |found| !annotation(found, MISSED).is_empty()).await;
    assert_eq!(annotation(&found, MISSED), "2026-01-31T09:00:00Z 1");
    assert_eq!(found["status"], json!({}));
    world.until_event("a", "MissSchedule").await;
    let key = "/cronjobs.batch/default/z";
    assert_eq!(anew(&mut world).await, [key, key], "the new one and its annotation");
    world.set("10:02:00");
    let twice = |found: &Value| annotation(found, MISSED) == "2026-01-31T10:00:00Z 2";
    world.until("a", twice).await;
}

#[tokio::test]
async fn a_run_is_recorded_in_the_fields_that_kubernetes_has() {
    let mut world = World::abroad("08:00:10").await;
    world.cron_job("a", json!({"schedule": "* * * * *"})).await;
    world.until("a", |found| !annotation(found, SINCE).is_empty()).await;
    world.set("08:01:00");
    let name = format!("a-{}", slot("08:01:00"));
    world.until("a", |found| found["status"]["active"][0]["name"] == name.as_str()).await;
    world.finish(&name, "Complete").await;
    let found = world.until("a", |found| found["status"]["active"] == Value::Null).await;
    let mut fields: Vec<&String> = found["status"].as_object().unwrap().keys().collect();
    fields.sort();
    assert_eq!(fields, ["lastScheduleTime", "lastSuccessfulTime"]);
    assert_eq!(annotation(&found, MISSED), "");
    assert_eq!(anew(&mut world).await.len(), 2, "nothing is left to be written");
}

#[tokio::test]
async fn other_namespaces_are_left_alone() {
    let world = World::abroad("08:00:10").await;
    let namespace = json!({"metadata": {"name": "other"}});
    world.send("POST", "/api/v1/namespaces", &namespace).await.unwrap();
    let object = json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "a"},
        "spec": {"schedule": "* * * * *", "jobTemplate": template(json!({}))}});
    let elsewhere = CRON_JOBS.replace("default", "other");
    world.send("POST", &elsewhere, &object).await.unwrap();
    world.cron_job("a", json!({"schedule": "* * * * *"})).await;
    world.until("a", |found| !annotation(found, SINCE).is_empty()).await;
    world.set("08:01:00");
    world.until_jobs("a", &[&slot("08:01:00")]).await;
    assert_eq!(world.count("/jobs.batch/other/"), 0);
    let found = world.send("GET", &format!("{elsewhere}/a"), &Value::Null).await.unwrap();
    assert_eq!(annotation(&found, SINCE), "");
}

#[tokio::test]
async fn a_job_stays_while_a_create_of_its_name_may_still_arrive() {
    let world = World::abroad("08:00:50").await;
    let spec = json!({"schedule": "* * * * *", "successfulJobsHistoryLimit": 0});
    world.cron_job("a", spec).await;
    world.until("a", |found| !annotation(found, SINCE).is_empty()).await;
    world.set("08:01:00");
    let name = format!("a-{}", slot("08:01:00"));
    world.until("a", |found| found["status"]["active"][0]["name"] == name.as_str()).await;
    world.finish(&name, "Complete").await;
    world.until("a", |found| found["status"]["active"] == Value::Null).await;
    // Whoever looks at the new schedule has done with what was before it.
    world.change("a", json!({"spec": {"schedule": "0 * * * *"}})).await;
    world.until("a", |found| annotation(found, SINCE).ends_with("0 * * * *")).await;
    assert_eq!(world.jobs("a"), [slot("08:01:00")]);
    world.set("08:01:25");
    world.until_jobs("a", &[]).await;
}

/// A way to the server on which some requests are answered by somebody else.
fn by_way_of(
    inner: Client,
    answer: impl Fn(&Request<Body>) -> Option<u16> + Send + 'static,
) -> Client {
    let service = service_fn(move |request: Request<Body>| {
        let (client, code) = (inner.clone(), answer(&request));
        async move {
            let Some(code) = code else { return Ok(client.send(request).await?) };
            let body = Body::from(b"no way".to_vec());
            Ok::<_, BoxError>(Response::builder().status(code).body(body)?)
        }
    });
    Client::new(service, "default")
}

#[tokio::test]
async fn a_namespace_that_cannot_be_listed_keeps_no_other_waiting() {
    let mut world = World::abroad("08:00:10").await;
    world.kill().await;
    let late = CRON_JOBS.replace("default", "late");
    world.send("POST", "/api/v1/namespaces", &json!({"metadata": {"name": "late"}})).await.unwrap();
    let object = json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "b"},
        "spec": {"schedule": "* * * * *", "jobTemplate": template(json!({}))}});
    world.send("POST", &late, &object).await.unwrap();
    let is_shut = Arc::new(AtomicBool::new(true));
    let is_barred = is_shut.clone();
    world.start_with(by_way_of(world.client.clone(), move |request| {
        let is_late = request.uri().path() == JOBS.replace("default", "late");
        (is_late && is_barred.load(Ordering::Relaxed)).then_some(403)
    }));
    world.cron_job("a", json!({"schedule": "* * * * *"})).await;
    world.until("a", |found| !annotation(found, SINCE).is_empty()).await;
    world.set("08:01:00");
    world.until_jobs("a", &[&slot("08:01:00")]).await;

    let path = format!("{late}/b");
    let found = world.send("GET", &path, &Value::Null).await.unwrap();
    assert_eq!(annotation(&found, SINCE), "", "nothing is decided on half a namespace");
    let mut watch = world.store.watch("/cronjobs.batch/late/", world.store.revision()).unwrap();
    is_shut.store(false, Ordering::Relaxed);
    watch.next().await.unwrap();
    let found = world.send("GET", &path, &Value::Null).await.unwrap();
    assert!(!annotation(&found, SINCE).is_empty(), "{found}");
}

#[tokio::test]
async fn a_status_is_written_where_annotations_are_refused() {
    let mut world = World::abroad("08:00:10").await;
    world.kill().await;
    world.start_with(by_way_of(world.client.clone(), |request| {
        (request.method() == Method::PATCH && request.uri().path().contains("/cronjobs/"))
            .then_some(403)
    }));
    world.cron_job("a", json!({"schedule": "* * * * *"})).await;
    world.set("08:01:00");
    let name = format!("a-{}", slot("08:01:00"));
    world.until("a", |found| found["status"]["active"][0]["name"] == name.as_str()).await;
    world.finish(&name, "Complete").await;
    let ended = |found: &Value| found["status"]["lastSuccessfulTime"] != Value::Null;
    let found = world.until("a", ended).await;
    assert_eq!(found["status"]["lastScheduleTime"], "2026-01-31T08:01:00Z");
    assert_eq!(annotation(&found, SINCE), "");
}

#[tokio::test]
async fn a_cron_job_that_a_gateway_does_not_find_is_not_gone() {
    let mut world = World::abroad("08:00:10").await;
    world.kill().await;
    let is_lost = Arc::new(AtomicBool::new(false));
    let (is_asked, lost) = (Arc::new(Notify::new()), is_lost.clone());
    let asked = is_asked.clone();
    world.start_with(by_way_of(world.client.clone(), move |request| {
        let is_about_it = request.uri().path() == format!("{CRON_JOBS}/a");
        let is_lost = lost.load(Ordering::Relaxed) && request.uri().path().contains("/cronjobs/a");
        if is_lost && is_about_it && request.method() == Method::GET {
            asked.notify_one();
        }
        is_lost.then_some(404)
    }));
    world.cron_job("a", json!({"schedule": "* * * * *"})).await;
    world.until("a", |found| !annotation(found, SINCE).is_empty()).await;
    is_lost.store(true, Ordering::Relaxed);
    world.set("08:01:00");
    // Its status could not be written, and it was not there when it was read.
    is_asked.notified().await;
    is_lost.store(false, Ordering::Relaxed);
    let name = format!("a-{}", slot("08:01:00"));
    world.until("a", |found| found["status"]["active"][0]["name"] == name.as_str()).await;
}
