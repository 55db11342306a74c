//! Tests of all controllers together, with a fake node that completes the Pods.

use serde_json::{Value, json};

use crate::test_cluster::{JOBS, TestCluster, slot_suffix, template};

/// The spec of a CronJob whose Pods run this command, with additional fields.
fn spec(command: &[&str], more: Value) -> Value {
    let mut job = template(json!({}));
    job["spec"]["template"]["spec"]["containers"][0]["command"] = json!(command);
    let mut spec = json!({"schedule": "* * * * *", "jobTemplate": job});
    for (field, value) in more.as_object().unwrap() {
        spec[field] = value.clone();
    }
    spec
}

/// The reasons of the warning Events about a CronJob.
async fn warnings(cluster: &TestCluster, name: &str) -> Vec<Value> {
    let path = format!(
        "/api/v1/namespaces/default/events?fieldSelector=involvedObject.name={name},type=Warning"
    );
    let list = cluster.server.send("GET", &path, &Value::Null).await.unwrap();
    list["items"].as_array().unwrap().iter().map(|event| event["reason"].clone()).collect()
}

#[tokio::test]
async fn the_history_limit_keeps_the_latest_successful_jobs() {
    let cluster = TestCluster::with_all_controllers("08:00:10").await;
    cluster.create_cron_job("a", spec(&["true"], json!({"successfulJobsHistoryLimit": 1}))).await;
    cluster.wait_for_next("a", "08:01:00").await;
    for minute in 1..=4 {
        cluster.set_time(&format!("08:0{minute}:00"));
        cluster.wait_for("a", |found| found["status"]["successfulRuns"] == minute).await;
    }
    cluster.wait_for_jobs("a", &[&slot_suffix("08:04:00")]).await;
    cluster.wait_for_count("/pods/default/", 1).await;
    assert_eq!(warnings(&cluster, "a").await, [""; 0]);
    let found = cluster.read("a").await;
    assert_eq!(found["status"]["failedRuns"], Value::Null);
    assert_eq!(found["status"]["active"], Value::Null);
}

#[tokio::test]
async fn the_history_limit_keeps_the_latest_failed_jobs() {
    let cluster = TestCluster::with_all_controllers("08:00:10").await;
    let mut spec = spec(&["false"], json!({"failedJobsHistoryLimit": 1}));
    spec["jobTemplate"]["spec"]["backoffLimit"] = json!(0);
    cluster.create_cron_job("a", spec).await;
    cluster.wait_for_next("a", "08:01:00").await;
    for minute in 1..=3 {
        cluster.set_time(&format!("08:0{minute}:00"));
        cluster.wait_for("a", |found| found["status"]["failedRuns"] == minute).await;
    }
    cluster.wait_for_jobs("a", &[&slot_suffix("08:03:00")]).await;
    cluster.wait_for_count("/pods/default/", 1).await;
    let found = cluster.read("a").await;
    assert_eq!(found["status"]["failuresSinceSuccess"], 3);
    assert_eq!(found["status"]["lastSuccessfulTime"], Value::Null);
}

#[tokio::test]
async fn allow_runs_jobs_concurrently() {
    let cluster = TestCluster::with_all_controllers("08:00:10").await;
    cluster.create_cron_job("a", spec(&["sleep"], json!({}))).await;
    cluster.wait_for_next("a", "08:01:00").await;
    for minute in 1..=2 {
        cluster.set_time(&format!("08:0{minute}:00"));
        cluster.wait_for_next("a", &format!("08:0{}:00", minute + 1)).await;
    }
    let found = cluster.read("a").await;
    assert_eq!(found["status"]["active"].as_array().unwrap().len(), 2);
    cluster.wait_for_count("/pods/default/", 2).await;
}

#[tokio::test]
async fn replace_deletes_the_pods_of_the_replaced_job() {
    let cluster = TestCluster::with_all_controllers("08:00:10").await;
    cluster.create_cron_job("a", spec(&["sleep"], json!({"concurrencyPolicy": "Replace"}))).await;
    cluster.wait_for_next("a", "08:01:00").await;
    for minute in 1..=3 {
        cluster.set_time(&format!("08:0{minute}:00"));
        cluster.wait_for_next("a", &format!("08:0{}:00", minute + 1)).await;
    }
    cluster.wait_for_jobs("a", &[&slot_suffix("08:03:00")]).await;
    cluster.wait_for_count("/pods/default/", 1).await;
}

