//! Tests of the rules about what the runner does with Pods.

use serde_json::{Value, json};

use super::history_builder::{FIRST, HistoryBuilder, MINUTE};
use crate::history::HistoryEvent;
use crate::scenario::{CrashPoint, Fault, Millis, ProcessId};

const SLOT: i64 = FIRST + 10 * MINUTE;

fn pod_key(history: &HistoryBuilder) -> String {
    format!("/pods/default/{}", history.job_name(SLOT))
}

/// A Pod of a user that exists from this time on.
fn add_pod(history: &mut HistoryBuilder, at: Millis, more: &Value) {
    let mut pod = json!({"metadata": {"uid": "extra"}});
    for (field, value) in more.as_object().unwrap() {
        pod[field] = value.clone();
    }
    pod["metadata"]["uid"] = json!("extra");
    history.write(at, "/pods/default/extra", Some(pod));
}

fn start(history: &mut HistoryBuilder, at: Millis) {
    let job = "extra-job".into();
    history.add(at, HistoryEvent::PodStarted { pod: "extra".into(), job });
}

fn end(history: &mut HistoryBuilder, at: Millis, exit_code: i32) {
    let was_stopped = exit_code > 128;
    history.add(at, HistoryEvent::PodEnded { pod: "extra".into(), exit_code, was_stopped });
}

fn ended_status(phase: &str, exit_code: i32) -> Value {
    let terminated = json!({"state": {"terminated": {"exitCode": exit_code}}});
    json!({"status": {"phase": phase, "containerStatuses": [terminated]}})
}

fn deleted() -> Value {
    json!({"metadata": {"deletionTimestamp": "2026-03-01T10:05:00Z",
        "deletionGracePeriodSeconds": 30}})
}

#[test]
fn the_reported_result_is_that_of_the_process() {
    let wrong = [
        ended_status("Succeeded", 1),
        ended_status("Failed", 0),
        ended_status("Failed", 137),
        json!({"status": {"phase": "Failed", "containerStatuses": []}}),
    ];
    for status in wrong {
        let history = HistoryBuilder::new().with_regular_runs(&[]);
        let key = pod_key(&history);
        history.patch_writes(&key, SLOT + 10_000, &status).violates(&["pod-result"]);
    }
    // The process is still running.
    let history = HistoryBuilder::new().with_regular_runs(&[]);
    let key = pod_key(&history);
    history.patch_writes(&key, SLOT, &ended_status("Succeeded", 0)).violates(&["pod-result"]);
}

#[test]
fn a_reported_result_does_not_change() {
    for status in [json!({"status": {"phase": "Running"}}), ended_status("Failed", 1)] {
        let mut history = HistoryBuilder::new().with_regular_runs(&[]);
        let key = pod_key(&history);
        let mut pod = status;
        pod["metadata"] = json!({"uid": format!("pod-{SLOT}")});
        history.write(SLOT + 10_380, &key, Some(pod));
        history.violates(&["pod-result"]);
    }
}

#[test]
fn the_end_of_a_process_is_reported() {
    let history = || {
        let history = HistoryBuilder::new().with_regular_runs(&[]);
        let key = pod_key(&history);
        history.drop_writes(&key, SLOT + 10_350, SLOT + 10_350)
    };
    history().violates(&["unreported-pod"]);
    // It need not be while the runner is down, and then it must be.
    let down = Fault::Kill(ProcessId::JobsAndPods, 0, CrashPoint::Before);
    let late = |at: Millis| {
        let mut history = history().fault(SLOT + 10_310, SLOT + 50_000, down.clone());
        let key = pod_key(&history);
        let mut pod = ended_status("Succeeded", 0);
        pod["metadata"] = json!({"uid": format!("pod-{SLOT}")});
        history.write(at, &key, Some(pod));
        history
    };
    let rules = |report: crate::check::CheckReport| -> Vec<&str> {
        report.violations.iter().map(|found| found.rule).collect()
    };
    assert!(!rules(late(SLOT + 60_000).check()).contains(&"unreported-pod"));
    assert!(rules(late(SLOT + 90_000).check()).contains(&"unreported-pod"));
}

#[test]
fn a_pod_is_started_unless_it_is_deleted() {
    let mut history = HistoryBuilder::new().with_regular_runs(&[]);
    add_pod(&mut history, 5 * MINUTE, &json!({}));
    history.violates(&["unstarted-pod"]);
    let mut history = HistoryBuilder::new().with_regular_runs(&[]);
    add_pod(&mut history, 5 * MINUTE, &json!({}));
    add_pod(&mut history, 5 * MINUTE + 500, &deleted());
    history.write(5 * MINUTE + 600, "/pods/default/extra", None);
    history.has_no_violations();
}

/// A Pod that is deleted while it runs, and ends with this exit code.
fn stopped_pod(ended_at: Millis, removed_at: Millis) -> HistoryBuilder {
    let mut history = HistoryBuilder::new().with_regular_runs(&[]);
    let at = 5 * MINUTE;
    add_pod(&mut history, at, &json!({}));
    start(&mut history, at + 100);
    add_pod(&mut history, at + 1_000, &deleted());
    end(&mut history, at + ended_at, 143);
    history.write(at + removed_at, "/pods/default/extra", None);
    history
}

#[test]
fn the_process_of_a_deleted_pod_ends_within_the_grace_period() {
    stopped_pod(1_500, 1_600).has_no_violations();
    stopped_pod(31_000, 31_100).has_no_violations();
    stopped_pod(40_000, 40_100).violates(&["unstopped-pod"]);
}

#[test]
fn no_process_runs_when_its_object_is_gone() {
    stopped_pod(2_000, 1_500).violates(&["orphaned-process"]);
}

#[test]
fn no_more_pods_run_than_the_node_has_room_for() {
    let mut history = HistoryBuilder::new().with_regular_runs(&[]);
    history.scenario.max_pods = 1;
    history.has_no_violations();
    let mut history = HistoryBuilder::new().with_regular_runs(&[]);
    history.scenario.max_pods = 1;
    add_pod(&mut history, SLOT + 5_000, &json!({}));
    start(&mut history, SLOT + 5_100);
    end(&mut history, SLOT + 5_200, 0);
    add_pod(&mut history, SLOT + 5_300, &ended_status("Succeeded", 0));
    history.violates(&["too-many-pods"]);
}
