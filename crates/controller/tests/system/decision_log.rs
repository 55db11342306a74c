//! Tests of what the CronJob controller logs: each fact once, with the fields that an operator
//! needs.

use std::sync::Arc;

use http::{Method, Request, Response};
use kube::Client;
use kube::client::Body;
use punctual_store::{Op, Precondition};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tower::{BoxError, service_fn};
use tracing::Level;

use crate::captured_log::CapturedLog;
use crate::test_cluster::{JOBS, TestCluster, slot_suffix, template};

/// Checks that a line has these texts.
#[track_caller]
fn assert_has(line: &str, texts: &[&str]) {
    for text in texts {
        assert!(line.contains(text), "{text} is not in {line}");
    }
}

/// Restarts the controller and waits until it has reconciled all CronJobs.
async fn restart(cluster: &mut TestCluster) {
    cluster.kill().await;
    cluster.start();
    wait_until_reconciled(cluster, "z").await;
}

/// Creates a CronJob and waits until it is reconciled. All older ones are reconciled then.
async fn wait_until_reconciled(cluster: &TestCluster, name: &str) {
    cluster.create_cron_job(name, json!({"schedule": "0 0 1 1 *"})).await;
    let is_reconciled = |found: &Value| {
        let annotation = &found["metadata"]["annotations"]["punctual.dev/schedule-since"];
        *annotation != Value::Null || found["status"]["nextScheduleTime"] != Value::Null
    };
    cluster.wait_for(name, is_reconciled).await;
}

#[tokio::test]
async fn starts_and_ends_of_runs_are_logged() {
    let log = CapturedLog::start(Level::INFO);
    let mut cluster = TestCluster::with_cron_job_controller("08:00:10").await;
    let spec = json!({"schedule": "* * * * *", "timeZone": "Europe/Berlin"});
    let uid = cluster.create_cron_job("a", spec).await["metadata"]["uid"].to_string();
    cluster.wait_for_next("a", "08:01:00").await;
    cluster.set_time("08:01:01.500");
    let name = format!("a-{}", slot_suffix("08:01:00"));
    let started = log.wait_for("started a run").await;
    assert_has(&started, &["INFO", "namespace=\"default\" name=\"a\"", &format!("uid={uid}")]);
    assert_has(&started, &["kind=\"CronJob\" schedule=\"* * * * *\"", "\"Europe/Berlin\""]);
    let slot = "slot=2026-01-31T08:01:00Z";
    assert_has(&started, &[&format!("job={name:?}"), slot, "lateness_seconds=1.5"]);
    cluster.wait_for_next("a", "08:02:00").await;
    cluster.set_time("08:01:20");
    cluster.finish_job(&name, "Complete").await;
    let ended = log.wait_for("a run ended").await;
    assert_has(&ended, &["INFO", &format!("job={name:?}"), slot, "result=\"Complete\""]);
    restart(&mut cluster).await;
    assert_eq!(log.find("").len(), 2, "{:#?}", log.find(""));
}

#[tokio::test]
async fn an_unknown_time_zone_is_logged_once_by_each_process() {
    let log = CapturedLog::start(Level::INFO);
    let mut cluster = TestCluster::with_cron_job_controller("08:00:10").await;
    let spec = json!({"schedule": "0 12 * * *", "timeZone": "Europe/Berlin"});
    cluster.create_cron_job("a", spec).await;
    cluster.wait_for_next("a", "11:00:00").await;
    // The server refuses unknown zones, but an update of the time zone data can remove one.
    let key = "/cronjobs.batch/default/a";
    let stored = cluster.server.store.get(key).unwrap();
    let text = String::from_utf8(stored.value.to_vec()).unwrap().replace("Berlin", "Bärlin");
    cluster.server.store.write(Op::put(key, text.into_bytes(), Precondition::Any)).await.unwrap();
    let line = log.wait_for("no run starts").await;
    assert_has(
        &line,
        &["WARN", "name=\"a\"", "schedule=\"0 12 * * *\" time_zone=\"Europe/Bärlin\""],
    );
    assert_has(&line, &["reason=\"UnknownTimeZone\"", "unknown time zone Europe/Bärlin"]);
    cluster
        .wait_for("a", |found| found["status"]["conditions"].to_string().contains("Unknown"))
        .await;
    cluster.patch("a", json!({"metadata": {"labels": {"changed": "true"}}})).await;
    wait_until_reconciled(&cluster, "y").await;
    assert_eq!(log.find("WARN").len(), 1, "{:#?}", log.find(""));
    restart(&mut cluster).await;
    assert_eq!(log.find("WARN").len(), 2, "{:#?}", log.find(""));
}