#[tokio::test]
async fn job_and_pod_are_annotated_with_the_slot_and_the_cron_job() {
    let cluster = TestCluster::with_all_controllers("08:00:10").await;
    cluster.create_cron_job("a", spec(&["sleep"], json!({"timeZone": "Asia/Kolkata"}))).await;
    cluster.wait_for_next("a", "08:01:00").await;
    cluster.set_time("08:01:00");
    cluster.wait_for_next("a", "08:02:00").await;
    cluster.wait_for_count("/pods/default/", 1).await;
    let cron_job = cluster.first("/cronjobs.batch/default/");
    for kind in ["/jobs.batch/default/", "/pods/default/"] {
        let object = cluster.first(kind);
        let annotations = &object["metadata"]["annotations"];
        let slot = &annotations["batch.kubernetes.io/cronjob-scheduled-timestamp"];
        assert_eq!(slot, "2026-01-31T13:31:00+05:30", "{kind}");
        let previous = &annotations["punctual.dev/previous-scheduled-timestamp"];
        assert_eq!(previous, "2026-01-31T13:30:00+05:30", "{kind}");
        let owner = ["name", "kind"].map(|key| &annotations[format!("punctual.dev/cronjob-{key}")]);
        assert_eq!(owner, ["a", "CronJob"], "{kind}");
        assert_eq!(annotations["punctual.dev/cronjob-uid"], cron_job["metadata"]["uid"], "{kind}");
    }
}

#[tokio::test]
async fn a_deleted_job_is_reported_as_missing_and_its_pods_are_deleted() {
    let cluster = TestCluster::with_all_controllers("08:00:10").await;
    cluster.create_cron_job("a", spec(&["sleep"], json!({"concurrencyPolicy": "Forbid"}))).await;
    cluster.wait_for_next("a", "08:01:00").await;
    cluster.set_time("08:01:00");
    cluster.wait_for_next("a", "08:02:00").await;
    let path = format!("/apis/batch/v1/namespaces/default/jobs/a-{}", slot_suffix("08:01:00"));
    cluster
        .server
        .send("DELETE", &path, &json!({"propagationPolicy": "Background"}))
        .await
        .unwrap();
    cluster.wait_for("a", |found| found["status"]["active"] == Value::Null).await;
    cluster.wait_for_count("/pods/default/", 0).await;
    cluster.wait_for_event("a", "MissingJob").await;
    assert_eq!(warnings(&cluster, "a").await, [""; 0]);
}

#[tokio::test]
async fn after_more_than_a_hundred_unstarted_slots_only_the_latest_runs() {
    let mut cluster = TestCluster::with_all_controllers("08:00:10").await;
    cluster.create_cron_job("a", spec(&["true"], json!({}))).await;
    cluster.wait_for_next("a", "08:01:00").await;
    cluster.kill().await;
    cluster.set_time("11:00:30");
    cluster.start();
    cluster.wait_for("a", |found| found["status"]["successfulRuns"] == 1).await;
    assert_eq!(cluster.jobs("a"), [slot_suffix("11:00:00")]);
    cluster.wait_for_event("a", "TooManyMissedTimes").await;
}

#[tokio::test]
async fn a_controller_that_restarts_after_the_deadline_records_the_miss() {
    let mut cluster = TestCluster::with_all_controllers("08:00:10").await;
    let more = json!({"schedule": "0 * * * *", "startingDeadlineSeconds": 120});
    cluster.create_cron_job("a", spec(&["true"], more)).await;
    cluster.wait_for_next("a", "09:00:00").await;
    cluster.kill().await;
    cluster.set_time("09:30:00");
    cluster.start();
    let found = cluster.wait_for_next("a", "10:00:00").await;
    assert_eq!(found["status"]["missedRuns"], 1);
    cluster.wait_for_event("a", "MissSchedule").await;
    cluster.set_time("10:00:00");
    cluster.wait_for("a", |found| found["status"]["successfulRuns"] == 1).await;
}

