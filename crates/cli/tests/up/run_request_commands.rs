//! Tests of `trigger`, `backfill` and `resume --missed` with `punctual up`.

use kube::api::{ListParams, Patch, PatchParams};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use crate::cron_job_commands::{create, cron_job};
use crate::program::{TestHome, api, wait_for_status};

/// A schedule with no slot during a test.
const NEVER: &str = "0 0 29 2 1";

#[tokio::test]
async fn trigger_exits_with_the_result_of_the_run() {
    let home = TestHome::new();
    let up = home.start(&[]);
    let client = home.client().await;
    create(&client, cron_job("CronJob", "good", NEVER, "echo it works")).await;
    create(&client, cron_job("ScheduledJob", "bad", NEVER, "echo it broke; exit 3")).await;
    let good = home.output(&["trigger", "good", "--wait"]);
    assert_eq!(good.status, 0, "{}{}", good.stdout, good.stderr);
    assert!(good.stdout.starts_with("the run of runrequest.punctual.dev/good-"), "{}", good.stdout);
    assert!(good.stdout.ends_with(" succeeded\n"), "{}", good.stdout);
    let bad = home.output(&["trigger", "sj/bad", "--wait", "-o", "json"]);
    assert_eq!(bad.status, 1, "{}{}", bad.stdout, bad.stderr);
    let finished: Value = serde_json::from_str(&bad.stdout).unwrap();
    assert_eq!(finished["status"]["failed"], 1, "{finished}");
    let followed = home.output(&["trigger", "good", "-f"]);
    assert_eq!((followed.status, followed.stdout.as_str()), (0, "it works\n"));
    assert!(followed.stderr.contains("succeeded"), "{}", followed.stderr);
    let history = home.json(&["history", "good"]);
    assert_eq!(history["items"][0]["reason"], "Requested", "{history}");
    let request = history["items"][0]["request"].as_str().unwrap().to_owned();
    assert!(request.starts_with("good-"), "{history}");
    up.stop();
}

#[tokio::test]
async fn trigger_creates_one_request_and_says_how_to_follow_it() {
    let home = TestHome::new();
    let up = home.start(&[]);
    let client = home.client().await;
    create(&client, cron_job("CronJob", "a", NEVER, "true")).await;
    let text = home.ok(&["trigger", "cj/a"]);
    assert!(text.starts_with("runrequest.punctual.dev/a-") && text.contains("--watch"), "{text}");
    let name = home.ok(&["trigger", "a", "--policy", "replace", "-o", "name"]);
    let name = name.trim().strip_prefix("runrequest.punctual.dev/").unwrap().to_owned();
    let requests = api(&client, "punctual.dev/v1", "RunRequest");
    assert_eq!(requests.list(&ListParams::default()).await.unwrap().items.len(), 2);
    let spec = requests.get(&name).await.unwrap().data["spec"].clone();
    let target = json!({"kind": "CronJob", "name": "a"});
    assert_eq!(spec, json!({"target": target, "now": true, "concurrencyPolicy": "Replace"}));
    let slot = "2024-02-29T00:00:00Z";
    let created = home.json(&["trigger", "a", "--slot", slot]);
    assert_eq!(created["spec"]["slots"], json!([slot]), "{created}");
    assert_eq!(created["spec"]["runs"], "All", "{created}");
    let future = home.error(&["trigger", "a", "--slot", "2999-01-01T00:00:00Z"]);
    assert!(future.contains("in the future"), "{future}");
    assert!(home.error(&["trigger", "none"]).contains("no CronJob or ScheduledJob \"none\""));
    up.stop();
}

