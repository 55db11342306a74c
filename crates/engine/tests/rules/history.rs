//! History limits, and what is counted when.

use serde_json::json;

use crate::scene::{name, scene};

const HOURS: [&str; 4] = [
    "2026-03-01T07:00:00Z",
    "2026-03-01T08:00:00Z",
    "2026-03-01T09:00:00Z",
    "2026-03-01T10:00:00Z",
];
const NOW: &str = "2026-03-01T10:20:00Z";

#[test]
fn the_successful_history_limit_keeps_the_latest() {
    let mut scene = scene(json!({"successfulJobsHistoryLimit": 2})).last(HOURS[3]);
    for slot in HOURS {
        scene = scene.job(slot, "Complete");
    }
    assert_eq!(scene.at(NOW).deleted, [name(HOURS[0]), name(HOURS[1])]);
}

#[test]
fn the_failed_history_limit_keeps_the_latest() {
    let mut scene = scene(json!({"failedJobsHistoryLimit": 1})).last(HOURS[3]);
    for slot in &HOURS[1..] {
        scene = scene.job(slot, "Failed");
    }
    assert_eq!(scene.at(NOW).deleted, [name(HOURS[1]), name(HOURS[2])]);
}

#[test]
fn a_history_limit_of_0_keeps_none_and_still_counts() {
    let scene = scene(json!({"successfulJobsHistoryLimit": 0})).last(HOURS[3]).listed(HOURS[3]);
    let done = scene.job(HOURS[3], "Complete").at(NOW);
    assert_eq!(done.deleted, [name(HOURS[3])]);
    assert_eq!(done.status.successful_runs, 1);
    assert_eq!(done.status.last_successful_time.map(|time| time.to_string()).unwrap(), HOURS[3]);
    assert!(done.settled.status.is_some(), "the count is written before the Job goes");
}

#[test]
fn history_is_kept_also_while_suspended() {
    let scene = scene(json!({"suspend": true, "failedJobsHistoryLimit": 0})).last(HOURS[3]);
    assert_eq!(scene.job(HOURS[2], "Failed").at(NOW).deleted, [name(HOURS[2])]);
}

#[test]
fn each_end_is_counted_once() {
    let scene = scene(json!({})).last(HOURS[3]).listed(HOURS[2]).listed(HOURS[3]);
    let done = scene.job(HOURS[2], "Failed").job(HOURS[3], "Complete").at(NOW);
    let status = &done.status;
    assert_eq!((status.successful_runs, status.failed_runs), (1, 1));
    // Those that are off the list were counted before.
    let again = crate::scene::scene(json!({}))
        .status(serde_json::to_value(status).unwrap())
        .job(HOURS[2], "Failed")
        .job(HOURS[3], "Complete");
    let again = again.at(NOW);
    assert!(again.settled.status.is_none() && again.events.is_empty());
}

#[test]
fn an_end_that_was_never_recorded_is_recorded_and_counted() {
    let done = scene(json!({})).last(HOURS[2]).job(HOURS[3], "Complete").at(NOW);
    assert_eq!((done.created.as_ref(), done.last().as_deref()), (None, Some(HOURS[3])));
    assert_eq!((done.status.successful_runs, done.active.len()), (1, 0));
}

#[test]
fn failures_since_success_start_anew_with_a_success() {
    let failed = scene(json!({})).last(HOURS[3]).listed(HOURS[3]).job(HOURS[3], "Failed");
    let status = failed.status(json!({"failuresSinceSuccess": 4, "failedRuns": 9})).at(NOW).status;
    assert_eq!((status.failures_since_success, status.failed_runs), (5, 10));
    let good = scene(json!({})).last(HOURS[3]).listed(HOURS[3]).job(HOURS[3], "Complete");
    let status = good.status(json!({"failuresSinceSuccess": 4, "failedRuns": 9})).at(NOW).status;
    assert_eq!((status.failures_since_success, status.failed_runs), (0, 9));
}

#[test]
fn a_job_with_a_time_to_live_is_held_until_its_end_is_counted() {
    let held = json!({"finalizers": ["punctual.dev/slot-recorded"]});
    let running = scene(json!({})).last(HOURS[3]).listed(HOURS[3]);
    let running = running.job_with(HOURS[3], "", held.clone()).at(NOW);
    assert_eq!(running.settled.finalizers_to_remove.len(), 0);
    let ended = scene(json!({})).last(HOURS[3]).listed(HOURS[3]);
    let ended = ended.job_with(HOURS[3], "Complete", held).at(NOW);
    assert_eq!(ended.settled.finalizers_to_remove[0].name, name(HOURS[3]));
    assert_eq!(ended.status.successful_runs, 1);
}
