//! Tests of `list`, `describe`, `why`, `history`, `logs`, `suspend`, `resume` and `plan` with `punctual up`.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Output, Stdio};

use kube::Client;
use kube::api::PostParams;
use serde_json::{Value, json};

use crate::program::{TestHome, UpProcess, api, wait_for_status};

impl TestHome {
    /// Returns the program without a kubeconfig, so that it finds this instance by its data directory.
    pub(crate) fn cli(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
        command.env("PUNCTUAL_DATA_DIR", self.path().join("data"));
        command.env("HOME", self.path()).env_remove("KUBECONFIG");
        command.env_remove("KUBERNETES_SERVICE_HOST");
        command.env("PUNCTUAL_TZDATA", "bundled").env("TZ", "UTC");
        command.args(args);
        command
    }

    pub(crate) fn output(&self, args: &[&str]) -> CommandOutput {
        let Output { status, stdout, stderr } = self.cli(args).output().unwrap();
        CommandOutput {
            status: status.code().unwrap(),
            stdout: String::from_utf8(stdout).unwrap(),
            stderr: String::from_utf8(stderr).unwrap(),
        }
    }

    /// Runs a command that must succeed, and returns standard output.
    pub(crate) fn ok(&self, args: &[&str]) -> String {
        let output = self.output(args);
        assert_eq!(output.status, 0, "{args:?}: {}{}", output.stdout, output.stderr);
        output.stdout
    }

    pub(crate) fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.ok(&[args, &["-o", "json"]].concat())).unwrap()
    }

    /// Runs a command that must fail with 1, and returns standard error.
    pub(crate) fn error(&self, args: &[&str]) -> String {
        let output = self.output(args);
        assert_eq!((output.status, output.stdout.as_str()), (1, ""), "{args:?}");
        output.stderr
    }
}

