//! Tests of the contents of the status, and of when it is written.

use serde_json::json;

use punctual_engine::cronjob::{FinishedRun, JobResult, MissReason, MissedSlots};

use crate::fixture::{CreateResponse, at, fixture, job_name};

const TEN: &str = "2026-03-01T10:00:00Z";

#[test]
fn next_schedule_time_is_the_next_slot_with_allow_and_replace() {
    for policy in ["Allow", "Replace"] {
        let result =
            fixture(json!({"concurrencyPolicy": policy})).last_scheduled(TEN).active_job(TEN);
        let result = result.reconcile_at("2026-03-01T11:00:05Z");
        assert_eq!(result.next_scheduled().as_deref(), Some("2026-03-01T12:00:00Z"), "{policy}");
    }
}

#[test]
fn next_schedule_time_with_forbid_is_the_slot_that_waits() {
    let fixture = fixture(json!({"concurrencyPolicy": "Forbid"})).last_scheduled(TEN);
    let blocked = fixture.active_job(TEN).reconcile_at("2026-03-01T12:30:00Z");
    assert_eq!(blocked.next_scheduled().as_deref(), Some("2026-03-01T12:00:00Z"));
    assert_eq!(blocked.settled.wake_at, Some(at("2026-03-01T13:00:00Z")));
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
fn settled_does_not_mean_that_jobs_succeed() {
    let result = fixture(json!({}))
        .active_entry(TEN)
        .job(TEN, "Failed")
        .reconcile_at("2026-03-01T10:30:00Z");
    assert_eq!(result.status.failed_runs, 1);
    assert_eq!(result.condition("Settled").as_deref(), Some("True Reconciled"));
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

#[test]
fn each_finished_run_and_missed_slot_is_reported_when_it_is_counted() {
    let deadline = json!({"startingDeadlineSeconds": 600});
    let fixture = fixture(deadline).last_scheduled(TEN).active_entry(TEN).job(TEN, "Complete");
    let result = fixture.clone().reconcile_at("2026-03-01T12:30:00Z").settled;
    let run = FinishedRun {
        job: job_name(TEN),
        slot: Some(at(TEN)),
        result: JobResult::Complete,
        duration: Some(jiff::SignedDuration::ZERO),
    };
    assert_eq!(result.finished_runs, [run]);
    let latest = at("2026-03-01T12:00:00Z");
    let oldest = at("2026-03-01T11:00:00Z");
    let missed = MissedSlots { oldest, latest, count: 2, reason: MissReason::DeadlinePassed };
    assert_eq!(result.missed_slots, [missed]);
    let recorded = fixture.status(serde_json::to_value(result.status.unwrap()).unwrap());
    let recorded = recorded.status(json!({"active": []})).reconcile_at("2026-03-01T12:31:00Z");
    assert_eq!(recorded.settled.finished_runs, []);
    assert_eq!(recorded.settled.missed_slots, []);
}

#[test]
fn a_slot_whose_name_is_taken_is_reported_as_missed() {
    let other = fixture(json!({})).job(TEN, "").views().remove(0);
    let other = punctual_engine::cronjob::JobView { controller_uid: "other".into(), ..other };
    let result = fixture(json!({}))
        .last_scheduled("2026-03-01T09:00:00Z")
        .create(CreateResponse::NameTaken(Box::new(other)))
        .reconcile_at(TEN);
    let slot = at(TEN);
    let missed =
        MissedSlots { oldest: slot, latest: slot, count: 1, reason: MissReason::NameTaken };
    assert_eq!(result.settled.missed_slots, [missed]);
}

#[test]
fn conditions_name_the_generation_that_they_describe() {
    let generation = |number: i64| json!({ "generation": number });
    let written = fixture(json!({})).metadata(generation(3)).last_scheduled(TEN);
    let status = written.clone().reconcile_at("2026-03-01T10:30:00Z").settled.status.unwrap();
    assert_eq!(status.conditions.first().unwrap().observed_generation, 3);
    let written = written.status(serde_json::to_value(&status).unwrap());
    assert_eq!(written.reconcile_at("2026-03-01T10:31:00Z").settled.status, None);
    let changed = written.metadata(generation(4)).reconcile_at("2026-03-01T10:32:00Z");
    let changed = changed.settled.status.unwrap().conditions.remove(0);
    let unchanged = status.conditions.first().unwrap();
    assert_eq!(changed.observed_generation, 4);
    assert_eq!(changed.last_transition_time, unchanged.last_transition_time);
}
