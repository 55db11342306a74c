//! Tests of the CronJob controller alone. The tests finish its Jobs.

use serde_json::{Value, json};

use crate::test_cluster::{JOBS, TestCluster, slot_suffix, template};

#[tokio::test]
async fn a_slot_creates_a_job_that_becomes_active_and_is_counted() {
    let cluster = TestCluster::with_cron_job_controller("08:00:10").await;
    cluster.create_cron_job("a", json!({"schedule": "* * * * *"})).await;
    let found = cluster.wait_for_next("a", "08:01:00").await;
    assert_eq!(found["status"]["active"], Value::Null);
    cluster.set_time("08:01:00");
    let found = cluster.wait_for_next("a", "08:02:00").await;
    let name = format!("a-{}", slot_suffix("08:01:00"));
    assert_eq!(found["status"]["active"][0]["name"], name);
    assert_eq!(found["status"]["lastScheduleTime"], "2026-01-31T08:01:00Z");
    let job = cluster.server.send("GET", &format!("{JOBS}/{name}"), &Value::Null).await.unwrap();
    let annotation = "batch.kubernetes.io/cronjob-scheduled-timestamp";
    assert_eq!(job["metadata"]["annotations"][annotation], "2026-01-31T08:01:00Z");
    assert_eq!(
        job["spec"]["template"]["metadata"]["annotations"][annotation],
        "2026-01-31T08:01:00Z"
    );
    assert_eq!(job["metadata"]["ownerReferences"][0]["uid"], found["metadata"]["uid"]);
    cluster.set_time("08:01:20");
    cluster.finish_job(&name, "Complete").await;
    let found = cluster.wait_for("a", |found| found["status"]["active"] == Value::Null).await;
    assert_eq!(found["status"]["successfulRuns"], 1);
    assert_eq!(found["status"]["lastSuccessfulTime"], "2026-01-31T08:01:20Z");
}

#[tokio::test]
async fn a_clock_that_jumps_forward_and_back_is_reported() {
    let cluster = TestCluster::with_cron_job_controller("08:00:10").await;
    cluster.create_cron_job("a", json!({"schedule": "0 * * * *"})).await;
    cluster.wait_for_next("a", "09:00:00").await;
    cluster.set_time("2037-01-01T00:00:00Z");
    let is_recorded = |found: &Value| found["status"]["lastScheduleTime"] == "2037-01-01T00:00:00Z";
    cluster.wait_for("a", is_recorded).await;
    cluster.set_time("08:01:00");
    let is_reported = |found: &Value| {
        found["status"]["conditions"].to_string().contains("\"reason\":\"LastScheduleInFuture\"")
    };
    cluster.wait_for("a", is_reported).await;
    cluster.wait_for_event("a", "LastScheduleInFuture").await;
    assert_eq!(cluster.metric("punctual_future_schedules"), ["punctual_future_schedules 1"]);
}

#[tokio::test]
async fn nothing_is_written_while_nothing_is_due() {
    let mut cluster = TestCluster::with_cron_job_controller("08:00:10").await;
    cluster.create_cron_job("a", json!({"schedule": "* * * * *"})).await;
    cluster.wait_for_next("a", "08:01:00").await;
    cluster.set_time("08:01:00");
    cluster.wait_for_next("a", "08:02:00").await;
    let before = cluster.server.store.revision();
    // A new controller that has reconciled a new CronJob has reconciled all older ones.
    cluster.kill().await;
    cluster.start();
    cluster.create_cron_job("b", json!({"schedule": "* * * * *"})).await;
    cluster.wait_for_next("b", "08:02:00").await;
    let key = "/cronjobs.batch/default/b";
    assert_eq!(
        cluster.written_keys(before),
        [key, key],
        "only the new CronJob and its status are written"
    );
}

