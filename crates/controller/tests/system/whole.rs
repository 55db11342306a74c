//! The cases that the design documents name, through all controllers and a node of the tests.

use serde_json::{Value, json};

use crate::world::{World, slot, template};

/// A CronJob's spec whose Pods do this, with some fields more.
fn spec(command: &[&str], more: Value) -> Value {
    let mut job = template(json!({}));
    job["spec"]["template"]["spec"]["containers"][0]["command"] = json!(command);
    let mut spec = json!({"schedule": "* * * * *", "jobTemplate": job});
    for (field, value) in more.as_object().unwrap() {
        spec[field] = value.clone();
    }
    spec
}

/// The reasons of the warnings about a CronJob.
async fn warnings(world: &World, name: &str) -> Vec<Value> {
    let path = format!(
        "/api/v1/namespaces/default/events?fieldSelector=involvedObject.name={name},type=Warning"
    );
    let list = world.send("GET", &path, &Value::Null).await.unwrap();
    list["items"].as_array().unwrap().iter().map(|event| event["reason"].clone()).collect()
}

#[tokio::test]
async fn runs_succeed_and_only_the_latest_are_kept_with_their_pods() {
    let world = World::whole("08:00:10").await;
    world.cron_job("a", spec(&["true"], json!({"successfulJobsHistoryLimit": 1}))).await;
    world.until_next("a", "08:01:00").await;
    for minute in 1..=4 {
        world.set(&format!("08:0{minute}:00"));
        world.until("a", |found| found["status"]["successfulRuns"] == minute).await;
    }
    world.until_jobs("a", &[&slot("08:04:00")]).await;
    world.until_count("/pods/default/", 1).await;
    assert_eq!(warnings(&world, "a").await, [""; 0]);
    let found = world.read("a").await;
    assert_eq!(found["status"]["failedRuns"], Value::Null);
    assert_eq!(found["status"]["active"], Value::Null);
}

#[tokio::test]
async fn failed_runs_are_counted_and_only_the_latest_are_kept() {
    let world = World::whole("08:00:10").await;
    let mut spec = spec(&["false"], json!({"failedJobsHistoryLimit": 1}));
    spec["jobTemplate"]["spec"]["backoffLimit"] = json!(0);
    world.cron_job("a", spec).await;
    world.until_next("a", "08:01:00").await;
    for minute in 1..=3 {
        world.set(&format!("08:0{minute}:00"));
        world.until("a", |found| found["status"]["failedRuns"] == minute).await;
    }
    world.until_jobs("a", &[&slot("08:03:00")]).await;
    world.until_count("/pods/default/", 1).await;
    let found = world.read("a").await;
    assert_eq!(found["status"]["failuresSinceSuccess"], 3);
    assert_eq!(found["status"]["lastSuccessfulTime"], Value::Null);
}

#[tokio::test]
async fn allow_lets_runs_overlap() {
    let world = World::whole("08:00:10").await;
    world.cron_job("a", spec(&["sleep"], json!({}))).await;
    world.until_next("a", "08:01:00").await;
    for minute in 1..=2 {
        world.set(&format!("08:0{minute}:00"));
        world.until_next("a", &format!("08:0{}:00", minute + 1)).await;
    }
    let found = world.read("a").await;
    assert_eq!(found["status"]["active"].as_array().unwrap().len(), 2);
    world.until_count("/pods/default/", 2).await;
}

#[tokio::test]
async fn replace_ends_the_pods_of_the_run_before() {
    let world = World::whole("08:00:10").await;
    world.cron_job("a", spec(&["sleep"], json!({"concurrencyPolicy": "Replace"}))).await;
    world.until_next("a", "08:01:00").await;
    for minute in 1..=3 {
        world.set(&format!("08:0{minute}:00"));
        world.until_next("a", &format!("08:0{}:00", minute + 1)).await;
    }
    world.until_jobs("a", &[&slot("08:03:00")]).await;
    world.until_count("/pods/default/", 1).await;
}

#[tokio::test]
async fn the_slot_is_told_to_job_and_pod() {
    let world = World::whole("08:00:10").await;
    world.cron_job("a", spec(&["sleep"], json!({"timeZone": "Asia/Kolkata"}))).await;
    world.until_next("a", "08:01:00").await;
    world.set("08:01:00");
    world.until_next("a", "08:02:00").await;
    world.until_count("/pods/default/", 1).await;
    for kind in ["/jobs.batch/default/", "/pods/default/"] {
        let object = world.first(kind);
        let annotations = &object["metadata"]["annotations"];
        let slot = &annotations["batch.kubernetes.io/cronjob-scheduled-timestamp"];
        assert_eq!(slot, "2026-01-31T13:31:00+05:30", "{kind}");
        let previous = &annotations["punctual.dev/previous-scheduled-timestamp"];
        assert_eq!(previous, "2026-01-31T13:30:00+05:30", "{kind}");
    }
}

