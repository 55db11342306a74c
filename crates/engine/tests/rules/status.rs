//! The contents of the status, and when it is written.

use serde_json::json;

use crate::fixture::fixture;

const TEN: &str = "2026-03-01T10:00:00Z";

#[test]
fn next_schedule_time_is_the_next_slot_with_allow_forbid_and_replace() {
    for policy in ["Allow", "Forbid", "Replace"] {
        let result =
            fixture(json!({"concurrencyPolicy": policy})).last_scheduled(TEN).active_job(TEN);
        let result = result.reconcile_at("2026-03-01T11:00:05Z");
        assert_eq!(result.next_scheduled().as_deref(), Some("2026-03-01T12:00:00Z"), "{policy}");
    }
}

#[test]
fn next_schedule_time_with_catch_up_is_the_oldest_pending_slot() {
    let fixture = fixture(json!({"concurrencyPolicy": "CatchUp"})).last_scheduled(TEN);
    let blocked = fixture.clone().active_job(TEN).reconcile_at("2026-03-01T14:30:00Z");
    assert_eq!(blocked.next_scheduled().as_deref(), Some("2026-03-01T11:00:00Z"));
    let started = fixture.clone().reconcile_at("2026-03-01T14:30:00Z");
    assert_eq!(started.next_scheduled().as_deref(), Some("2026-03-01T12:00:00Z"));
    let caught_up = fixture.reconcile_at("2026-03-01T11:00:00Z");
    assert_eq!(caught_up.next_scheduled().as_deref(), Some("2026-03-01T12:00:00Z"));
}

#[test]
fn next_schedule_time_is_absent_while_suspended_or_without_a_schedule() {
    let before = json!({"nextScheduleTime": "2026-03-01T11:00:00Z"});
    for spec in [json!({"suspend": true}), json!({"schedule": "x"}), json!({"timeZone": "X/Y"})] {
        let result = fixture(spec.clone())
            .status(before.clone())
            .last_scheduled(TEN)
            .reconcile_at("2026-03-01T10:30:00Z");
        assert_eq!(result.next_scheduled(), None, "{spec}");
    }
}

#[test]
fn the_status_is_written_only_when_it_changes() {
    let first = fixture(json!({})).last_scheduled(TEN).reconcile_at("2026-03-01T10:30:00Z");
    let status = serde_json::to_value(first.settled.status.unwrap()).unwrap();
    let second = fixture(json!({})).status(status).reconcile_at("2026-03-01T10:45:00Z");
    assert!(second.settled.status.is_none());
}

#[test]
fn a_condition_keeps_its_transition_time_until_its_status_changes() {
    let time =
        |result: &crate::fixture::Reconciled| result.status.conditions[0].last_transition_time;
    let bad = fixture(json!({"schedule": "x"})).reconcile_at("2026-03-01T10:30:00Z");
    let status = serde_json::to_value(&bad.status).unwrap();
    let worse = fixture(json!({"schedule": "y"}))
        .status(status.clone())
        .reconcile_at("2026-03-01T11:30:00Z");
    assert_eq!(time(&worse), time(&bad));
    let good = fixture(json!({})).status(status).reconcile_at("2026-03-01T11:30:00Z");
    assert_eq!(time(&good).unwrap().to_string(), "2026-03-01T11:30:00Z");
}

#[test]
fn last_successful_time_includes_manual_jobs() {
    let manual = json!({"name": "manual", "uid": "x", "annotations": {}});
    let fixture = fixture(json!({})).last_scheduled(TEN).job("2026-03-01T09:00:00Z", "Complete");
    let result = fixture
        .job_with("2026-03-01T10:05:00Z", "Complete", manual)
        .reconcile_at("2026-03-01T10:30:00Z");
    assert_eq!(result.status.last_successful_time.unwrap().to_string(), "2026-03-01T10:05:00Z");
    assert_eq!(result.status.successful_runs, 0, "no Job was in status.active");
}
