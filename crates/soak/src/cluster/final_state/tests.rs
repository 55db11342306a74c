//! Tests of the comparison of statuses with recorded Jobs.

use serde_json::json;

use super::{
    super::{recorded_jobs::ObservedAt, workload::WorkloadSpec},
    *,
};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// Of the slots 120, 140 and 160 the second has no Job.
fn found(status: Value) -> Vec<String> {
    let spec = WorkloadSpec::for_test(ConcurrencyPolicy::Allow, 20, Some(15));
    let object = WorkloadObject { spec, uid: "u".into(), created: at(100) };
    let job = |slot: i64| {
        let observed = ObservedAt { version: slot.unsigned_abs(), at: at(slot) };
        let mut job = RecordedJob::for_test(&slot.to_string(), at(slot), observed);
        job.end = Some((observed, RecordedEnd::Complete));
        job
    };
    let jobs = [job(120), job(160)];
    let stored = json!({"metadata": {"uid": "u"}, "status": status});
    let suspended = TimeSpan { from: at(170), to: at(171) };
    violations(&object, &[stored], &jobs.each_ref(), suspended)
}

fn status(last: i64, successful: usize, failed: usize, missed: usize) -> Value {
    json!({"lastScheduleTime": at(last).to_string(), "successfulRuns": successful,
           "failedRuns": failed, "missedRuns": missed})
}

#[test]
fn a_status_must_agree_with_the_recorded_jobs() {
    assert_eq!(found(status(160, 2, 1, 1)), Vec::<String>::new());
    for wrong in [status(140, 2, 1, 1), status(160, 1, 1, 1), status(160, 2, 2, 1)] {
        assert_eq!(found(wrong.clone()).len(), 1, "{wrong}");
    }
    assert_eq!(found(status(160, 2, 0, 0)), ["a counts 0 missed slots, not 1 to 1"]);
}

#[test]
fn the_active_jobs_of_a_status_must_be_active() {
    let mut status = status(160, 2, 1, 1);
    status["active"] = json!([{"uid": "160"}]);
    assert_eq!(found(status).len(), 1);
}
