//! Tests of the CronJob controller on a server that drops our own status fields, as a Kubernetes
//! cluster does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::{Method, Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tower::{BoxError, service_fn};

use crate::test_cluster::{CRON_JOBS, JOBS, TestCluster, slot_suffix, template};

const SINCE: &str = "punctual.dev/schedule-since";
const MISSED: &str = "punctual.dev/missed";
const SKIPPED: &str = "punctual.dev/skipped";

fn annotation<'a>(found: &'a Value, key: &str) -> &'a str {
    found["metadata"]["annotations"][key].as_str().unwrap_or_default()
}

/// Restarts the controller. A controller that has reconciled a new CronJob has reconciled all older ones.
async fn keys_written_after_restart(cluster: &mut TestCluster) -> Vec<String> {
    let before = cluster.server.store.revision();
    cluster.kill().await;
    cluster.start();
    cluster.create_cron_job("z", json!({"schedule": "0 0 1 1 *"})).await;
    cluster.wait_for("z", |found| !annotation(found, SINCE).is_empty()).await;
    cluster.written_keys(before)
}

#[tokio::test]
async fn a_missed_slot_is_recorded_once_in_the_annotation() {
    let mut cluster = TestCluster::with_foreign_server("08:00:10").await;
    cluster
        .create_cron_job("a", json!({"schedule": "0 * * * *", "startingDeadlineSeconds": 60}))
        .await;
    let found = cluster.wait_for("a", |found| !annotation(found, SINCE).is_empty()).await;
    assert_eq!(annotation(&found, SINCE), "2026-01-31T08:00:10Z 0 * * * *");
    cluster.set_time("09:01:30");
    let found = cluster.wait_for("a", |found| !annotation(found, MISSED).is_empty()).await;
    assert_eq!(annotation(&found, MISSED), "2026-01-31T09:00:00Z 1");
    assert_eq!(found["status"], json!({}));
    cluster.wait_for_event("a", "MissSchedule").await;
    let key = "/cronjobs.batch/default/z";
    assert_eq!(
        keys_written_after_restart(&mut cluster).await,
        [key, key],
        "only the new CronJob and its annotation are written"
    );
    cluster.set_time("10:02:00");
    let twice = |found: &Value| annotation(found, MISSED) == "2026-01-31T10:00:00Z 2";
    cluster.wait_for("a", twice).await;
}

#[tokio::test]
async fn skipped_slots_are_counted_once_despite_a_crash_between_the_two_writes() {
    let mut cluster = TestCluster::with_foreign_server("08:00:10").await;
    cluster.create_cron_job("a", json!({"schedule": "* * * * *"})).await;
    cluster.wait_for("a", |found| !annotation(found, SINCE).is_empty()).await;
    cluster.kill().await;
    cluster.set_time("08:03:30");
    // The annotation is written, and the status is not.
    cluster.start_with(client_with_gateway(cluster.server.client(), |request| {
        (request.method() == Method::PUT && request.uri().path().ends_with("/status"))
            .then_some(503)
    }));
    let found = cluster.wait_for("a", |found| !annotation(found, SKIPPED).is_empty()).await;
    assert_eq!(annotation(&found, SKIPPED), "2 2026-01-31T08:03:00Z 0");
    cluster.kill().await;
    cluster.start();
    let recorded = |time: &str| {
        let time = format!("2026-01-31T{time}Z");
        move |found: &Value| found["status"]["lastScheduleTime"] == time.as_str()
    };
    let found = cluster.wait_for("a", recorded("08:03:00")).await;
    assert_eq!(annotation(&found, SKIPPED), "2 2026-01-31T08:03:00Z 0");
    cluster.kill().await;
    cluster.set_time("08:05:30");
    cluster.start();
    let found = cluster.wait_for("a", recorded("08:05:00")).await;
    assert_eq!(annotation(&found, SKIPPED), "3 2026-01-31T08:05:00Z 2");
    assert_eq!(found["status"]["skippedRuns"], Value::Null);
}

