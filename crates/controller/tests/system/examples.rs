//! The manifests in `examples/` behave as their comments say.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use punctual_api::{json_tree::SizeBudget, yaml};
use serde_json::{Value, json};

use crate::test_cluster::{CRON_JOBS, JOBS, TestCluster, slot_suffix};

/// The examples that these tests run.
const TESTED: [&str; 8] = [
    "backup.yaml",
    "fleet.yaml",
    "hello.yaml",
    "hourly.yaml",
    "once.yaml",
    "report.yaml",
    "suspend.yaml",
    "timezone.yaml",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// Creates the objects of an example.
async fn apply(cluster: &TestCluster, file: &str) {
    assert!(TESTED.contains(&file), "{file} is not in the list");
    let text = std::fs::read_to_string(folder().join(file)).unwrap();
    for document in text.split("\n---\n") {
        let parsed = yaml::parse_document(document, 0, &mut SizeBudget::default());
        let object = parsed.unwrap_or_else(|error| panic!("{file}: {error}")).0;
        let path = match object["kind"].as_str() {
            Some("Namespace") => "/api/v1/namespaces".to_owned(),
            _ => {
                let namespace = object["metadata"]["namespace"].as_str().unwrap_or("default");
                format!("/apis/batch/v1/namespaces/{namespace}/cronjobs")
            }
        };
        cluster.server.send("POST", &path, &object).await.unwrap();
    }
}

/// Waits until `nextScheduleTime` is this time, so that all earlier slots have been handled.
async fn wait_for_next(cluster: &TestCluster, name: &str, time: &str) -> Value {
    cluster.wait_for(name, |found| found["status"]["nextScheduleTime"] == time).await
}

/// Waits until the only active Job of a CronJob is that of this slot, and returns the Job.
async fn wait_for_active(cluster: &TestCluster, name: &str, slot: &str) -> Value {
    let job = format!("{name}-{}", slot_suffix(slot));
    let is_active = |found: &Value| {
        let active = found["status"]["active"].as_array();
        active.is_some_and(|active| active.len() == 1 && active[0]["name"] == job.as_str())
    };
    cluster.wait_for(name, is_active).await;
    cluster.server.send("GET", &format!("{JOBS}/{job}"), &Value::Null).await.unwrap()
}

async fn complete(cluster: &TestCluster, name: &str, slot: &str) {
    cluster.finish_job(&format!("{name}-{}", slot_suffix(slot)), "Complete").await;
}

async fn wait_for_successes(cluster: &TestCluster, name: &str, count: i64) -> Value {
    cluster.wait_for(name, |found| found["status"]["successfulRuns"] == count).await
}

fn has_condition(object: &Value, kind: &str) -> bool {
    let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.iter().any(|condition| condition["type"] == kind && condition["status"] == "True")
}

#[test]
fn every_example_has_a_test() {
    let files = std::fs::read_dir(folder()).unwrap();
    let names: BTreeSet<String> =
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(names, TESTED.map(String::from).into());
}

#[tokio::test]
async fn hello_runs_every_minute() {
    let cluster = TestCluster::with_cron_job_controller("08:00:10").await;
    apply(&cluster, "hello.yaml").await;
    wait_for_next(&cluster, "hello", "2026-01-31T08:01:00Z").await;
    for minute in 1..=3 {
        let slot = format!("08:0{minute}:00");
        cluster.set_time(&slot);
        wait_for_active(&cluster, "hello", &slot).await;
        complete(&cluster, "hello", &slot).await;
        wait_for_successes(&cluster, "hello", minute).await;
    }
}

#[tokio::test]
async fn hourly_runs_every_hour_and_only_the_latest_run_follows_an_outage() {
    let mut cluster = TestCluster::with_cron_job_controller("08:00:10").await;
    apply(&cluster, "hourly.yaml").await;
    wait_for_next(&cluster, "hourly", "2026-01-31T09:00:00Z").await;
    cluster.set_time("08:59:59");
    for hour in ["09", "10"] {
        let slot = format!("{hour}:00:00");
        cluster.set_time(&slot);
        wait_for_active(&cluster, "hourly", &slot).await;
        complete(&cluster, "hourly", &slot).await;
    }
    wait_for_successes(&cluster, "hourly", 2).await;
    cluster.kill().await;
    cluster.set_time("14:30:00");
    cluster.start();
    wait_for_active(&cluster, "hourly", "14:00:00").await;
    complete(&cluster, "hourly", "14:00:00").await;
    wait_for_successes(&cluster, "hourly", 3).await;
    wait_for_next(&cluster, "hourly", "2026-01-31T15:00:00Z").await;
}

#[tokio::test]
async fn once_runs_at_its_local_time_and_never_again() {
    let mut cluster = TestCluster::with_cron_job_controller("2099-12-31T10:00:00Z").await;
    apply(&cluster, "once.yaml").await;
    // Midnight in Auckland, where it is summer.
    let slot = "2099-12-31T11:00:00Z";
    wait_for_next(&cluster, "new-year", slot).await;
    assert_eq!(cluster.jobs("new-year"), [""; 0]);
    // The machine is off at that time.
    cluster.kill().await;
    cluster.set_time("2099-12-31T12:30:00Z");
    cluster.start();
    wait_for_active(&cluster, "new-year", slot).await;
    complete(&cluster, "new-year", slot).await;
    let found = wait_for_successes(&cluster, "new-year", 1).await;
    assert!(has_condition(&found, "Complete"), "{found:#}");
    assert_eq!(found["status"]["nextScheduleTime"], Value::Null);
    cluster.kill().await;
    cluster.set_time("2100-12-31T11:00:00Z");
    cluster.start();
    // A controller that has reconciled a new CronJob has reconciled all older ones.
    cluster.create_cron_job("other", json!({"schedule": "@daily"})).await;
    wait_for_next(&cluster, "other", "2101-01-01T00:00:00Z").await;
    assert_eq!(cluster.jobs("new-year"), [slot_suffix(slot)]);
}

#[tokio::test]
async fn backup_does_not_overlap_and_misses_a_night_that_starts_too_late() {
    let mut cluster = TestCluster::with_cron_job_controller("03:00:00").await;
    apply(&cluster, "backup.yaml").await;
    wait_for_next(&cluster, "backup", "2026-01-31T04:00:00Z").await;
    cluster.set_time("04:00:00");
    let job = wait_for_active(&cluster, "backup", "04:00:00").await;
    assert_eq!(job["spec"]["activeDeadlineSeconds"], 82_800);
    assert_eq!(job["spec"]["backoffLimit"], 2);
    // The first backup still runs when the second is due.
    let second = "2026-02-01T04:00:00Z";
    cluster.set_time(second);
    cluster.wait_for_event("backup", "JobAlreadyActive").await;
    wait_for_next(&cluster, "backup", second).await;
    assert_eq!(cluster.jobs("backup"), [slot_suffix("04:00:00")]);
    cluster.set_time("2026-02-01T05:00:00Z");
    complete(&cluster, "backup", "04:00:00").await;
    wait_for_active(&cluster, "backup", second).await;
    complete(&cluster, "backup", second).await;
    wait_for_successes(&cluster, "backup", 2).await;
    // The machine is off for three hours.
    cluster.kill().await;
    cluster.set_time("2026-02-02T07:00:00Z");
    cluster.start();
    let found = wait_for_next(&cluster, "backup", "2026-02-03T04:00:00Z").await;
    assert_eq!(found["status"]["missedRuns"], 1);
    assert_eq!(found["status"]["lastMissedTime"], "2026-02-02T04:00:00Z");
    assert_eq!(cluster.jobs("backup").len(), 2, "the missed backup does not run");
    cluster.wait_for_event("backup", "MissSchedule").await;
}

/// The value of an environment variable that refers to an annotation of its Pod.
fn env_from_annotation(job: &Value, name: &str) -> String {
    let template = &job["spec"]["template"];
    let variables = template["spec"]["containers"][0]["env"].as_array().unwrap();
    let variable = variables.iter().find(|variable| variable["name"] == name).unwrap();
    let path = variable["valueFrom"]["fieldRef"]["fieldPath"].as_str().unwrap();
    let key = path.strip_prefix("metadata.annotations['").and_then(|key| key.strip_suffix("']"));
    template["metadata"]["annotations"][key.unwrap()].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn report_covers_every_hour_of_an_outage_in_order() {
    let mut cluster = TestCluster::with_cron_job_controller("01:10:00").await;
    apply(&cluster, "report.yaml").await;
    wait_for_next(&cluster, "report", "2026-01-31T02:00:00Z").await;
    cluster.kill().await;
    cluster.set_time("05:10:00");
    cluster.start();
    for hour in 2..=5 {
        let slot = format!("0{hour}:00:00");
        let job = wait_for_active(&cluster, "report", &slot).await;
        assert_eq!(env_from_annotation(&job, "UNTIL"), format!("2026-01-31T{slot}Z"));
        let since = format!("2026-01-31T0{}:00:00Z", hour - 1);
        assert_eq!(env_from_annotation(&job, "SINCE"), since);
        // A failed report does not hold up the next one.
        let condition = if hour == 3 { "Failed" } else { "Complete" };
        cluster.finish_job(&format!("report-{}", slot_suffix(&slot)), condition).await;
    }
    let found = wait_for_successes(&cluster, "report", 3).await;
    assert_eq!(found["status"]["failedRuns"], 1);
    assert_eq!(found["status"]["missedRuns"], Value::Null);
    assert_eq!(found["status"]["nextScheduleTime"], "2026-01-31T06:00:00Z");
}

#[tokio::test]
async fn both_cities_open_at_nine_in_winter_and_in_summer() {
    // Berlin changes its clocks on 29 March, New York has already changed them on 8 March.
    let cluster = TestCluster::with_cron_job_controller("2026-03-05T00:00:00Z").await;
    apply(&cluster, "timezone.yaml").await;
    for (day, berlin_hour, new_york_hour) in [
        ("05", "08", "14"),
        ("06", "08", "14"),
        ("09", "08", "13"),
        ("27", "08", "13"),
        ("30", "07", "13"),
    ] {
        for (name, hour) in [("opening-berlin", berlin_hour), ("opening-new-york", new_york_hour)] {
            let slot = format!("2026-03-{day}T{hour}:00:00Z");
            cluster.set_time(&slot);
            let has_started = |found: &Value| found["status"]["lastScheduleTime"] == slot.as_str();
            cluster.wait_for(name, has_started).await;
            let local = annotation(&cluster, name, &slot).await;
            assert!(local.starts_with(&format!("2026-03-{day}T09:00:00")), "{local}");
        }
    }
    // After Friday comes Monday.
    cluster.set_time("2026-04-03T07:00:00Z");
    wait_for_next(&cluster, "opening-berlin", "2026-04-06T07:00:00Z").await;
}

/// The slot of a Job as its annotation has it: in the time zone of the CronJob.
async fn annotation(cluster: &TestCluster, name: &str, slot: &str) -> String {
    let path = format!("{JOBS}/{name}-{}", slot_suffix(slot));
    let job = cluster.server.send("GET", &path, &Value::Null).await.unwrap();
    let key = "batch.kubernetes.io/cronjob-scheduled-timestamp";
    job["metadata"]["annotations"][key].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_suspended_example_starts_nothing_until_it_is_resumed() {
    let cluster = TestCluster::with_cron_job_controller("08:30:00").await;
    apply(&cluster, "suspend.yaml").await;
    cluster.wait_for("cleanup", |found| has_condition(found, "Settled")).await;
    cluster.set_time("11:30:00");
    assert_eq!(cluster.jobs("cleanup"), [""; 0]);
    cluster.patch("cleanup", json!({"spec": {"suspend": false}})).await;
    let found = wait_for_next(&cluster, "cleanup", "2026-01-31T12:00:00Z").await;
    assert_eq!(found["status"]["skippedRuns"], 3);
    assert_eq!(found["status"]["slots"][0]["reason"], "Suspended");
    assert_eq!(cluster.jobs("cleanup"), [""; 0], "hours that passed long ago do not run");
    cluster.set_time("12:00:00");
    wait_for_active(&cluster, "cleanup", "12:00:00").await;
    // The run continues when the CronJob is suspended again, and its result is counted.
    cluster.patch("cleanup", json!({"spec": {"suspend": true}})).await;
    let stopped = |found: &Value| found["status"]["nextScheduleTime"] == Value::Null;
    let found = cluster.wait_for("cleanup", stopped).await;
    assert_eq!(found["status"]["active"].as_array().unwrap().len(), 1);
    complete(&cluster, "cleanup", "12:00:00").await;
    wait_for_successes(&cluster, "cleanup", 1).await;
    assert_eq!(cluster.jobs("cleanup"), [slot_suffix("12:00:00")]);
}

#[tokio::test]
async fn the_fleet_starts_within_a_minute_and_not_at_once() {
    let cluster = TestCluster::with_cron_job_controller("08:00:10").await;
    apply(&cluster, "fleet.yaml").await;
    let path = CRON_JOBS.replace("default", "fleet");
    let mut starts = Vec::new();
    let mut watch = cluster.server.store.watch("/cronjobs.batch/fleet/", 0).unwrap();
    while starts.len() < 3 {
        watch.next().await.unwrap();
        let list = cluster.server.send("GET", &path, &Value::Null).await.unwrap();
        let items = list["items"].as_array().unwrap();
        starts = items
            .iter()
            .filter_map(|item| item["status"]["nextScheduleTime"].as_str().map(String::from))
            .collect();
    }
    for start in &starts {
        assert!(start.starts_with("2026-01-31T08:05:"), "{starts:?}");
    }
    // Two of the three may share a second; all three do once in 3,600 runs.
    assert!(starts.iter().collect::<BTreeSet<_>>().len() > 1, "{starts:?}");
}