#[tokio::test]
async fn an_invalid_schedule_is_logged_once_by_each_process() {
    let log = CapturedLog::start(Level::INFO);
    let mut cluster = TestCluster::with_foreign_server("08:00:10").await;
    cluster.create_cron_job("a", json!({"schedule": "0 0 30 2 *"})).await;
    let line = log.wait_for("no run starts").await;
    assert_has(&line, &["WARN", "schedule=\"0 0 30 2 *\"", "reason=\"InvalidSchedule\""]);
    cluster.patch("a", json!({"metadata": {"labels": {"changed": "true"}}})).await;
    cluster.create_cron_job("b", json!({"schedule": "* * * * *"})).await;
    cluster.set_time("08:01:00");
    log.wait_for("started a run").await;
    assert_eq!(log.find("no run starts").len(), 1);
    restart(&mut cluster).await;
    assert_eq!(log.find("no run starts").len(), 2, "{:#?}", log.find(""));
}

#[tokio::test]
async fn a_recorded_time_in_the_future_is_logged_once_by_each_process() {
    for is_foreign in [false, true] {
        let log = CapturedLog::start(Level::WARN);
        let mut cluster = if is_foreign {
            TestCluster::with_foreign_server("08:00:10").await
        } else {
            TestCluster::with_cron_job_controller("08:00:10").await
        };
        cluster.create_cron_job("a", json!({"schedule": "0 12 * * *"})).await;
        let status = json!({"status": {"lastScheduleTime": "2037-01-01T12:00:00Z"}});
        let path = "/apis/batch/v1/namespaces/default/cronjobs/a/status";
        cluster.server.send("PATCH", path, &status).await.unwrap();
        let line = log.wait_for("no run starts").await;
        assert_has(&line, &["WARN", "name=\"a\"", "reason=\"LastScheduleInFuture\""]);
        assert_has(&line, &["field=\"status.lastScheduleTime\" recorded=2037-01-01T12:00:00Z"]);
        cluster.patch("a", json!({"metadata": {"labels": {"changed": "true"}}})).await;
        wait_until_reconciled(&cluster, "y").await;
        assert_eq!(log.find("WARN").len(), 1, "{:#?}", log.find(""));
        restart(&mut cluster).await;
        assert_eq!(log.find("WARN").len(), 2, "{:#?}", log.find(""));
    }
}

#[tokio::test]
async fn more_than_100_pending_slots_are_logged_once() {
    let log = CapturedLog::start(Level::WARN);
    let mut cluster = TestCluster::with_cron_job_controller("08:00:10").await;
    cluster.create_cron_job("a", json!({"schedule": "* * * * *"})).await;
    cluster.wait_for_next("a", "08:01:00").await;
    cluster.kill().await;
    cluster.set_time("09:41:30");
    cluster.start();
    let line = log.wait_for("pending slots").await;
    assert_has(&line, &["WARN", "name=\"a\"", "reason=\"TooManyMissedTimes\" count=101"]);
    cluster.wait_for_next("a", "09:42:00").await;
    restart(&mut cluster).await;
    assert_eq!(log.find("WARN").len(), 1, "{:#?}", log.find(""));
}

#[tokio::test]
async fn an_ignored_pending_deadline_is_logged_once_by_each_process() {
    let log = CapturedLog::start(Level::WARN);
    let mut cluster = TestCluster::with_foreign_server("08:00:10").await;
    cluster.create_cron_job("a", json!({"schedule": "0 12 * * *"})).await;
    // The template of this CronJob restarts its containers, so the deadline cannot apply.
    let annotations = json!({"punctual.dev/pending-deadline-seconds": "600"});
    let pod = json!({"restartPolicy": "OnFailure"});
    let spec = json!({"jobTemplate": {"spec": {"template": {"spec": pod}}}});
    cluster.patch("a", json!({"metadata": {"annotations": annotations}, "spec": spec})).await;
    let line = log.wait_for("never start").await;
    assert_has(
        &line,
        &["WARN", "name=\"a\"", "reason=\"PendingDeadlineIgnored\"", "restartPolicy"],
    );
    cluster.patch("a", json!({"metadata": {"labels": {"changed": "true"}}})).await;
    wait_until_reconciled(&cluster, "y").await;
    assert_eq!(log.find("WARN").len(), 1, "{:#?}", log.find(""));
    restart(&mut cluster).await;
    assert_eq!(log.find("WARN").len(), 2, "{:#?}", log.find(""));
}

