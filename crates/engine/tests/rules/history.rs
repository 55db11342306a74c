//! Tests of history limits and of the counts of finished Jobs.

use serde_json::json;

use crate::fixture::{fixture, job_name};

const HOURS: [&str; 4] = [
    "2026-03-01T07:00:00Z",
    "2026-03-01T08:00:00Z",
    "2026-03-01T09:00:00Z",
    "2026-03-01T10:00:00Z",
];
const NOW: &str = "2026-03-01T10:20:00Z";

#[test]
fn the_successful_history_limit_keeps_the_latest_jobs() {
    let mut fixture = fixture(json!({"successfulJobsHistoryLimit": 2})).last_scheduled(HOURS[3]);
    for slot in HOURS {
        fixture = fixture.job(slot, "Complete");
    }
    assert_eq!(fixture.reconcile_at(NOW).deleted, [job_name(HOURS[0]), job_name(HOURS[1])]);
}

#[test]
fn the_failed_history_limit_keeps_the_latest_jobs() {
    let mut fixture = fixture(json!({"failedJobsHistoryLimit": 1})).last_scheduled(HOURS[3]);
    for slot in &HOURS[1..] {
        fixture = fixture.job(slot, "Failed");
    }
    assert_eq!(fixture.reconcile_at(NOW).deleted, [job_name(HOURS[1]), job_name(HOURS[2])]);
}

#[test]
fn a_history_limit_of_0_keeps_no_job_and_still_counts() {
    let fixture = fixture(json!({"successfulJobsHistoryLimit": 0}))
        .last_scheduled(HOURS[3])
        .active_entry(HOURS[3]);
    let result = fixture.job(HOURS[3], "Complete").reconcile_at(NOW);
    assert_eq!(result.deleted, [job_name(HOURS[3])]);
    assert_eq!(result.status.successful_runs, 1);
    assert_eq!(result.status.last_successful_time.map(|time| time.to_string()).unwrap(), HOURS[3]);
    assert!(result.settled.status.is_some(), "the count is written before the Job is deleted");
}

#[test]
fn history_limits_apply_while_suspended() {
    let fixture =
        fixture(json!({"suspend": true, "failedJobsHistoryLimit": 0})).last_scheduled(HOURS[3]);
    assert_eq!(fixture.job(HOURS[2], "Failed").reconcile_at(NOW).deleted, [job_name(HOURS[2])]);
}

#[test]
fn each_finished_job_is_counted_once() {
    let fixture =
        fixture(json!({})).last_scheduled(HOURS[3]).active_entry(HOURS[2]).active_entry(HOURS[3]);
    let result = fixture.job(HOURS[2], "Failed").job(HOURS[3], "Complete").reconcile_at(NOW);
    let status = &result.status;
    assert_eq!((status.successful_runs, status.failed_runs), (1, 1));
    // Jobs that are not in `status.active` were counted before.
    let again = crate::fixture::fixture(json!({}))
        .status(serde_json::to_value(status).unwrap())
        .job(HOURS[2], "Failed")
        .job(HOURS[3], "Complete");
    let again = again.reconcile_at(NOW);
    assert!(again.settled.status.is_none() && again.events.is_empty());
}

#[test]
fn an_unrecorded_finished_job_is_recorded_and_counted() {
    let result =
        fixture(json!({})).last_scheduled(HOURS[2]).job(HOURS[3], "Complete").reconcile_at(NOW);
    assert_eq!((result.created.as_ref(), result.last_slot().as_deref()), (None, Some(HOURS[3])));
    assert_eq!((result.status.successful_runs, result.active.len()), (1, 0));
}

#[test]
fn a_success_resets_failures_since_success() {
    let failed =
        fixture(json!({})).last_scheduled(HOURS[3]).active_entry(HOURS[3]).job(HOURS[3], "Failed");
    let status =
        failed.status(json!({"failuresSinceSuccess": 4, "failedRuns": 9})).reconcile_at(NOW).status;
    assert_eq!((status.failures_since_success, status.failed_runs), (5, 10));
    let good = fixture(json!({}))
        .last_scheduled(HOURS[3])
        .active_entry(HOURS[3])
        .job(HOURS[3], "Complete");
    let status =
        good.status(json!({"failuresSinceSuccess": 4, "failedRuns": 9})).reconcile_at(NOW).status;
    assert_eq!((status.failures_since_success, status.failed_runs), (0, 9));
}

#[test]
fn the_finalizer_stays_until_the_job_is_counted() {
    let with_finalizer = json!({"finalizers": ["punctual.dev/slot-recorded"]});
    let running = fixture(json!({})).last_scheduled(HOURS[3]).active_entry(HOURS[3]);
    let running = running.job_with(HOURS[3], "", with_finalizer.clone()).reconcile_at(NOW);
    assert_eq!(running.settled.finalizers_to_remove.len(), 0);
    let finished = fixture(json!({})).last_scheduled(HOURS[3]).active_entry(HOURS[3]);
    let finished = finished.job_with(HOURS[3], "Complete", with_finalizer).reconcile_at(NOW);
    assert_eq!(finished.settled.finalizers_to_remove[0].name, job_name(HOURS[3]));
    assert_eq!(finished.status.successful_runs, 1);
}
