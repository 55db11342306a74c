//! Tests of feature gates with a real server: the controller restarts with each gate on, off and on again.

use serde_json::{Value, json};

use crate::test_cluster::{TestCluster, slot_suffix};

impl TestCluster {
    /// Restarts the controllers with these gates, in the syntax of the flag.
    async fn restart_with_gates(&mut self, gates: &str) {
        self.kill().await;
        self.gates = gates.parse().unwrap();
        self.start();
    }

    /// Waits until the condition `FeatureDisabled` is there, and returns its message.
    async fn wait_for_disabled(&self, name: &str) -> String {
        let found = self.wait_for(name, |found| disabled_message(found).is_some()).await;
        disabled_message(&found).unwrap()
    }

    async fn wait_for_enabled(&self, name: &str) -> Value {
        self.wait_for(name, |found| disabled_message(found).is_none()).await
    }
}

fn disabled_message(cron_job: &Value) -> Option<String> {
    let conditions = cron_job["status"]["conditions"].as_array()?;
    let mut conditions = conditions.iter();
    let disabled = conditions.find(|condition| condition["type"] == "FeatureDisabled")?;
    Some(disabled["message"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn the_time_zone_gate_switches_the_zone_off_and_on_again() {
    let mut cluster = TestCluster::with_cron_job_controller("08:00:10").await;
    // Nine o'clock in Berlin is eight o'clock in UTC, the default zone.
    let spec = json!({"schedule": "30 9 * * *", "timeZone": "Europe/Berlin"});
    cluster.create_cron_job("a", spec).await;
    cluster.wait_for_next("a", "08:30:00").await;
    cluster.restart_with_gates("TimeZone=false").await;
    let message = cluster.wait_for_disabled("a").await;
    assert!(message.contains("spec.timeZone is ignored"), "{message}");
    let found = cluster.wait_for_next("a", "09:30:00").await;
    assert_eq!(found["spec"]["timeZone"], "Europe/Berlin", "the field is kept");
    cluster.set_time("09:30:00");
    cluster.wait_for_jobs("a", &[&slot_suffix("09:30:00")]).await;
    cluster.restart_with_gates("TimeZone=true").await;
    cluster.wait_for_enabled("a").await;
    let next = |found: &Value| found["status"]["nextScheduleTime"] == "2026-02-01T08:30:00Z";
    let found = cluster.wait_for("a", next).await;
    assert_eq!(found["spec"]["timeZone"], "Europe/Berlin");
    assert_eq!(cluster.jobs("a"), [slot_suffix("09:30:00")], "no past slot starts");
}

#[tokio::test]
async fn the_catch_up_gate_switches_the_policy_off_and_on_again() {
    let mut cluster = TestCluster::with_cron_job_controller("08:00:10").await;
    cluster.gates = "CatchUp=false".parse().unwrap();
    cluster
        .create_cron_job("a", json!({"schedule": "* * * * *", "concurrencyPolicy": "CatchUp"}))
        .await;
    cluster.wait_for_next("a", "08:01:00").await;
    cluster.kill().await;
    cluster.set_time("08:03:30");
    cluster.start();
    cluster.wait_for_jobs("a", &[&slot_suffix("08:03:00")]).await;
    let message = cluster.wait_for_disabled("a").await;
    assert!(message.contains("the policy is Forbid"), "{message}");
    cluster.finish_job(&format!("a-{}", slot_suffix("08:03:00")), "Complete").await;
    cluster.wait_for("a", |found| found["status"]["successfulRuns"] == 1).await;
    cluster.kill().await;
    cluster.set_time("08:06:30");
    cluster.gates = "CatchUp=true".parse().unwrap();
    cluster.start();
    let found = cluster.wait_for_enabled("a").await;
    assert_eq!(found["spec"]["concurrencyPolicy"], "CatchUp");
    cluster.wait_for_jobs("a", &[&slot_suffix("08:03:00"), &slot_suffix("08:04:00")]).await;
}

#[tokio::test]
async fn the_one_shot_and_jitter_gates_switch_off_and_on_again() {
    let mut cluster = TestCluster::with_cron_job_controller("08:00:10").await;
    let spec = json!({"schedule": "@at 2026-01-31T08:30:00Z"});
    cluster.create_cron_job("once", spec).await;
    cluster.wait_for_next("once", "08:30:00").await;
    cluster.create_cron_job("late", json!({"schedule": "0 * * * *", "jitter": 50})).await;
    let has_next = |found: &Value| found["status"]["nextScheduleTime"].is_string();
    let found = cluster.wait_for("late", has_next).await;
    let jittered = found["status"]["nextScheduleTime"].clone();
    assert_ne!(jittered, "2026-01-31T09:00:00Z");
    cluster.restart_with_gates("OneShot=false,Jitter=false").await;
    let message = cluster.wait_for_disabled("once").await;
    assert!(message.contains("no run starts"), "{message}");
    let message = cluster.wait_for_disabled("late").await;
    assert!(message.starts_with("spec.jitter is ignored"), "{message}");
    cluster.wait_for_next("late", "09:00:00").await;
    cluster.set_time("08:40:00");
    cluster.restart_with_gates("").await;
    let found = cluster.wait_for_enabled("late").await;
    assert_eq!(found["status"]["nextScheduleTime"], jittered);
    assert_eq!(found["spec"]["jitter"], 50);
    cluster.wait_for_jobs("once", &[&slot_suffix("08:30:00")]).await;
}