#[tokio::test]
async fn missed_slots_are_logged_once_on_every_server() {
    for is_foreign in [false, true] {
        let log = CapturedLog::start(Level::INFO);
        let mut cluster = if is_foreign {
            TestCluster::with_foreign_server("08:00:10").await
        } else {
            TestCluster::with_cron_job_controller("08:00:10").await
        };
        let spec = json!({"schedule": "0 * * * *", "startingDeadlineSeconds": 60});
        cluster.create_cron_job("a", spec).await;
        restart(&mut cluster).await;
        cluster.set_time("10:01:30");
        let line = log.wait_for("missed slots").await;
        assert_has(
            &line,
            &[
                "WARN",
                "name=\"a\"",
                "slot=2026-01-31T09:00:00Z through=2026-01-31T10:00:00Z count=2",
            ],
        );
        assert_has(&line, &["reason=\"MissSchedule\"", "the deadline passed before a run started"]);
        cluster.kill().await;
        cluster.start();
        cluster.set_time("10:02:00");
        cluster.create_cron_job("b", json!({"schedule": "* * * * *"})).await;
        cluster.set_time("10:03:00");
        log.wait_for("started a run").await;
        assert_eq!(log.find("WARN").len(), 1, "{:#?}", log.find(""));
    }
}

const PODS: &str = "/api/v1/namespaces/default/pods";

/// A client whose creates at a path are refused until `refused`, which counts them, is closed.
fn client_refusing_creates(inner: Client, path: &'static str, refused: Arc<Semaphore>) -> Client {
    let service = service_fn(move |request: Request<Body>| {
        let is_create = request.method() == Method::POST && request.uri().path() == path;
        let client = inner.clone();
        let refused = refused.clone();
        async move {
            if !is_create || refused.is_closed() {
                return Ok(client.send(request).await?);
            }
            refused.add_permits(1);
            let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 403,
                "reason": "Forbidden", "message": "forbidden: exceeded quota: nothing"});
            let body = Body::from(status.to_string().into_bytes());
            Ok::<_, BoxError>(Response::builder().status(403).body(body)?)
        }
    });
    Client::new(service, "default")
}

#[tokio::test]
async fn a_refused_create_is_logged_once_for_each_slot() {
    let log = CapturedLog::start(Level::INFO);
    let mut cluster = TestCluster::with_cron_job_controller("08:00:10").await;
    cluster.kill().await;
    let refused = Arc::new(Semaphore::new(0));
    cluster.start_with(client_refusing_creates(cluster.server.client(), JOBS, refused.clone()));
    cluster.create_cron_job("a", json!({"schedule": "* * * * *"})).await;
    cluster.wait_for_next("a", "08:01:00").await;
    cluster.set_time("08:01:00");
    refused.acquire_many(5).await.unwrap().forget();
    let line = log.wait_for("could not create the Job").await;
    assert_has(&line, &["WARN", "name=\"a\"", "slot=2026-01-31T08:01:00Z"]);
    assert_has(&line, &["reason=\"FailedCreate\"", "error=\"forbidden: exceeded quota"]);
    assert_eq!(log.find("").len(), 1, "{:#?}", log.find(""));
    cluster.set_time("08:02:00");
    log.wait_for("slot=2026-01-31T08:02:00Z").await;
    refused.close();
    log.wait_for("started a run").await;
    assert_eq!(log.find("WARN").len(), 2, "{:#?}", log.find(""));
}

