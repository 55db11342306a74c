//! Tests of the checks of the final state.

use punctual_testing::ConcurrencyPolicy;
use serde_json::json;

use super::{
    super::event_log::{RunEvent, RunEventKind},
    *,
};

fn state(job_condition: &str, phase: &str, status: Value) -> FinalState {
    let job = json!({"metadata": {"name": "a-1", "ownerReferences": [{"name": "a"}]},
        "status": {"active": 1, "conditions": [{"type": job_condition, "status": "True"}]}});
    FinalState {
        cron_jobs: vec![json!({"metadata": {"name": "a"}, "status": status})],
        jobs: vec![job],
        pods: vec![json!({"metadata": {"name": "a-1-x"}, "status": {"phase": phase}})],
        supervisors: 0,
    }
}

fn event_log(runs: usize) -> RunEventLog {
    let event =
        RunEvent { kind: RunEventKind::Begin, slot: Default::default(), pod: "a-1-x".into() };
    RunEventLog { name: "a".into(), policy: ConcurrencyPolicy::Allow, events: vec![event; runs] }
}

#[test]
fn unfinished_objects_are_reported() {
    let idle = state("Complete", "Succeeded", json!({"successfulRuns": 1}));
    assert_eq!(idle.unfinished(), Vec::<String>::new());
    let active = state("Suspended", "Running", json!({"active": [{}]}));
    let expected = ["Job a-1 has not ended", "Pod a-1-x is Running", "a has active Jobs"];
    assert_eq!(active.unfinished(), expected);
    assert_eq!(FinalState { supervisors: 2, ..idle }.unfinished(), ["2 supervisors run"]);
}

#[test]
fn a_failed_job_is_reported() {
    assert_eq!(state("Failed", "Failed", json!({})).failed(), ["Job a-1 failed"]);
}

#[test]
fn counters_must_equal_the_event_log() {
    let is_wrong =
        |status| state("Complete", "Succeeded", status).wrong_counters(&event_log(2)).is_some();
    assert!(!is_wrong(json!({"successfulRuns": 2})));
    assert!(is_wrong(json!({"successfulRuns": 1})));
    assert!(is_wrong(json!({"successfulRuns": 2, "failedRuns": 1})));
    assert!(is_wrong(json!({"successfulRuns": 2, "missedRuns": 1})));
}

#[test]
fn a_cron_job_that_keeps_all_jobs_has_one_for_each_run() {
    let cron_job = |keeps_all_jobs| MinutelyCronJob::for_test("a", keeps_all_jobs);
    let count = state("Complete", "Succeeded", json!({})).jobs_by_owner()["a"];
    assert_eq!(wrong_job_count(&cron_job(true), &event_log(1), count), None);
    let wrong = wrong_job_count(&cron_job(true), &event_log(2), count);
    assert_eq!(wrong.as_deref(), Some("a has 1 Jobs, not 2"));
    assert_eq!(wrong_job_count(&cron_job(false), &event_log(2), count), None);
}
