use serde_json::json;

use super::{
    super::{
        diary::{Entry, Mark},
        fleet::Policy,
    },
    *,
};

fn objects(value: serde_json::Value) -> Vec<Object> {
    serde_json::from_value(value).unwrap()
}

fn job(condition: &str) -> serde_json::Value {
    json!({"metadata": {"name": "a-1", "ownerReferences": [{"name": "a"}]},
           "status": {"active": 1, "conditions": [{"type": condition, "status": "True"}]}})
}

fn seen(job_condition: &str, phase: &str, status: serde_json::Value) -> Seen {
    Seen {
        cron_jobs: objects(json!([{"metadata": {"name": "a"}, "status": status}])),
        jobs: objects(json!([job(job_condition)])),
        pods: objects(json!([{"metadata": {"name": "a-1-x"}, "status": {"phase": phase}}])),
        supervisors: 0,
    }
}

fn diary(runs: usize) -> Diary {
    let entry = Entry { mark: Mark::Begin, slot: Default::default(), pod: "a-1-x".into() };
    Diary { name: "a".into(), policy: Policy::Allow, entries: vec![entry; runs] }
}

#[test]
fn what_has_not_ended_is_told() {
    let over = seen("Complete", "Succeeded", json!({"successfulRuns": 1}));
    assert_eq!(over.pending(), Vec::<String>::new());
    let alive = seen("Suspended", "Running", json!({"active": [{}]}));
    let words = ["Job a-1 has not ended", "Pod a-1-x is Running", "a has active Jobs"];
    assert_eq!(alive.pending(), words);
    assert_eq!(Seen { supervisors: 2, ..over }.pending(), ["2 supervisors run"]);
}

#[test]
fn a_job_that_failed_is_told() {
    assert_eq!(seen("Failed", "Failed", json!({})).failed(), ["Job a-1 failed"]);
}

#[test]
fn counters_must_be_those_of_the_diary() {
    let counted = |status| seen("Complete", "Succeeded", status).miscounted(&diary(2)).is_some();
    assert!(!counted(json!({"successfulRuns": 2})));
    assert!(counted(json!({"successfulRuns": 1})));
    assert!(counted(json!({"successfulRuns": 2, "failedRuns": 1})));
    assert!(counted(json!({"successfulRuns": 2, "missedRuns": 1})));
}

#[test]
fn who_keeps_all_jobs_has_all_of_them() {
    let over = seen("Complete", "Succeeded", json!({}));
    let keeping = |keeps_all| CronJob::for_test("a", keeps_all);
    assert_eq!(over.mislaid(&keeping(true), &diary(1)), None);
    assert_eq!(over.mislaid(&keeping(true), &diary(2)), Some("a has 1 Jobs, not 2".into()));
    assert_eq!(over.mislaid(&keeping(false), &diary(2)), None);
}
