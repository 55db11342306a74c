//! Tests of startup, shutdown and the lock of the data directory.

use std::net::TcpListener;

use kube::ResourceExt as _;
use kube::api::ListParams;
use rustix::process::Signal;
use serde_json::Value;

use crate::program::{TestHome, api, examples, wait_for_status};

#[tokio::test]
async fn applying_the_examples_again_changes_nothing() {
    let home = TestHome::new();
    let up = home.start(&[&examples()]);
    assert!(up.output[0].starts_with("serving https://127.0.0.1:"), "{:?}", up.output);
    assert!(up.output[1].starts_with("kubeconfig /"), "{:?}", up.output);
    let applied = up.output[2..up.output.len() - 1].to_vec();
    assert!(applied.iter().all(|line| line.ends_with(" created")), "{applied:?}");
    let client = home.client().await;
    let cron_jobs = api(&client, "batch/v1", "CronJob");
    let found = cron_jobs.list(&ListParams::default()).await.unwrap();
    let found: Vec<String> = found.iter().map(|cron_job| cron_job.name_any()).collect();
    let want = [
        "backup",
        "cleanup",
        "hello",
        "hourly",
        "new-year",
        "opening-berlin",
        "opening-new-york",
        "report",
    ];
    assert_eq!(found, want);
    let nodes = kube::Api::<kube::api::DynamicObject>::all_with(
        client,
        &kube::api::ApiResource::from_gvk(&kube::core::GroupVersionKind::gvk("", "v1", "Node")),
    );
    assert_eq!(nodes.list(&ListParams::default()).await.unwrap().items.len(), 1);
    let output = up.stop();
    assert!(output.lines().last().unwrap().starts_with("stopped"), "{output}");

    let up = home.start(&[&examples()]);
    let again = up.output[2..up.output.len() - 1].to_vec();
    assert_eq!(again.len(), applied.len());
    assert!(again.iter().all(|line| line.ends_with(" unchanged")), "{again:?}");
    up.stop();
}

#[test]
fn it_runs_without_manifests_and_stops_on_ctrl_c() {
    let home = TestHome::new();
    let mut up = home.start(&[]);
    assert_eq!(up.output.len(), 3, "{:?}", up.output);
    up.signal(Signal::INT);
    assert!(up.child.wait().unwrap().success());
}

#[test]
fn signals_close_together_count_as_one() {
    let home = TestHome::new();
    let mut up = home.start(&[]);
    for signal in [Signal::INT, Signal::INT, Signal::TERM, Signal::INT] {
        up.signal(signal);
    }
    assert!(up.child.wait().unwrap().success());
}

#[test]
fn a_second_process_reports_the_process_that_holds_the_data() {
    let home = TestHome::new();
    let up = home.start(&[]);
    let output = home.start_error(&[]);
    assert!(output.contains(&format!("in use by process {}", up.child.id())), "{output}");
    up.stop();
}

#[test]
fn an_address_in_use_is_reported() {
    let home = TestHome::new();
    let holder = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = holder.local_addr().unwrap().to_string();
    let output = home.command_at(&taken, &[]).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains(&format!("could not listen on {taken}")), "{stderr}");
}

#[test]
fn every_file_that_a_start_creates_is_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = TestHome::new();
    home.start(&[]).stop();
    let files = std::fs::read_dir(home.path().join("data")).unwrap().map(Result::unwrap);
    let modes: Vec<_> = files
        .map(|file| (file.file_name(), file.metadata().unwrap().permissions().mode()))
        .collect();
    assert!(modes.len() > 3, "{modes:?}");
    for (name, mode) in modes {
        assert_eq!(mode & 0o077, 0, "{name:?} has the mode {mode:o}");
    }
}

#[test]
fn a_node_name_cannot_be_changed() {
    let home = TestHome::new();
    home.start(&["--node-name", "one"]).stop();
    home.start(&[]).stop();
    let output = home.start_error(&["--node-name", "two"]);
    assert!(output.contains("is named \"one\""), "{output}");
}

#[tokio::test]
async fn the_dialect_and_the_feature_gates_can_be_set() {
    let home = TestHome::new();
    let up = home.start(&["--dialect", "kubernetes", "--feature-gates", "OneShot=false"]);
    let error = home.run_error(&["--at", "2100-01-01T00:00", "--kind", "CronJob", "--", "true"]);
    assert!(error.contains("unrecognized descriptor: @at"), "{error}");
    home.run_ok(&["--at", "2100-01-01T00:00", "--name", "once", "--", "true"]);
    let scheduled_jobs = api(&home.client().await, "punctual.dev/v1", "ScheduledJob");
    let is_named = |status: &Value| status["conditions"].to_string().contains("FeatureDisabled");
    wait_for_status(scheduled_jobs, "once", is_named).await;
    up.stop();
}