#[tokio::test]
async fn ctrl_c_stops_waiting_and_not_the_run() {
    let home = TestHome::new();
    let up = home.start(&[]);
    let client = home.client().await;
    create(&client, cron_job("CronJob", "slow", NEVER, "echo started; sleep 60")).await;
    let mut command = home.cli(&["trigger", "slow", "-f"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "started");
    let pid = Pid::from_raw(child.id().try_into().unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("goes on without this command"), "{stderr}");
    let active = home.json(&["list"]);
    assert_eq!(active["items"][0]["active"], 1, "{active}");
    up.stop();
}

/// Creates a CronJob whose slots of some seconds were skipped, and suspends it.
async fn instance_with_skipped_slots(home: &TestHome) -> String {
    let client = home.client().await;
    let mut object = cron_job("CronJob", "report", "@every 1s", "sleep 4");
    object["spec"]["concurrencyPolicy"] = json!("Forbid");
    create(&client, object).await;
    let cron_jobs = api(&client, "batch/v1", "CronJob");
    let has_skipped = |status: &Value| status["skippedRuns"].as_i64() >= Some(2);
    wait_for_status(cron_jobs.clone(), "report", has_skipped).await;
    // From now on, runs are short.
    let container = json!({"name": "main", "command": ["/bin/sh", "-c", "echo $PUNCTUAL"]});
    let template = json!({"template": {"spec": {"containers": [container]}}});
    let patch = json!({"spec": {"suspend": true, "jobTemplate": {"spec": template}}});
    let patch = Patch::Strategic(patch);
    cron_jobs.patch("report", &PatchParams::default(), &patch).await.unwrap();
    let is_idle = |status: &Value| {
        !status["suspendedSince"].is_null() && status["active"].as_array().is_none_or(Vec::is_empty)
    };
    let object = wait_for_status(cron_jobs, "report", is_idle).await;
    object.metadata.creation_timestamp.unwrap().0.to_string()
}

#[tokio::test]
async fn backfill_shows_and_runs_what_was_skipped() {
    let home = TestHome::new();
    let up = home.start(&[]);
    let from = instance_with_skipped_slots(&home).await;
    // Slots in the future are left to the schedule.
    let interval = ["backfill", "report", "--from", &from, "--to", "2999-01-01"];
    let with = |more: &[&'static str]| [&interval[..], more].concat();
    let preview = home.ok(&with(&["--dry-run"]));
    assert!(
        preview.starts_with("SLOT (UTC)") && preview.contains("skipped (ConcurrencyForbidden)"),
        "{preview}"
    );
    let preview = home.json(&with(&["--dry-run"]));
    let runs = preview["runs"].as_i64().unwrap();
    assert!(runs >= 2, "{preview}");
    let items = preview["items"].as_array().unwrap();
    let would_run = items.iter().filter(|item| item["wouldRun"] == true).count();
    assert_eq!(would_run, usize::try_from(runs).unwrap());
    assert!(items.iter().any(|item| item["state"] == "Succeeded" && item["wouldRun"] == false));
    let requests = api(&home.client().await, "punctual.dev/v1", "RunRequest");
    assert!(requests.list(&ListParams::default()).await.unwrap().items.is_empty());
    let waited = home.output(&with(&["--parallel", "3", "--newest-first", "--wait"]));
    assert_eq!(waited.status, 0, "{}{}", waited.stdout, waited.stderr);
    let end = format!("{runs} runs succeeded, 0 failed, 0 were skipped\n");
    assert!(waited.stdout.ends_with(&end), "{}", waited.stdout);
    let last = format!("{runs} of {runs} ended, 0 active");
    assert!(waited.stderr.contains(&last), "{}", waited.stderr);
    let again = home.output(&interval);
    assert!(again.stderr.contains("no slot has to run") && again.status == 0, "{}", again.stderr);
    up.stop();
}

#[tokio::test]
async fn backfill_refuses_wrong_and_too_long_intervals() {
    let home = TestHome::new();
    let up = home.start(&[]);
    let client = home.client().await;
    create(&client, cron_job("CronJob", "a", "* * * * *", "true")).await;
    for (from, to, want) in [
        ("2026-01-02", "2026-01-02T00:00:00Z", "is not later than --from"),
        ("yesterday", "2026-01-02", "--from is invalid"),
        ("2020-01-01", "2026-01-02", "TooManySlots"),
    ] {
        let error = home.error(&["backfill", "a", "--from", from, "--to", to, "--runs", "all"]);
        assert!(error.contains(want), "{error}");
    }
    up.stop();
}

#[tokio::test]
async fn resume_can_run_all_or_none_of_the_slots_of_the_suspension() {
    let home = TestHome::new();
    let up = home.start(&[]);
    instance_with_skipped_slots(&home).await;
    let client = home.client().await;
    let cron_jobs = api(&client, "batch/v1", "CronJob");
    let all = home.ok(&["resume", "report", "--missed", "all", "--dry-run"]);
    assert!(all.contains("would start at once"), "{all}");
    let none = home.ok(&["resume", "report", "--missed", "drop", "--dry-run"]);
    assert!(none.contains("no slot would start at once"), "{none}");
    let latest = home.ok(&["resume", "report", "--missed", "latest", "--dry-run=client"]);
    assert!(latest.contains("would start at once"), "{latest}");
    home.ok(&["resume", "report", "--missed", "drop"]);
    let resumed = cron_jobs.get("report").await.unwrap();
    assert_eq!(resumed.data["spec"]["suspend"], false);
    up.stop();
}
