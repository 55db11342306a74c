//! Tests of starting deadlines and missed slots (scheduled times).

use punctual_engine::cronjob::StartDecision;
use serde_json::json;

use crate::fixture::{fixture, job_name};

const TEN: &str = "2026-03-01T10:00:00Z";

#[test]
fn deadline_0_never_runs_and_reports_it() {
    let result = fixture(json!({"startingDeadlineSeconds": 0}))
        .last_scheduled(TEN)
        .reconcile_at("2026-03-01T11:00:00Z");
    assert_eq!((result.created.as_ref(), &result.start_decision), (None, &StartDecision::NotDue));
    assert_eq!(result.condition("Settled").as_deref(), Some("False NeverRuns"));
    assert_eq!(result.status.missed_runs, 1);
}

#[test]
fn a_long_deadline_starts_a_late_slot() {
    let fixture = fixture(json!({"startingDeadlineSeconds": 7200})).last_scheduled(TEN);
    let result = fixture.reconcile_at("2026-03-01T12:59:59Z");
    assert_eq!(result.created, Some(job_name("2026-03-01T12:00:00Z")));
    assert_eq!(result.status.missed_runs, 0, "11:00 was skipped, not missed");
}

#[test]
fn a_deadline_of_i64_max_never_passes() {
    let fixture = fixture(json!({"startingDeadlineSeconds": i64::MAX})).last_scheduled(TEN);
    assert_eq!(
        fixture.reconcile_at("2026-03-01T12:30:00Z").created,
        Some(job_name("2026-03-01T12:00:00Z"))
    );
}

#[test]
fn a_missed_slot_is_not_started_and_is_counted_and_reported_once() {
    let spec = json!({"startingDeadlineSeconds": 60});
    let result = fixture(spec.clone()).last_scheduled(TEN).reconcile_at("2026-03-01T11:01:00Z");
    assert_eq!(result.created, None);
    let message =
        "MissSchedule: Missed scheduled time to start a job: Sun, 01 Mar 2026 11:00:00 +0000";
    assert_eq!(result.events, [message]);
    let status = &result.status;
    assert_eq!(
        status.last_missed_time.map(|time| time.to_string()).unwrap(),
        "2026-03-01T11:00:00Z"
    );
    let counted = (status.missed_runs, status.failed_runs, status.failures_since_success);
    assert_eq!(counted, (1, 1, 1));
    let again = fixture(spec).status(serde_json::to_value(status).unwrap());
    assert_eq!(again.reconcile_at("2026-03-01T11:02:00Z").events, Vec::<String>::new());
}

#[test]
fn a_slot_starts_in_the_last_second_of_its_deadline() {
    let fixture = fixture(json!({"startingDeadlineSeconds": 60})).last_scheduled(TEN);
    assert_eq!(
        fixture.reconcile_at("2026-03-01T11:00:59Z").created,
        Some(job_name("2026-03-01T11:00:00Z"))
    );
}

#[test]
fn slots_missed_during_a_long_run_are_counted_exactly() {
    let spec = json!({"concurrencyPolicy": "Forbid", "startingDeadlineSeconds": 600});
    let result =
        fixture(spec).last_scheduled(TEN).active_job(TEN).reconcile_at("2026-03-01T14:30:00Z");
    assert_eq!((result.status.missed_runs, result.created), (4, None));
}

#[test]
fn more_than_100_pending_slots_cause_a_warning_and_the_latest_starts() {
    let spec = json!({"schedule": "* * * * *", "concurrencyPolicy": "Allow"});
    let result = fixture(spec.clone()).last_scheduled(TEN).reconcile_at("2026-03-01T11:41:30Z");
    assert_eq!(result.created, Some(job_name("2026-03-01T11:41:00Z")));
    assert_eq!(result.reasons(), ["TooManyMissedTimes", "SuccessfulCreate", "SkippedSlots"]);
    let hundred = fixture(spec).last_scheduled(TEN).reconcile_at("2026-03-01T11:40:30Z");
    assert_eq!(hundred.reasons(), ["SuccessfulCreate", "SkippedSlots"]);
}

