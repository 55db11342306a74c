//! Tests of `punctual repair` with `punctual up`.

use std::process::{Command, Output};

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::program::{TestHome, api, wait_for_status};

impl TestHome {
    /// Runs `punctual repair` with the kubeconfig of this instance.
    fn repair(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
        command.env("KUBECONFIG", self.path().join("data/kubeconfig"));
        command.arg("repair").args(args).output().unwrap()
    }
}

fn is_waiting(status: &Value) -> bool {
    status["conditions"].to_string().contains("LastScheduleInFuture")
}

#[tokio::test]
async fn repair_lets_a_cron_job_run_again_that_waits_for_a_time_in_the_future() {
    let home = TestHome::new();
    let up = home.start(&[]);
    let client = home.client().await;
    let cron_jobs = api(&client, "batch/v1", "CronJob");
    let cron_job = json!({
        "apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "a"},
        "spec": {"schedule": "@every 1s", "concurrencyPolicy": "Forbid", "jobTemplate": {"spec": {
            "template": {"spec": {"restartPolicy": "Never", "containers": [
                {"name": "a", "image": "any", "command": ["true"]}]}}}}},
    });
    let cron_job = serde_json::from_value(cron_job).unwrap();
    cron_jobs.create(&Default::default(), &cron_job).await.unwrap();
    wait_for_status(cron_jobs.clone(), "a", |status| status["successfulRuns"] == 1).await;
    let future = json!({"status": {"lastScheduleTime": "2100-01-01T00:00:00Z"}});
    // The controller may overwrite the first patch, which was computed from an older status.
    for _ in 0..20 {
        let patch = Patch::Merge(&future);
        let patched = cron_jobs.patch_status("a", &PatchParams::default(), &patch).await.unwrap();
        if patched.data["status"]["active"].is_null() {
            break;
        }
    }
    wait_for_status(cron_jobs.clone(), "a", is_waiting).await;
    let dry_run = home.repair(&["a", "--dry-run"]);
    let output = String::from_utf8(dry_run.stdout).unwrap();
    assert!(output.starts_with("status.lastScheduleTime: 2100-01-01T00:00:00Z -> "), "{output}");
    assert!(output.ends_with("dry run: nothing was changed\n"), "{output}");
    let found = cron_jobs.get("a").await.unwrap();
    let runs = found.data["status"]["successfulRuns"].as_i64().unwrap();
    assert!(is_waiting(&found.data["status"]));
    let repaired = home.repair(&["a"]);
    let output = String::from_utf8(repaired.stdout).unwrap();
    let error = String::from_utf8(repaired.stderr).unwrap();
    assert!(output.ends_with("repaired\n"), "{output}{error}");
    let runs_again = |status: &Value| status["successfulRuns"].as_i64() > Some(runs + 1);
    wait_for_status(cron_jobs, "a", runs_again).await;
    let healthy = home.repair(&["a"]);
    let output = String::from_utf8(healthy.stdout).unwrap();
    assert_eq!(output, "nothing to repair: no recorded time is in the future\n");
    let unknown = home.repair(&["b"]);
    let error = String::from_utf8(unknown.stderr).unwrap();
    assert_eq!(error, "error: cronjobs.batch \"b\" not found\n");
    up.stop();
}