#[tokio::test]
async fn forbid_waits_until_the_active_job_finishes() {
    let cluster = TestCluster::with_cron_job_controller("08:00:10").await;
    cluster
        .create_cron_job("a", json!({"schedule": "* * * * *", "concurrencyPolicy": "Forbid"}))
        .await;
    cluster.wait_for_next("a", "08:01:00").await;
    cluster.set_time("08:01:00");
    cluster.wait_for_next("a", "08:02:00").await;
    cluster.set_time("08:02:30");
    cluster.wait_for_event("a", "JobAlreadyActive").await;
    // The slot that waits.
    cluster.wait_for_next("a", "08:02:00").await;
    assert_eq!(cluster.jobs("a"), [slot_suffix("08:01:00")]);
    cluster.finish_job(&format!("a-{}", slot_suffix("08:01:00")), "Failed").await;
    cluster.wait_for_jobs("a", &[&slot_suffix("08:01:00"), &slot_suffix("08:02:00")]).await;
    let found = cluster.wait_for("a", |found| found["status"]["failedRuns"] == 1).await;
    assert_eq!(found["status"]["failuresSinceSuccess"], 1);
}

#[tokio::test]
async fn replace_deletes_the_active_job() {
    let cluster = TestCluster::with_cron_job_controller("08:00:10").await;
    cluster
        .create_cron_job("a", json!({"schedule": "* * * * *", "concurrencyPolicy": "Replace"}))
        .await;
    cluster.delete_replaced_jobs_in_background("a").await;
    cluster.wait_for_next("a", "08:01:00").await;
    cluster.set_time("08:01:00");
    cluster.wait_for_next("a", "08:02:00").await;
    cluster.set_time("08:02:00");
    let found = cluster.wait_for_next("a", "08:03:00").await;
    assert_eq!(cluster.jobs("a"), [slot_suffix("08:02:00")]);
    assert_eq!(found["status"]["active"].as_array().unwrap().len(), 1);
    assert_eq!(found["status"]["failedRuns"], Value::Null);
}

#[tokio::test]
async fn catch_up_runs_every_slot_in_order() {
    let cluster = TestCluster::with_cron_job_controller("08:00:10").await;
    cluster
        .create_cron_job("a", json!({"schedule": "* * * * *", "concurrencyPolicy": "CatchUp"}))
        .await;
    cluster.wait_for_next("a", "08:01:00").await;
    cluster.set_time("08:04:30");
    for time in ["08:01:00", "08:02:00", "08:03:00", "08:04:00"] {
        let name = format!("a-{}", slot_suffix(time));
        cluster.wait_for("a", |found| found["status"]["active"][0]["name"] == name.as_str()).await;
        cluster.finish_job(&name, "Complete").await;
    }
    let found = cluster.wait_for("a", |found| found["status"]["active"] == Value::Null).await;
    assert_eq!(found["status"]["successfulRuns"], 4);
    // The history limit is three.
    cluster
        .wait_for_jobs(
            "a",
            &[&slot_suffix("08:02:00"), &slot_suffix("08:03:00"), &slot_suffix("08:04:00")],
        )
        .await;
}

#[tokio::test]
async fn a_suspended_cron_job_starts_jobs_only_after_it_is_resumed() {
    let cluster = TestCluster::with_cron_job_controller("08:00:10").await;
    cluster.create_cron_job("a", json!({"schedule": "* * * * *", "suspend": true})).await;
    let settled = |found: &Value| found["status"]["conditions"] != Value::Null;
    cluster.wait_for("a", settled).await;
    cluster.set_time("08:03:10");
    cluster.create_cron_job("b", json!({"schedule": "* * * * *"})).await;
    cluster.wait_for_next("b", "08:04:00").await;
    assert_eq!(cluster.jobs("a"), [""; 0]);
    cluster.patch("a", json!({"spec": {"suspend": false}})).await;
    cluster.wait_for_next("a", "08:04:00").await;
    assert_eq!(cluster.jobs("a"), [slot_suffix("08:03:00")]);
}

#[tokio::test]
async fn a_deleted_job_is_removed_from_the_active_list() {
    let cluster = TestCluster::with_cron_job_controller("08:00:10").await;
    cluster.create_cron_job("a", json!({"schedule": "* * * * *"})).await;
    cluster.wait_for_next("a", "08:01:00").await;
    cluster.set_time("08:01:00");
    cluster.wait_for_next("a", "08:02:00").await;
    let path = format!("{JOBS}/a-{}?propagationPolicy=Background", slot_suffix("08:01:00"));
    cluster.server.send("DELETE", &path, &Value::Null).await.unwrap();
    cluster.wait_for("a", |found| found["status"]["active"] == Value::Null).await;
    assert_eq!(cluster.jobs("a"), [""; 0], "the slot does not run again");
}