pub(crate) struct CommandOutput {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

pub(crate) fn cron_job(kind: &str, name: &str, schedule: &str, script: &str) -> Value {
    let api_version = if kind == "CronJob" { "batch/v1" } else { "punctual.dev/v1" };
    json!({
        "apiVersion": api_version, "kind": kind, "metadata": {"name": name, "labels": {"team": "data"}},
        "spec": {"schedule": schedule, "jobTemplate": {"spec": {"backoffLimit": 0,
            "template": {"spec": {"restartPolicy": "Never", "containers": [
                {"name": "main", "image": "any", "command": ["/bin/sh", "-c", script]}]}}}}},
    })
}

pub(crate) async fn create(client: &Client, object: Value) {
    let kind = object["kind"].as_str().unwrap().to_owned();
    let version = object["apiVersion"].as_str().unwrap().to_owned();
    let object = serde_json::from_value(object).unwrap();
    api(client, &version, &kind).create(&PostParams::default(), &object).await.unwrap();
}

/// An instance with a CronJob that succeeded and one that failed, each once.
async fn instance_with_runs() -> (TestHome, UpProcess) {
    let home = TestHome::new();
    let up = home.start(&[]);
    let client = home.client().await;
    create(&client, cron_job("CronJob", "good", "@every 1s", "echo it works")).await;
    create(&client, cron_job("CronJob", "bad", "@every 1s", "echo it broke; exit 3")).await;
    let cron_jobs = api(&client, "batch/v1", "CronJob");
    wait_for_status(cron_jobs.clone(), "good", |status| !status["successfulRuns"].is_null()).await;
    wait_for_status(cron_jobs, "bad", |status| !status["failedRuns"].is_null()).await;
    (home, up)
}

#[tokio::test]
async fn runs_are_listed_described_and_their_logs_printed() {
    let (home, up) = instance_with_runs().await;
    let table = home.ok(&["list"]);
    let header = table.lines().next().unwrap();
    assert!(header.starts_with("NAME  SCHEDULE") && header.contains("NEXT (UTC)"), "{table}");
    let failing = home.ok(&["ls", "--failing"]);
    assert!(failing.contains("bad") && !failing.contains("good"), "{failing}");
    assert_eq!(home.ok(&["list", "-o", "name"]), "cronjob.batch/bad\ncronjob.batch/good\n");
    let rows = home.json(&["list", "-A", "--sort", "name", "-l", "team=data"]);
    assert_eq!(rows["items"][0]["state"], "Failing", "{rows}");
    assert_eq!(rows["items"][1]["lastResult"], "Succeeded", "{rows}");
    let description = home.ok(&["describe", "cj/bad"]);
    for part in ["@every 1s", "Policy:", "Problems:", "Next slots", "Last slots"] {
        assert!(description.contains(part), "{part}: {description}");
    }
    assert!(home.ok(&["logs", "bad", "--failed"]).contains("it broke"));
    assert!(home.ok(&["logs", "good", "-f"]).contains("it works"));
    let history = home.json(&["history", "good", "--result", "succeeded", "--limit", "1"]);
    let job = history["items"][0]["job"]["name"].as_str().unwrap().to_owned();
    assert_eq!(history["items"][0]["decision"], "Started");
    let why = home.json(&["why", "good", &job]);
    let cause = why["slot"]["cause"].as_str().unwrap();
    assert!(["Succeeded", "JobGone", "StartedLate"].contains(&cause), "{why}");
    let csv = home.ok(&["history", "bad", "-o", "csv"]);
    assert!(csv.starts_with("slot,through,count,decision,") && csv.contains("Failed"), "{csv}");
    up.stop();
}

#[tokio::test]
async fn a_suspension_has_an_end_a_reason_and_a_user() {
    let home = TestHome::new();
    let up = home.start(&[]);
    let client = home.client().await;
    create(&client, cron_job("CronJob", "a", "0 0 1 1 *", "true")).await;
    let tried = home.ok(&["suspend", "a", "--for", "2h", "--dry-run"]);
    assert!(
        tried.starts_with("cronjob.batch/a suspended until ") && tried.contains("(server dry run)"),
        "{tried}"
    );
    assert!(!home.ok(&["list"]).contains("Suspended"), "a dry run changes nothing");
    home.ok(&["suspend", "-l", "team=data", "--for", "2h", "--reason", "db upgrade"]);
    let row = &home.json(&["list", "--suspended"])["items"][0];
    let suspension = &row["suspension"];
    assert_eq!(
        (&suspension["reason"], &suspension["by"]),
        (&json!("db upgrade"), &json!("admin")),
        "{row}"
    );
    assert!(suspension["until"].is_string(), "{row}");
    let why = home.ok(&["why", "a"]);
    assert!(why.starts_with("default/a now: nothing starts: the CronJob is suspended"), "{why}");
    assert!(why.contains("db upgrade") && why.contains("punctual resume a"), "{why}");
    let tried = home.ok(&["resume", "a", "--dry-run"]);
    assert!(
        tried.contains("no slot would start at once") && tried.contains("next run:"),
        "{tried}"
    );
    home.ok(&["resume", "cj/a"]);
    assert_eq!(home.ok(&["resume", "cj/a"]), "cronjob.batch/a was not suspended\n");
    let object = api(&client, "batch/v1", "CronJob").get("a").await.unwrap();
    let annotations = serde_json::to_string(&object.metadata.annotations).unwrap();
    assert!(!annotations.contains("punctual.dev/suspended"), "{annotations}");
    let past = home.error(&["suspend", "a", "--until", "2020-01-01T00:00:00Z"]);
    assert!(past.contains("which has passed; choose a later time"), "{past}");
    up.stop();
}

#[tokio::test]
async fn a_name_of_two_objects_needs_a_type() {
    let home = TestHome::new();
    let up = home.start(&[]);
    let client = home.client().await;
    create(&client, cron_job("CronJob", "both", "0 0 1 1 *", "true")).await;
    create(&client, cron_job("ScheduledJob", "both", "0 0 1 1 *", "true")).await;
    create(&client, cron_job("ScheduledJob", "ours", "0 0 1 1 *", "true")).await;
    let error = home.error(&["why", "both"]);
    assert_eq!(
        error,
        "error: \"both\" is a CronJob and a ScheduledJob; write cronjob/both or scheduledjob/both\n"
    );
    assert!(home.ok(&["why", "sj/both"]).starts_with("default/both now: "));
    assert!(home.ok(&["describe", "ours"]).starts_with("ScheduledJob default/ours\n"));
    let table = home.ok(&["list"]);
    assert!(table.contains("cj/both ") && table.contains("sj/both "), "{table}");
    let error = home.error(&["why", "none"]);
    assert!(
        error.contains("no CronJob or ScheduledJob \"none\" in namespace \"default\""),
        "{error}"
    );
    assert!(home.error(&["why", "pods/a"]).contains("is not a type of CronJob"));
    let error = home.error(&["why", "ours", "noon"]);
    assert!(error.contains("\"noon\" is not a slot; write"), "{error}");
    let error = home.error(&["logs", "ours"]);
    assert!(error.contains("no run of default/ours is known"), "{error}");
    up.stop();
}

#[tokio::test]
async fn a_plan_compares_manifests_with_the_cluster() {
    let home = TestHome::new();
    let up = home.start(&[]);
    let client = home.client().await;
    let before = cron_job("CronJob", "a", "0 2 * * *", "true");
    create(&client, before.clone()).await;
    create(&client, cron_job("CronJob", "other", "0 3 * * *", "true")).await;
    let unchanged = home.write("same.json", &before.to_string());
    let output = home.output(&["plan", "-f", &unchanged]);
    assert_eq!(
        (output.status, output.stdout.as_str()),
        (0, "cronjob.batch/a in default: no change\n"),
        "{}",
        output.stderr
    );
    let mut edited = before;
    edited["spec"]["schedule"] = json!("0 2,3 * * *");
    let changed = home.write("changed.json", &edited.to_string());
    let output = home.output(&["plan", "-f", &changed, "--for", "3d"]);
    let text = output.stdout;
    assert_eq!(output.status, 1, "{text}{}", output.stderr);
    for part in [
        "spec.schedule: \"0 2 * * *\" -> \"0 2,3 * * *\"",
        "3 before, 6 after",
        "3 gained: ",
        "nothing starts at once",
        "same minute as default/other: 3 times",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    edited["metadata"]["name"] = json!("new");
    let created = home.write("new.json", &edited.to_string());
    let output = home.output(&["plan", "-f", &created, "-o", "json"]);
    let plan: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!((output.status, &plan["items"][0]["isNew"]), (1, &json!(true)), "{plan}");
    let output = home.output(&["plan", "-f", "/nonexistent.yaml"]);
    assert_eq!((output.status, output.stdout.as_str()), (2, ""), "{}", output.stderr);
    let forecast = home.json(&["plan", "--for", "2d"]);
    assert_eq!((&forecast["starts"], &forecast["cronJobs"]), (&json!(4), &json!(2)), "{forecast}");
    up.stop();
}

#[tokio::test]
async fn a_watch_prints_a_row_when_it_changes() {
    let home = TestHome::new();
    let up = home.start(&[]);
    let client = home.client().await;
    create(&client, cron_job("CronJob", "a", "0 0 1 1 *", "true")).await;
    let mut watch = home.cli(&["list", "-w"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.next().unwrap().starts_with("NAME"));
    assert!(lines.next().unwrap().starts_with("a "));
    home.ok(&["suspend", "a", "--reason", "holiday"]);
    let changed = lines.next().unwrap();
    assert!(
        changed.starts_with("a ") && changed.ends_with("Suspended: holiday (admin)"),
        "{changed}"
    );
    watch.kill().unwrap();
    watch.wait().unwrap();
    up.stop();
}

#[test]
fn without_a_cluster_the_error_says_what_to_do() {
    let home = TestHome::new();
    let error = home.error(&["list"]);
    assert!(error.contains("no cluster found") && error.contains("set --kubeconfig"), "{error}");
    assert!(error.lines().count() == 1, "{error}");
}

#[test]
fn a_link_makes_the_program_a_plugin_of_kubectl() {
    let home = TestHome::new();
    let link = home.path().join("kubectl-punctual");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_punctual"), &link).unwrap();
    let run = |args: &[&str]| {
        let output = Command::new(&link).args(args).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let help = run(&["why", "--help"]);
    assert!(help.contains("Usage: kubectl punctual why "), "{help}");
    let script = run(&["completions", "bash"]);
    assert!(script.contains("kubectl-punctual"), "{script}");
}
