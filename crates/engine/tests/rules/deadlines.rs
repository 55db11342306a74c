//! Starting deadlines, misses, and very many missed slots.

use punctual_engine::cronjob::StartDecision;
use serde_json::json;

use crate::scene::{name, scene};

const TEN: &str = "2026-03-01T10:00:00Z";

#[test]
fn deadline_0_never_runs_and_says_so() {
    let done = scene(json!({"startingDeadlineSeconds": 0})).last(TEN).at("2026-03-01T11:00:00Z");
    assert_eq!((done.created.as_ref(), &done.verdict), (None, &StartDecision::NotDue));
    assert_eq!(done.condition("Settled").as_deref(), Some("False NeverRuns"));
    assert_eq!(done.status.missed_runs, 1);
}

#[test]
fn a_long_deadline_starts_a_late_slot() {
    let scene = scene(json!({"startingDeadlineSeconds": 7200})).last(TEN);
    let done = scene.at("2026-03-01T12:59:59Z");
    assert_eq!(done.created, Some(name("2026-03-01T12:00:00Z")));
    assert_eq!(done.status.missed_runs, 0, "11:00 was passed over, not missed");
}

#[test]
fn a_deadline_beyond_all_time_is_none() {
    let scene = scene(json!({"startingDeadlineSeconds": i64::MAX})).last(TEN);
    assert_eq!(scene.at("2026-03-01T12:30:00Z").created, Some(name("2026-03-01T12:00:00Z")));
}

#[test]
fn a_missed_window_is_not_started_but_told_and_counted_once() {
    let spec = json!({"startingDeadlineSeconds": 60});
    let done = scene(spec.clone()).last(TEN).at("2026-03-01T11:01:00Z");
    assert_eq!(done.created, None);
    let message =
        "MissSchedule: Missed scheduled time to start a job: Sun, 01 Mar 2026 11:00:00 +0000";
    assert_eq!(done.events, [message]);
    let status = &done.status;
    assert_eq!(
        status.last_missed_time.map(|time| time.to_string()).unwrap(),
        "2026-03-01T11:00:00Z"
    );
    let counted = (status.missed_runs, status.failed_runs, status.failures_since_success);
    assert_eq!(counted, (1, 1, 1));
    let again = scene(spec).status(serde_json::to_value(status).unwrap());
    assert_eq!(again.at("2026-03-01T11:02:00Z").events, Vec::<String>::new());
}

#[test]
fn the_last_second_of_the_deadline_is_in_time() {
    let scene = scene(json!({"startingDeadlineSeconds": 60})).last(TEN);
    assert_eq!(scene.at("2026-03-01T11:00:59Z").created, Some(name("2026-03-01T11:00:00Z")));
}

#[test]
fn misses_behind_a_long_run_are_counted_exactly() {
    let spec = json!({"concurrencyPolicy": "Forbid", "startingDeadlineSeconds": 600});
    let done = scene(spec).last(TEN).running(TEN).at("2026-03-01T14:30:00Z");
    assert_eq!((done.status.missed_runs, done.created), (4, None));
}

#[test]
fn more_than_100_missed_slots_warn_and_the_latest_still_starts() {
    let spec = json!({"schedule": "* * * * *", "concurrencyPolicy": "Allow"});
    let done = scene(spec.clone()).last(TEN).at("2026-03-01T11:41:30Z");
    assert_eq!(done.created, Some(name("2026-03-01T11:41:00Z")));
    assert_eq!(done.reasons(), ["TooManyMissedTimes", "SuccessfulCreate"]);
    let hundred = scene(spec).last(TEN).at("2026-03-01T11:40:30Z");
    assert_eq!(hundred.reasons(), ["SuccessfulCreate"]);
}

#[test]
fn more_than_100_missed_slots_are_only_told_under_allow() {
    for policy in ["Forbid", "Replace", "CatchUp"] {
        let spec = json!({"schedule": "* * * * *", "concurrencyPolicy": policy});
        let done = scene(spec).last(TEN).at("2026-03-05T00:00:30Z");
        assert_eq!(done.reasons(), ["SuccessfulCreate"], "{policy}");
    }
}

#[test]
fn irregular_schedules_lose_no_slot() {
    // Kubernetes extrapolates from the first gap and finds nothing in these.
    let cases = [
        ("0 9-17 * * 1-5", "2026-03-05T17:00:00Z", "2026-03-07T12:00:00Z", "2026-03-06T17:00:00Z"),
        ("0,30 9 * * *", "2026-03-01T09:00:00Z", "2026-03-02T10:05:00Z", "2026-03-02T09:30:00Z"),
        ("0 0 1,2 * *", "2026-03-01T00:00:00Z", "2026-03-10T00:00:00Z", "2026-03-02T00:00:00Z"),
    ];
    for (schedule, last, now, wanted) in cases {
        let done = scene(json!({"schedule": schedule})).last(last).at(now);
        assert_eq!(done.created, Some(name(wanted)), "{schedule}");
    }
}

#[test]
fn an_interval_with_a_shorter_deadline_runs_all_the_same() {
    // In Kubernetes, which counts it from now - 3600 s, this never runs at all.
    let spec = json!({"schedule": "@every 2h", "startingDeadlineSeconds": 3600});
    let done = scene(spec.clone()).last(TEN).at("2026-03-01T12:00:00Z");
    assert_eq!(done.created, Some(name("2026-03-01T12:00:00Z")));
    // After an outage the misses are booked first, and the next slot counts from the last of them.
    let outage = scene(spec.clone()).last(TEN).at("2026-03-01T16:30:00Z");
    assert_eq!((outage.created, outage.status.missed_runs), (None, 2));
    let next = scene(spec).status(serde_json::to_value(outage.status).unwrap());
    assert_eq!(next.at("2026-03-01T16:30:01Z").created, Some(name("2026-03-01T16:00:00Z")));
}

#[test]
fn what_was_missed_before_a_start_that_nobody_wrote_down_is_counted() {
    // Whoever started 13:00 and died had found 11:00 and 12:00 too late.
    let spec = json!({"startingDeadlineSeconds": 1800});
    let done = scene(spec).last(TEN).job("2026-03-01T13:00:00Z", "").at("2026-03-01T13:06:00Z");
    assert_eq!(done.last().as_deref(), Some("2026-03-01T13:00:00Z"));
    assert_eq!((done.created, done.status.missed_runs), (None, 2));
    // What was passed over for it was not missed.
    let spec = json!({"startingDeadlineSeconds": 7200});
    let done = scene(spec).last(TEN).job("2026-03-01T13:00:00Z", "").at("2026-03-01T13:06:00Z");
    assert_eq!(done.status.missed_runs, 1, "11:00 was two hours late at 13:00");
    // Nor what was started as well.
    let both = scene(json!({"startingDeadlineSeconds": 60})).last(TEN);
    let both = both.job("2026-03-01T11:00:00Z", "").job("2026-03-01T12:00:00Z", "");
    assert_eq!(both.at("2026-03-01T12:00:30Z").status.missed_runs, 0);
}