#[tokio::test]
async fn a_run_is_recorded_in_the_status_fields_of_kubernetes() {
    let mut cluster = TestCluster::with_foreign_server("08:00:10").await;
    cluster.create_cron_job("a", json!({"schedule": "* * * * *"})).await;
    cluster.wait_for("a", |found| !annotation(found, SINCE).is_empty()).await;
    cluster.set_time("08:01:00");
    let name = format!("a-{}", slot_suffix("08:01:00"));
    cluster.wait_for("a", |found| found["status"]["active"][0]["name"] == name.as_str()).await;
    cluster.finish_job(&name, "Complete").await;
    let found = cluster.wait_for("a", |found| found["status"]["active"] == Value::Null).await;
    let mut fields: Vec<&String> = found["status"].as_object().unwrap().keys().collect();
    fields.sort();
    assert_eq!(fields, ["lastScheduleTime", "lastSuccessfulTime"]);
    assert_eq!(annotation(&found, MISSED), "");
    assert_eq!(
        keys_written_after_restart(&mut cluster).await.len(),
        2,
        "only the new CronJob and its annotation are written"
    );
}

#[tokio::test]
async fn cron_jobs_in_other_namespaces_are_not_reconciled() {
    let cluster = TestCluster::with_foreign_server("08:00:10").await;
    let namespace = json!({"metadata": {"name": "other"}});
    cluster.server.send("POST", "/api/v1/namespaces", &namespace).await.unwrap();
    let object = json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "a"},
        "spec": {"schedule": "* * * * *", "jobTemplate": template(json!({}))}});
    let elsewhere = CRON_JOBS.replace("default", "other");
    cluster.server.send("POST", &elsewhere, &object).await.unwrap();
    cluster.create_cron_job("a", json!({"schedule": "* * * * *"})).await;
    cluster.wait_for("a", |found| !annotation(found, SINCE).is_empty()).await;
    cluster.set_time("08:01:00");
    cluster.wait_for_jobs("a", &[&slot_suffix("08:01:00")]).await;
    assert_eq!(cluster.count("/jobs.batch/other/"), 0);
    let found = cluster.server.send("GET", &format!("{elsewhere}/a"), &Value::Null).await.unwrap();
    assert_eq!(annotation(&found, SINCE), "");
}

#[tokio::test]
async fn a_finished_job_is_kept_during_the_late_create_window() {
    let cluster = TestCluster::with_foreign_server("08:00:50").await;
    let spec = json!({"schedule": "* * * * *", "successfulJobsHistoryLimit": 0});
    cluster.create_cron_job("a", spec).await;
    cluster.wait_for("a", |found| !annotation(found, SINCE).is_empty()).await;
    cluster.set_time("08:01:00");
    let name = format!("a-{}", slot_suffix("08:01:00"));
    cluster.wait_for("a", |found| found["status"]["active"][0]["name"] == name.as_str()).await;
    cluster.finish_job(&name, "Complete").await;
    cluster.wait_for("a", |found| found["status"]["active"] == Value::Null).await;
    // When the new schedule is recorded, the earlier changes have been reconciled.
    cluster.patch("a", json!({"spec": {"schedule": "0 * * * *"}})).await;
    cluster.wait_for("a", |found| annotation(found, SINCE).ends_with("0 * * * *")).await;
    assert_eq!(cluster.jobs("a"), [slot_suffix("08:01:00")]);
    cluster.set_time("08:01:25");
    cluster.wait_for_jobs("a", &[]).await;
}

/// A client behind a gateway that answers some requests with this status code.
fn client_with_gateway(
    inner: Client,
    status_code: impl Fn(&Request<Body>) -> Option<u16> + Send + 'static,
) -> Client {
    let service = service_fn(move |request: Request<Body>| {
        let client = inner.clone();
        let code = status_code(&request);
        async move {
            let Some(code) = code else { return Ok(client.send(request).await?) };
            let body = Body::from(b"refused by the gateway".to_vec());
            Ok::<_, BoxError>(Response::builder().status(code).body(body)?)
        }
    });
    Client::new(service, "default")
}

