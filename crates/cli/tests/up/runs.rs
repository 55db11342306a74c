//! Tests of CronJobs in real time, from the slot (scheduled time) to the process and the status.

use serde_json::{Value, json};

use crate::program::{TestHome, api, log, wait_for_status};

/// Returns a CronJob manifest that runs every second.
pub(crate) fn manifest(name: &str, command: Value, more: Value) -> String {
    let annotation = |name: &str, key: &str| {
        let path = format!("metadata.annotations['{key}']");
        json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}})
    };
    let container = json!({"name": "main", "image": "any", "command": command,
    "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    "env": [
        annotation("SLOT", "batch.kubernetes.io/cronjob-scheduled-timestamp"),
        annotation("CRON_JOB_KIND", "punctual.dev/cronjob-kind"),
        annotation("CRON_JOB_NAME", "punctual.dev/cronjob-name"),
        annotation("CRON_JOB_UID", "punctual.dev/cronjob-uid"),
    ]});
    let pod = json!({"restartPolicy": "Never", "containers": [container],
        "volumes": [{"name": "data", "emptyDir": {}}]});
    let job = json!({"backoffLimit": 0, "template": {"spec": pod}});
    let mut spec = json!({"schedule": "@every 1s", "jobTemplate": {"spec": job}});
    for (field, value) in more.as_object().unwrap() {
        spec[field] = value.clone();
    }
    json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": name}, "spec": spec})
        .to_string()
}

#[tokio::test]
async fn runs_succeed_and_receive_their_slot_and_cron_job() {
    let home = TestHome::new();
    let script = json!(["/bin/sh", "-c", "echo $SLOT $CRON_JOB_KIND $CRON_JOB_NAME $CRON_JOB_UID"]);
    let more = json!({"successfulJobsHistoryLimit": 100});
    let file = home.write("hello.json", &manifest("hello", script, more));
    let up = home.start(&[&file]);
    let client = home.client().await;
    let cron_jobs = api(&client, "batch/v1", "CronJob");
    let found =
        wait_for_status(cron_jobs, "hello", |status| status["successfulRuns"].as_i64() >= Some(3))
            .await;
    assert_eq!(found.data["status"]["failedRuns"], Value::Null);
    let uid = found.metadata.uid.as_deref().unwrap();
    let pods = api(&client, "v1", "Pod").list(&Default::default()).await.unwrap();
    let ended = pods.items.iter().filter(|pod| pod.data["status"]["phase"] == "Succeeded");
    let mut count = 0;
    for pod in ended {
        let name = pod.metadata.name.as_deref().unwrap();
        let annotations = pod.metadata.annotations.as_ref().unwrap();
        let slot = &annotations["batch.kubernetes.io/cronjob-scheduled-timestamp"];
        let output = log(&client, &format!("{name}/log")).await.unwrap();
        assert_eq!(output, format!("{slot} CronJob hello {uid}\n"));
        count += 1;
    }
    assert!(count >= 3, "{count} Pods");
    up.stop();
}

#[tokio::test]
async fn a_missing_command_fails_the_job_with_a_reason() {
    let home = TestHome::new();
    let command = json!(["/no/such/program"]);
    let file = home.write("bad.json", &manifest("bad", command, json!({})));
    let up = home.start(&[&file]);
    let client = home.client().await;
    let cron_jobs = api(&client, "batch/v1", "CronJob");
    let found =
        wait_for_status(cron_jobs, "bad", |status| status["failedRuns"].as_i64() >= Some(2)).await;
    assert_eq!(found.data["status"]["successfulRuns"], Value::Null);
    let pods = api(&client, "v1", "Pod").list(&Default::default()).await.unwrap();
    let failed = pods.items.iter().find(|pod| pod.data["status"]["phase"] == "Failed").unwrap();
    let text = failed.data["status"].to_string();
    assert!(text.contains("/no/such/program"), "{text}");
    up.stop();
}

#[tokio::test]
async fn each_slot_runs_once_although_the_program_is_killed() {
    let home = TestHome::new();
    let record = home.path().join("record");
    let script = json!(["/bin/sh", "-c", format!("echo $SLOT >> {}", record.display())]);
    let more = json!({"successfulJobsHistoryLimit": 1000});
    let file = home.write("often.json", &manifest("often", script, more));
    let mut done = 0;
    for _ in 0..5 {
        let up = home.start(&[&file]);
        let client = home.client().await;
        let more_than = |status: &Value| status["successfulRuns"].as_i64() > Some(done);
        let found = wait_for_status(api(&client, "batch/v1", "CronJob"), "often", more_than).await;
        done = found.data["status"]["successfulRuns"].as_i64().unwrap();
        up.kill();
    }
    let up = home.start(&[&file]);
    let client = home.client().await;
    let patch = kube::api::Patch::Merge(json!({"spec": {"suspend": true}}));
    let cron_jobs = api(&client, "batch/v1", "CronJob");
    cron_jobs.patch("often", &Default::default(), &patch).await.unwrap();
    let found = wait_for_status(cron_jobs, "often", |status| status["active"] == Value::Null).await;
    let jobs = api(&client, "batch/v1", "Job").list(&Default::default()).await.unwrap();
    let text = std::fs::read_to_string(&record).unwrap();
    let mut slots: Vec<&str> = text.lines().collect();
    let runs = slots.len();
    slots.sort_unstable();
    slots.dedup();
    assert_eq!(slots.len(), runs, "a slot was run twice: {text}");
    assert_eq!(jobs.items.len(), runs, "every run has a Job");
    assert_eq!(found.data["status"]["successfulRuns"], runs);
    up.stop();
}

#[tokio::test]
async fn the_log_reports_runs_only_on_request_because_the_lines_report_them() {
    for (args, has_runs) in [(&[][..], false), (&["--log", "info"], true)] {
        let home = TestHome::new();
        let file = home.write("quick.json", &manifest("quick", json!(["true"]), json!({})));
        let log = home.path().join("log");
        let stderr = std::fs::File::create(&log).unwrap();
        let mut up = home.start_logging_to(stderr.into(), &[&[file.as_str()], args].concat());
        let line = up.lines.find(|line| line.as_ref().unwrap().contains(" ok after "));
        assert!(line.unwrap().unwrap().contains("default/quick-"));
        let client = home.client().await;
        let cron_jobs = api(&client, "batch/v1", "CronJob");
        wait_for_status(cron_jobs, "quick", |status| status["successfulRuns"].as_i64() >= Some(1))
            .await;
        up.stop();
        let text = std::fs::read_to_string(&log).unwrap();
        assert_eq!(text.contains("started a run"), has_runs, "{text}");
        assert_eq!(text.contains("a run ended"), has_runs, "{text}");
        // The warning about what Pods can reach of the data directory is logged at every start.
        let is_quiet = text.lines().all(|line| line.contains("data directory"));
        assert_eq!(is_quiet, !has_runs, "{text}");
    }
}