#[tokio::test]
async fn an_edited_schedule_starts_no_past_slots() {
    let cluster = TestCluster::with_cron_job_controller("08:00:10").await;
    cluster.create_cron_job("a", json!({"schedule": "0 9 * * *"})).await;
    cluster.wait_for_next("a", "09:00:00").await;
    cluster.set_time("08:30:00");
    cluster.patch("a", json!({"spec": {"schedule": "15 * * * *"}})).await;
    cluster.wait_for_next("a", "09:15:00").await;
    assert_eq!(cluster.jobs("a"), [""; 0]);
}

#[tokio::test]
async fn an_edited_template_applies_to_the_next_run_and_repeats_none() {
    let cluster = TestCluster::with_cron_job_controller("08:00:10").await;
    cluster.create_cron_job("a", json!({"schedule": "* * * * *"})).await;
    cluster.wait_for_next("a", "08:01:00").await;
    cluster.set_time("08:01:00");
    cluster.wait_for_next("a", "08:02:00").await;
    let template = json!({"metadata": {"labels": {"version": "2"}}, "spec": {"backoffLimit": 4}});
    cluster.patch("a", json!({"spec": {"jobTemplate": template}})).await;
    cluster.set_time("08:02:00");
    cluster.wait_for_next("a", "08:03:00").await;
    let [first, second] = ["08:01:00", "08:02:00"].map(slot_suffix);
    assert_eq!(cluster.jobs("a"), [first.as_str(), &second], "the first slot ran once");
    let job = |suffix: &str| cluster.server.object(&format!("/jobs.batch/default/a-{suffix}"));
    assert_eq!(job(&first)["metadata"]["labels"]["version"], Value::Null);
    assert_eq!(job(&second)["metadata"]["labels"]["version"], "2");
    assert_eq!(job(&second)["spec"]["backoffLimit"], 4);
}

#[tokio::test]
async fn runs_are_counted_by_outcome_in_the_metrics() {
    let cluster = TestCluster::with_cron_job_controller("08:00:10").await;
    cluster.create_cron_job("a", json!({"schedule": "* * * * *"})).await;
    let mut next = "08:01:00";
    for (condition, after) in [("Complete", "08:02:00"), ("Failed", "08:03:00")] {
        cluster.wait_for_next("a", next).await;
        cluster.set_time(next);
        cluster.wait_for_next("a", after).await;
        cluster.finish_job(&format!("a-{}", slot_suffix(next)), condition).await;
        cluster.wait_for("a", |found| found["status"]["active"] == Value::Null).await;
        next = after;
    }
    let runs = cluster.metric("punctual_runs_total");
    for outcome in ["succeeded", "failed"] {
        let series = "punctual_runs_total{namespace=\"default\",cronjob=\"a\"";
        let line = format!("{series},outcome=\"{outcome}\"}} 1");
        assert!(runs.contains(&line), "{line} is not in {runs:?}");
    }
}

#[tokio::test]
async fn a_slot_past_its_deadline_is_missed_and_recorded() {
    let cluster = TestCluster::with_cron_job_controller("08:00:10").await;
    cluster
        .create_cron_job("a", json!({"schedule": "0 * * * *", "startingDeadlineSeconds": 60}))
        .await;
    cluster.wait_for_next("a", "09:00:00").await;
    cluster.set_time("09:01:30");
    let found = cluster.wait_for_next("a", "10:00:00").await;
    assert_eq!(found["status"]["missedRuns"], 1);
    assert_eq!(found["status"]["lastMissedTime"], "2026-01-31T09:00:00Z");
    assert_eq!(cluster.jobs("a"), [""; 0]);
}