#[tokio::test]
async fn each_slot_runs_once_despite_restarts_at_any_write() {
    let mut cluster = TestCluster::with_all_controllers("08:00:10").await;
    cluster.create_cron_job("a", spec(&["true"], json!({}))).await;
    cluster.wait_for_next("a", "08:01:00").await;
    let start = cluster.server.store.revision();
    for minute in 1..=9_u64 {
        cluster.set_time(&format!("08:0{minute}:00"));
        cluster.wait_for_writes(minute % 4).await;
        cluster.kill().await;
        cluster.start();
        cluster.wait_for("a", |found| found["status"]["successfulRuns"] == minute).await;
    }
    assert_eq!(cluster.created_count("/jobs.batch/", start), 9);
    assert_eq!(cluster.created_count("/pods/", start), 9);
}

#[tokio::test]
async fn a_deleted_namespace_is_emptied() {
    let cluster = TestCluster::with_all_controllers("08:00:10").await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}});
    cluster.server.send("POST", "/api/v1/namespaces", &namespace).await.unwrap();
    let object = json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "a"},
        "spec": spec(&["sleep"], json!({}))});
    cluster.server.send("POST", "/apis/batch/v1/namespaces/n/cronjobs", &object).await.unwrap();
    cluster.wait_for_count("/serviceaccounts/n/", 1).await;
    cluster.wait_for_count("/configmaps/n/", 1).await;
    cluster.set_time("08:01:00");
    cluster.wait_for_count("/pods/n/", 1).await;
    cluster.server.send("DELETE", "/api/v1/namespaces/n", &Value::Null).await.unwrap();
    cluster.set_time("08:01:10");
    cluster.wait_for_count("/namespaces/n", 0).await;
    for kind in ["/cronjobs.batch/n/", "/jobs.batch/n/", "/pods/n/", "/configmaps/n/"] {
        assert_eq!(cluster.count(kind), 0, "{kind}");
    }
}

#[tokio::test]
async fn an_unknown_time_zone_is_refused() {
    let cluster = TestCluster::with_all_controllers("08:00:10").await;
    let object = json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "a"},
        "spec": spec(&["true"], json!({"timeZone": "bad-time-zone"}))});
    let path = "/apis/batch/v1/namespaces/default/cronjobs";
    let error = cluster.server.send("POST", path, &object).await.unwrap_err().to_string();
    assert!(error.contains("unknown time zone bad-time-zone"), "{error}");
}

#[tokio::test]
async fn the_time_from_a_job_to_its_pod_and_its_start_is_measured_once() {
    let mut cluster = TestCluster::with_all_controllers("08:00:10").await;
    let observed = |cluster: &TestCluster| {
        [
            cluster.metric("punctual_job_pod_creation_seconds_count").remove(0),
            cluster.metric("punctual_job_start_seconds_count").remove(0),
        ]
    };
    cluster.create_cron_job("a", json!({"schedule": "* * * * *"})).await;
    cluster.wait_for_next("a", "08:01:00").await;
    cluster.set_time("08:01:00");
    cluster.wait_for("a", |found| found["status"]["successfulRuns"] == 1).await;
    let once = ["punctual_job_pod_creation_seconds_count 1", "punctual_job_start_seconds_count 1"];
    assert_eq!(observed(&cluster), once);
    // A Job without a CronJob has a Pod, but is no run. A suspended Job waits for a user.
    let mut job = template(json!({"suspend": true}));
    job["metadata"] = json!({"name": "suspended"});
    cluster.server.send("POST", JOBS, &job).await.unwrap();
    cluster.wait_for_event("suspended", "Suspended").await;
    let resume = json!({"spec": {"suspend": false}});
    cluster.server.send("PATCH", &format!("{JOBS}/suspended"), &resume).await.unwrap();
    cluster.wait_for_event("suspended", "Completed").await;
    assert_eq!(observed(&cluster), once);
    cluster.kill().await;
    cluster.start();
    cluster.create_cron_job("b", json!({"schedule": "* * * * *"})).await;
    cluster.wait_for_next("b", "08:02:00").await;
    assert_eq!(observed(&cluster), once);
}
