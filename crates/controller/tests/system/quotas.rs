//! Tests of CronJobs and Jobs in a namespace whose quota is exhausted.

use serde_json::{Value, json};

use crate::test_cluster::{TestCluster, slot_suffix};

const QUOTAS: &str = "/api/v1/namespaces/default/resourcequotas";

async fn create_quota(cluster: &TestCluster, hard: Value) {
    let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"},
        "spec": {"hard": hard}});
    cluster.server.send("POST", QUOTAS, &quota).await.unwrap();
}

async fn set_quota(cluster: &TestCluster, hard: Value) {
    let patch = json!({"spec": {"hard": hard}});
    cluster.server.send("PATCH", &format!("{QUOTAS}/q"), &patch).await.unwrap();
}

/// Waits until the condition `Settled` names the quota.
async fn wait_for_refusal(cluster: &TestCluster, name: &str) -> Value {
    let is_refused = |found: &Value| {
        let conditions = found["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.iter().any(|condition| {
            let message = condition["message"].as_str().unwrap_or_default();
            condition["type"] == "Settled"
                && condition["status"] == "False"
                && message.contains("exceeded quota: q, requested: count/jobs.batch=1")
        })
    };
    cluster.wait_for(name, is_refused).await
}

#[tokio::test]
async fn a_refused_run_is_reported_and_starts_when_the_quota_allows_it() {
    let cluster = TestCluster::with_cron_job_controller("08:00:10").await;
    create_quota(&cluster, json!({"count/jobs.batch": "0"})).await;
    cluster.create_cron_job("a", json!({"schedule": "0 * * * *"})).await;
    cluster.wait_for_next("a", "09:00:00").await;
    cluster.set_time("09:00:00");
    let found = wait_for_refusal(&cluster, "a").await;
    assert_eq!(found["status"]["lastScheduleTime"], Value::Null);
    cluster.wait_for_event("a", "FailedCreate").await;
    set_quota(&cluster, json!({"count/jobs.batch": "1"})).await;
    // Longer than the longest backoff.
    cluster.set_time("09:05:00");
    cluster.wait_for_jobs("a", &[&slot_suffix("09:00:00")]).await;
    let slot = "2026-01-31T09:00:00Z";
    let found = cluster.wait_for("a", |found| found["status"]["lastScheduleTime"] == slot).await;
    assert_eq!(found["status"]["missedRuns"], Value::Null);
}

#[tokio::test]
async fn a_refused_run_is_missed_after_its_deadline() {
    let cluster = TestCluster::with_cron_job_controller("08:00:10").await;
    create_quota(&cluster, json!({"count/jobs.batch": "0"})).await;
    let spec = json!({"schedule": "0 * * * *", "startingDeadlineSeconds": 30});
    cluster.create_cron_job("a", spec).await;
    cluster.wait_for_next("a", "09:00:00").await;
    cluster.set_time("09:00:00");
    wait_for_refusal(&cluster, "a").await;
    cluster.set_time("09:00:31");
    let found = cluster.wait_for("a", |found| found["status"]["missedRuns"] == 1).await;
    assert_eq!(found["status"]["lastMissedTime"], "2026-01-31T09:00:00Z");
    cluster.wait_for_event("a", "MissSchedule").await;
    set_quota(&cluster, json!({"count/jobs.batch": "1"})).await;
    cluster.set_time("10:00:00");
    cluster.wait_for_jobs("a", &[&slot_suffix("10:00:00")]).await;
}

/// The history of a full namespace must be cleaned up, or no run would ever start again.
#[tokio::test]
async fn finished_jobs_are_cleaned_up_while_the_quota_is_exhausted() {
    let cluster = TestCluster::with_cron_job_controller("08:00:10").await;
    create_quota(&cluster, json!({"count/jobs.batch": "1"})).await;
    let spec = json!({"schedule": "* * * * *", "successfulJobsHistoryLimit": 0});
    cluster.create_cron_job("a", spec).await;
    cluster.wait_for_next("a", "08:01:00").await;
    cluster.set_time("08:01:00");
    cluster.wait_for_next("a", "08:02:00").await;
    cluster.set_time("08:02:00");
    wait_for_refusal(&cluster, "a").await;
    cluster.finish_job(&format!("a-{}", slot_suffix("08:01:00")), "Complete").await;
    cluster.wait_for("a", |found| found["status"]["successfulRuns"] == 1).await;
    cluster.set_time("08:02:59");
    cluster.wait_for_jobs("a", &[&slot_suffix("08:02:00")]).await;
}

#[tokio::test]
async fn a_job_waits_for_room_for_its_pods() {
    let cluster = TestCluster::with_all_controllers("08:00:10").await;
    create_quota(&cluster, json!({"pods": "0"})).await;
    cluster.create_cron_job("a", json!({"schedule": "* * * * *"})).await;
    cluster.wait_for_next("a", "08:01:00").await;
    cluster.set_time("08:01:00");
    let job = format!("a-{}", slot_suffix("08:01:00"));
    cluster.wait_for_event(&job, "FailedCreate").await;
    assert_eq!(cluster.count("/pods/default/"), 0);
    set_quota(&cluster, json!({"pods": "1"})).await;
    cluster.set_time("08:01:59");
    cluster.wait_for("a", |found| found["status"]["successfulRuns"] == 1).await;
}
