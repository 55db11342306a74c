//! Tests of `punctual run` with `punctual up`, which runs the created objects.

use std::process::{Command, Output};

use jiff::SignedDuration;
use punctual_client::{Clock as _, SystemClock};
use serde_json::Value;

use crate::program::{TestHome, api, log, wait_for_status};

impl TestHome {
    /// Runs `punctual run` with the kubeconfig of this instance.
    fn run_command(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
        command.env("KUBECONFIG", self.path().join("data/kubeconfig")).env("TZ", "UTC");
        command.arg("run").args(args).output().unwrap()
    }

    /// Runs `punctual run`, which must succeed, and returns its output.
    pub(crate) fn run_ok(&self, args: &[&str]) -> String {
        let output = self.run_command(args);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {stderr}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs `punctual run`, which must fail, and returns standard error.
    pub(crate) fn run_error(&self, args: &[&str]) -> String {
        let output = self.run_command(args);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        String::from_utf8(output.stderr).unwrap()
    }
}

#[tokio::test]
async fn a_command_runs_once_at_its_time() {
    let home = TestHome::new();
    let up = home.start(&[]);
    let soon = SystemClock.now() + SignedDuration::from_secs(2);
    let time = soon.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let args = ["--at", &time, "--name", "once", "--env", "WHO=world"];
    let output = home.run_ok(&[&args[..], &["--", "/bin/sh", "-c", "echo hello $WHO"]].concat());
    assert!(output.starts_with("scheduledjob.punctual.dev/once created\nfirst run: "), "{output}");
    let client = home.client().await;
    let is_complete = |status: &Value| status.to_string().contains("\"Complete\"");
    let scheduled_jobs = api(&client, "punctual.dev/v1", "ScheduledJob");
    wait_for_status(scheduled_jobs.clone(), "once", is_complete).await;
    let succeeded = |status: &Value| status["successfulRuns"] == 1;
    let found = wait_for_status(scheduled_jobs, "once", succeeded).await;
    let last = found.data["status"]["lastScheduleTime"].as_str().unwrap();
    assert_eq!(last, time);
    let pods = api(&client, "v1", "Pod").list(&Default::default()).await.unwrap();
    assert_eq!(pods.items.len(), 1);
    let name = pods.items[0].metadata.name.as_deref().unwrap();
    assert_eq!(log(&client, &format!("{name}/log")).await.unwrap(), "hello world\n");
    up.stop();
}

#[tokio::test]
async fn a_command_runs_at_an_interval_and_a_used_name_is_refused() {
    let home = TestHome::new();
    let up = home.start(&[]);
    let args = ["--every", "1s", "--concurrency-policy", "Forbid", "--", "true"];
    let output = home.run_ok(&args);
    assert!(output.starts_with("cronjob.batch/true created\n"), "{output}");
    let client = home.client().await;
    let cron_jobs = api(&client, "batch/v1", "CronJob");
    let found =
        wait_for_status(cron_jobs, "true", |status| status["successfulRuns"].as_i64() >= Some(2));
    assert_eq!(found.await.data["spec"]["concurrencyPolicy"], "Forbid");
    let error = home.run_error(&args);
    let wanted = "error: cronjobs.batch \"true\" already exists; choose another name with --name\n";
    assert!(error.ends_with(wanted), "{error}");
    let error = home.run_error(&["--every", "1h", "-n", "nowhere", "--", "true"]);
    assert!(error.contains("namespaces \"nowhere\" not found"), "{error}");
    up.stop();
}

#[tokio::test]
async fn a_cluster_that_does_not_answer_is_reported() {
    let home = TestHome::new();
    let up = home.start(&[]);
    up.stop();
    let error = home.run_error(&["--every", "1h", "--", "true"]);
    assert!(
        error.starts_with("error: could not connect to the cluster at https://127.0.0.1:"),
        "{error}"
    );
    assert!(error.contains(": connection refused; check that its API server runs"), "{error}");
}