#[tokio::test]
async fn a_run_that_is_deleted_goes_missing_with_its_pods() {
    let world = World::whole("08:00:10").await;
    world.cron_job("a", spec(&["sleep"], json!({"concurrencyPolicy": "Forbid"}))).await;
    world.until_next("a", "08:01:00").await;
    world.set("08:01:00");
    world.until_next("a", "08:02:00").await;
    let path = format!("/apis/batch/v1/namespaces/default/jobs/a-{}", slot("08:01:00"));
    world.send("DELETE", &path, &json!({"propagationPolicy": "Background"})).await.unwrap();
    world.until("a", |found| found["status"]["active"] == Value::Null).await;
    world.until_count("/pods/default/", 0).await;
    world.until_event("a", "MissingJob").await;
    assert_eq!(warnings(&world, "a").await, [""; 0]);
}

#[tokio::test]
async fn more_than_a_hundred_missed_slots_are_told_and_the_latest_runs() {
    let mut world = World::whole("08:00:10").await;
    world.cron_job("a", spec(&["true"], json!({}))).await;
    world.until_next("a", "08:01:00").await;
    world.kill().await;
    world.set("11:00:30");
    world.start();
    world.until("a", |found| found["status"]["successfulRuns"] == 1).await;
    assert_eq!(world.jobs("a"), [slot("11:00:00")]);
    world.until_event("a", "TooManyMissedTimes").await;
}

#[tokio::test]
async fn who_was_stopped_past_the_deadline_misses_and_goes_on() {
    let mut world = World::whole("08:00:10").await;
    let more = json!({"schedule": "0 * * * *", "startingDeadlineSeconds": 120});
    world.cron_job("a", spec(&["true"], more)).await;
    world.until_next("a", "09:00:00").await;
    world.kill().await;
    world.set("09:30:00");
    world.start();
    let found = world.until_next("a", "10:00:00").await;
    assert_eq!(found["status"]["missedRuns"], 1);
    world.until_event("a", "MissSchedule").await;
    world.set("10:00:00");
    world.until("a", |found| found["status"]["successfulRuns"] == 1).await;
}

#[tokio::test]
async fn stopped_and_started_at_any_time_each_slot_runs_once() {
    let mut world = World::whole("08:00:10").await;
    world.cron_job("a", spec(&["true"], json!({}))).await;
    world.until_next("a", "08:01:00").await;
    let start = world.store.revision();
    for minute in 1..=9_u64 {
        world.set(&format!("08:0{minute}:00"));
        world.until_writes(minute % 4).await;
        world.kill().await;
        world.start();
        world.until("a", |found| found["status"]["successfulRuns"] == minute).await;
    }
    assert_eq!(world.created("/jobs.batch/", start), 9);
    assert_eq!(world.created("/pods/", start), 9);
}

#[tokio::test]
async fn a_namespace_goes_with_everything_in_it() {
    let world = World::whole("08:00:10").await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}});
    world.send("POST", "/api/v1/namespaces", &namespace).await.unwrap();
    let object = json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "a"},
        "spec": spec(&["sleep"], json!({}))});
    world.send("POST", "/apis/batch/v1/namespaces/n/cronjobs", &object).await.unwrap();
    world.until_count("/serviceaccounts/n/", 1).await;
    world.until_count("/configmaps/n/", 1).await;
    world.set("08:01:00");
    world.until_count("/pods/n/", 1).await;
    world.send("DELETE", "/api/v1/namespaces/n", &Value::Null).await.unwrap();
    world.set("08:01:10");
    world.until_count("/namespaces/n", 0).await;
    for kind in ["/cronjobs.batch/n/", "/jobs.batch/n/", "/pods/n/", "/configmaps/n/"] {
        assert_eq!(world.count(kind), 0, "{kind}");
    }
}

#[tokio::test]
async fn a_zone_that_does_not_exist_is_refused() {
    let world = World::whole("08:00:10").await;
    let object = json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "a"},
        "spec": spec(&["true"], json!({"timeZone": "bad-time-zone"}))});
    let path = "/apis/batch/v1/namespaces/default/cronjobs";
    let refused = world.send("POST", path, &object).await.unwrap_err().to_string();
    assert!(refused.contains("unknown time zone bad-time-zone"), "{refused}");
}