#[tokio::test]
async fn a_slot_whose_name_is_taken_is_logged_as_missed() {
    let log = CapturedLog::start(Level::INFO);
    let cluster = TestCluster::with_cron_job_controller("08:00:10").await;
    let mut job = template(json!({}));
    job["metadata"] = json!({"name": format!("a-{}", slot_suffix("08:01:00"))});
    cluster.server.send("POST", JOBS, &job).await.unwrap();
    cluster.create_cron_job("a", json!({"schedule": "* * * * *"})).await;
    cluster.wait_for_next("a", "08:01:00").await;
    cluster.set_time("08:01:00");
    let line = log.wait_for("missed slots").await;
    assert_has(
        &line,
        &[
            "WARN",
            "slot=2026-01-31T08:01:00Z through=2026-01-31T08:01:00Z count=1 reason=\"NameTaken\"",
        ],
    );
    cluster.set_time("08:02:00");
    log.wait_for("started a run").await;
    assert_eq!(log.find("WARN").len(), 1, "{:#?}", log.find(""));
}

#[tokio::test]
async fn a_replaced_run_and_a_run_found_after_a_crash_are_logged() {
    let log = CapturedLog::start(Level::INFO);
    let mut cluster = TestCluster::with_cron_job_controller("08:00:10").await;
    let spec = json!({"schedule": "* * * * *", "concurrencyPolicy": "Replace"});
    cluster.create_cron_job("a", spec).await;
    cluster.delete_replaced_jobs_in_background("a").await;
    cluster.wait_for_next("a", "08:01:00").await;
    cluster.set_time("08:01:00");
    let first = format!("job=\"a-{}\"", slot_suffix("08:01:00"));
    cluster.wait_for_next("a", "08:02:00").await;
    cluster.set_time("08:02:00");
    assert_has(&log.wait_for("a run ended").await, &[&first, "result=\"Replaced\""]);
    let second = format!("a-{}", slot_suffix("08:02:00"));
    cluster.wait_for_jobs("a", &[&slot_suffix("08:02:00")]).await;
    cluster.wait_for_next("a", "08:03:00").await;
    cluster.kill().await;
    // As if the controller had crashed before it recorded the second run.
    let status = json!({"status": {"active": null, "lastScheduleTime": "2026-01-31T08:01:00Z"}});
    let path = "/apis/batch/v1/namespaces/default/cronjobs/a/status";
    cluster.server.send("PATCH", path, &status).await.unwrap();
    cluster.start();
    assert_has(&log.wait_for("found an active run").await, &["INFO", &format!("job={second:?}")]);
    assert_eq!(log.find("started a run").len(), 2, "{:#?}", log.find(""));
}

#[tokio::test]
async fn every_decision_is_logged_at_debug() {
    let log = CapturedLog::start(Level::DEBUG);
    let cluster = TestCluster::with_cron_job_controller("08:00:10").await;
    let spec = json!({"schedule": "* * * * *", "concurrencyPolicy": "Forbid"});
    cluster.create_cron_job("a", spec).await;
    cluster.wait_for_next("a", "08:01:00").await;
    let line = log.wait_for("decision=NotDue").await;
    assert_has(&line, &["DEBUG", "name=\"a\"", "pending=0 wake_at=2026-01-31T08:01:00Z"]);
    cluster.set_time("08:01:00");
    log.wait_for("decision=Due { slot: 2026-01-31T08:01:00Z } pending=1").await;
    cluster.wait_for_next("a", "08:02:00").await;
    cluster.set_time("08:02:00");
    log.wait_for("decision=Blocked { slot: 2026-01-31T08:02:00Z } pending=1").await;
    log.wait_for("reason=\"JobAlreadyActive\"").await;
}

#[tokio::test]
async fn a_refused_pod_is_logged_once_for_each_job() {
    let log = CapturedLog::start(Level::WARN);
    let mut cluster = TestCluster::with_all_controllers("08:00:10").await;
    cluster.kill().await;
    let refused = Arc::new(Semaphore::new(0));
    cluster.start_with(client_refusing_creates(cluster.server.client(), PODS, refused.clone()));
    let mut job = template(json!({"parallelism": 3, "completions": 3}));
    job["metadata"] = json!({"name": "j"});
    cluster.server.send("POST", JOBS, &job).await.unwrap();
    refused.acquire_many(3).await.unwrap().forget();
    let line = log.wait_for("could not create a Pod").await;
    assert_has(&line, &["WARN", "namespace=\"default\" name=\"j\"", "kind=\"Job\""]);
    assert_has(&line, &["reason=\"FailedCreate\" error=\"forbidden: exceeded quota"]);
    refused.close();
    cluster.wait_for_count("/pods/default/", 3).await;
    assert_eq!(log.find("could not create").len(), 1, "{:#?}", log.find(""));
}