#[tokio::test]
async fn a_namespace_that_cannot_be_listed_does_not_block_the_others() {
    let mut cluster = TestCluster::with_foreign_server("08:00:10").await;
    cluster.kill().await;
    let late = CRON_JOBS.replace("default", "late");
    cluster
        .server
        .send("POST", "/api/v1/namespaces", &json!({"metadata": {"name": "late"}}))
        .await
        .unwrap();
    let object = json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "b"},
        "spec": {"schedule": "* * * * *", "jobTemplate": template(json!({}))}});
    cluster.server.send("POST", &late, &object).await.unwrap();
    let is_forbidden = Arc::new(AtomicBool::new(true));
    let is_forbidden_now = is_forbidden.clone();
    cluster.start_with(client_with_gateway(cluster.server.client(), move |request| {
        let is_late = request.uri().path() == JOBS.replace("default", "late");
        (is_late && is_forbidden_now.load(Ordering::Relaxed)).then_some(403)
    }));
    cluster.create_cron_job("a", json!({"schedule": "* * * * *"})).await;
    cluster.wait_for("a", |found| !annotation(found, SINCE).is_empty()).await;
    cluster.set_time("08:01:00");
    cluster.wait_for_jobs("a", &[&slot_suffix("08:01:00")]).await;

    let path = format!("{late}/b");
    let found = cluster.server.send("GET", &path, &Value::Null).await.unwrap();
    assert_eq!(
        annotation(&found, SINCE),
        "",
        "a CronJob is not reconciled before the Jobs of its namespace are listed"
    );
    let mut watch = cluster
        .server
        .store
        .watch("/cronjobs.batch/late/", cluster.server.store.revision())
        .unwrap();
    is_forbidden.store(false, Ordering::Relaxed);
    watch.next().await.unwrap();
    let found = cluster.server.send("GET", &path, &Value::Null).await.unwrap();
    assert!(!annotation(&found, SINCE).is_empty(), "{found}");
}

#[tokio::test]
async fn the_status_is_written_even_if_annotations_are_refused() {
    let mut cluster = TestCluster::with_foreign_server("08:00:10").await;
    cluster.kill().await;
    cluster.start_with(client_with_gateway(cluster.server.client(), |request| {
        (request.method() == Method::PATCH && request.uri().path().contains("/cronjobs/"))
            .then_some(403)
    }));
    cluster.create_cron_job("a", json!({"schedule": "* * * * *"})).await;
    cluster.set_time("08:01:00");
    let name = format!("a-{}", slot_suffix("08:01:00"));
    cluster.wait_for("a", |found| found["status"]["active"][0]["name"] == name.as_str()).await;
    cluster.finish_job(&name, "Complete").await;
    let ended = |found: &Value| found["status"]["lastSuccessfulTime"] != Value::Null;
    let found = cluster.wait_for("a", ended).await;
    assert_eq!(found["status"]["lastScheduleTime"], "2026-01-31T08:01:00Z");
    assert_eq!(annotation(&found, SINCE), "");
    let errors = cluster.metric("punctual_api_errors_total");
    let refused = "punctual_api_errors_total{verb=\"patch\",code=\"403\"}";
    assert!(errors.iter().any(|line| line.starts_with(refused)), "{errors:?}");
}

#[tokio::test]
async fn a_404_of_a_gateway_does_not_mean_that_the_cron_job_was_deleted() {
    let mut cluster = TestCluster::with_foreign_server("08:00:10").await;
    cluster.kill().await;
    let is_failing = Arc::new(AtomicBool::new(false));
    let was_read = Arc::new(Notify::new());
    let gateway_fails = is_failing.clone();
    let notify_read = was_read.clone();
    cluster.start_with(client_with_gateway(cluster.server.client(), move |request| {
        let path = request.uri().path();
        let fails = gateway_fails.load(Ordering::Relaxed) && path.contains("/cronjobs/a");
        let is_read = request.method() == Method::GET && path == format!("{CRON_JOBS}/a");
        if fails && is_read {
            notify_read.notify_one();
        }
        fails.then_some(404)
    }));
    cluster.create_cron_job("a", json!({"schedule": "* * * * *"})).await;
    cluster.wait_for("a", |found| !annotation(found, SINCE).is_empty()).await;
    is_failing.store(true, Ordering::Relaxed);
    cluster.set_time("08:01:00");
    // The status write failed, and the read that followed got the gateway's 404.
    was_read.notified().await;
    is_failing.store(false, Ordering::Relaxed);
    let name = format!("a-{}", slot_suffix("08:01:00"));
    cluster.wait_for("a", |found| found["status"]["active"][0]["name"] == name.as_str()).await;
}