#[tokio::test]
async fn our_finalizer_is_removed_when_the_job_or_its_cron_job_is_deleted() {
    let cluster = TestCluster::with_cron_job_controller("08:00:10").await;
    let spec = json!({"schedule": "* * * * *",
        "jobTemplate": template(json!({"ttlSecondsAfterFinished": 0}))});
    let made = cluster.create_cron_job("a", spec).await;
    cluster.wait_for_next("a", "08:01:00").await;
    cluster.set_time("08:01:00");
    cluster.wait_for_next("a", "08:02:00").await;
    let path = format!("{JOBS}/a-{}", slot_suffix("08:01:00"));
    let job = cluster.server.send("GET", &path, &Value::Null).await.unwrap();
    assert_eq!(job["metadata"]["finalizers"][0], "punctual.dev/slot-recorded");
    cluster
        .server
        .send("DELETE", &format!("{path}?propagationPolicy=Background"), &Value::Null)
        .await
        .unwrap();
    cluster.wait_for_jobs("a", &[]).await;
    // The same when the CronJob is deleted first.
    cluster.set_time("08:02:00");
    cluster.wait_for_next("a", "08:03:00").await;
    let name = &made["metadata"]["name"];
    let uid = &made["metadata"]["uid"];
    cluster
        .server
        .send(
            "DELETE",
            "/apis/batch/v1/namespaces/default/cronjobs/a",
            &json!({"preconditions": {"uid": uid}}),
        )
        .await
        .unwrap();
    let path = format!("{JOBS}/{}-{}", name.as_str().unwrap(), slot_suffix("08:02:00"));
    cluster
        .server
        .send("DELETE", &format!("{path}?propagationPolicy=Background"), &Value::Null)
        .await
        .unwrap();
    cluster.wait_for_jobs("a", &[]).await;
}

#[tokio::test]
async fn scheduled_jobs_are_reconciled_like_cron_jobs() {
    let cluster = TestCluster::with_cron_job_controller("08:00:10").await;
    let object = json!({"apiVersion": "punctual.dev/v1", "kind": "ScheduledJob",
        "metadata": {"name": "s"}, "spec": {"schedule": "@at 2026-01-31T08:05:00Z",
        "jobTemplate": template(json!({}))}});
    let path = "/apis/punctual.dev/v1/namespaces/default/scheduledjobs";
    cluster.server.send("POST", path, &object).await.unwrap();
    cluster.set_time("08:05:00");
    cluster.wait_for_jobs("s", &[&slot_suffix("08:05:00")]).await;
    cluster.finish_job(&format!("s-{}", slot_suffix("08:05:00")), "Complete").await;
    let mut watch = cluster
        .server
        .store
        .watch("/scheduledjobs.punctual.dev/", cluster.server.store.revision())
        .unwrap();
    let path = format!("{path}/s");
    loop {
        let found = cluster.server.send("GET", &path, &Value::Null).await.unwrap();
        let conditions = found["status"]["conditions"].as_array().cloned().unwrap_or_default();
        if conditions.iter().any(|c| c["type"] == "Complete" && c["status"] == "True") {
            break;
        }
        watch.next().await.unwrap();
    }
}

#[tokio::test]
async fn a_job_without_owner_blocks_no_slot_after_its_deletion() {
    let cluster = TestCluster::with_cron_job_controller("08:00:10").await;
    cluster
        .create_cron_job("a", json!({"schedule": "* * * * *", "concurrencyPolicy": "Forbid"}))
        .await;
    cluster.wait_for_next("a", "08:01:00").await;
    cluster.set_time("08:01:00");
    cluster.wait_for_next("a", "08:02:00").await;
    let path = format!("{JOBS}/a-{}", slot_suffix("08:01:00"));
    let orphan = json!({"metadata": {"ownerReferences": null}});
    cluster.server.send("PATCH", &path, &orphan).await.unwrap();
    cluster
        .server
        .send("DELETE", &path, &json!({"propagationPolicy": "Background"}))
        .await
        .unwrap();
    cluster.set_time("08:02:00");
    cluster.wait_for_next("a", "08:03:00").await;
    assert_eq!(cluster.jobs("a"), [slot_suffix("08:02:00")]);
}