#[test]
fn more_than_100_pending_slots_cause_a_warning_only_with_allow() {
    for policy in ["Forbid", "Replace", "CatchUp"] {
        let spec = json!({"schedule": "* * * * *", "concurrencyPolicy": policy});
        let result = fixture(spec).last_scheduled(TEN).reconcile_at("2026-03-05T00:00:30Z");
        assert!(!result.reasons().contains(&"TooManyMissedTimes"), "{policy}");
    }
}

#[test]
fn irregular_schedules_skip_no_slot() {
    // Kubernetes extrapolates from the first gap and finds no slot in these.
    let cases = [
        ("0 9-17 * * 1-5", "2026-03-05T17:00:00Z", "2026-03-07T12:00:00Z", "2026-03-06T17:00:00Z"),
        ("0,30 9 * * *", "2026-03-01T09:00:00Z", "2026-03-02T10:05:00Z", "2026-03-02T09:30:00Z"),
        ("0 0 1,2 * *", "2026-03-01T00:00:00Z", "2026-03-10T00:00:00Z", "2026-03-02T00:00:00Z"),
    ];
    for (schedule, last, now, wanted) in cases {
        let result = fixture(json!({"schedule": schedule})).last_scheduled(last).reconcile_at(now);
        assert_eq!(result.created, Some(job_name(wanted)), "{schedule}");
    }
}

#[test]
fn an_interval_that_is_longer_than_its_deadline_runs() {
    // Kubernetes counts the interval from now - 3600 s and never runs it.
    let spec = json!({"schedule": "@every 2h", "startingDeadlineSeconds": 3600});
    let result = fixture(spec.clone()).last_scheduled(TEN).reconcile_at("2026-03-01T12:00:00Z");
    assert_eq!(result.created, Some(job_name("2026-03-01T12:00:00Z")));
    // After an outage the misses are counted first. The next slot is counted from the last miss.
    let outage = fixture(spec.clone()).last_scheduled(TEN).reconcile_at("2026-03-01T16:30:00Z");
    assert_eq!((outage.created, outage.status.missed_runs), (None, 2));
    let next = fixture(spec).status(serde_json::to_value(outage.status).unwrap());
    assert_eq!(
        next.reconcile_at("2026-03-01T16:30:01Z").created,
        Some(job_name("2026-03-01T16:00:00Z"))
    );
}

#[test]
fn misses_before_an_unrecorded_job_are_counted() {
    // A controller missed 11:00 and 12:00, started 13:00 and crashed before it wrote the status.
    let spec = json!({"startingDeadlineSeconds": 1800});
    let result = fixture(spec)
        .last_scheduled(TEN)
        .job("2026-03-01T13:00:00Z", "")
        .reconcile_at("2026-03-01T13:06:00Z");
    assert_eq!(result.last_slot().as_deref(), Some("2026-03-01T13:00:00Z"));
    assert_eq!((result.created, result.status.missed_runs), (None, 2));
    // With a longer deadline, 12:00 was skipped and not missed.
    let spec = json!({"startingDeadlineSeconds": 7200});
    let result = fixture(spec)
        .last_scheduled(TEN)
        .job("2026-03-01T13:00:00Z", "")
        .reconcile_at("2026-03-01T13:06:00Z");
    assert_eq!(result.status.missed_runs, 1, "11:00 was two hours late at 13:00");
    // A slot with a Job is not missed.
    let both = fixture(json!({"startingDeadlineSeconds": 60})).last_scheduled(TEN);
    let both = both.job("2026-03-01T11:00:00Z", "").job("2026-03-01T12:00:00Z", "");
    assert_eq!(both.reconcile_at("2026-03-01T12:00:30Z").status.missed_runs, 0);
}
