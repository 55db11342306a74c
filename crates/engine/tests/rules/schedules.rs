//! Tests of schedules, time zones, edits of the schedule, and schedules with a single slot
//! (scheduled time).

use jiff::Timestamp;
use punctual_engine::cronjob::{
    EffectiveSchedule, FeatureGates, ScheduleError, StartDecision, Timetable,
};
use punctual_schedule::Zones;
use serde_json::{Value, json};

use crate::fixture::{at, fixture, job_name};

const TEN: &str = "2026-03-01T10:00:00Z";
const ELEVEN: &str = "2026-03-01T11:00:00Z";

#[test]
fn an_invalid_schedule_is_reported_and_sets_no_wake_up() {
    let result =
        fixture(json!({"schedule": "bad schedule"})).last_scheduled(TEN).reconcile_at(ELEVEN);
    let message = "UnparseableSchedule: unparseable schedule: \"bad schedule\" : \
                   expected exactly 5 fields, found 2: [bad schedule]";
    assert_eq!(result.events, [message]);
    assert_eq!(result.condition("Settled").as_deref(), Some("False UnparseableSchedule"));
    assert_eq!((result.settled.wake_at, result.next_scheduled()), (None, None));
}

#[test]
fn a_schedule_without_slots_is_reported() {
    let result = fixture(json!({"schedule": "0 0 31 2 *"})).reconcile_at(ELEVEN);
    assert_eq!(result.reasons(), ["InvalidSchedule"]);
    let error = ScheduleError::InvalidSchedule { schedule: "0 0 31 2 *".into() };
    assert_eq!(result.start_decision, StartDecision::NoSchedule(error));
}

#[test]
fn a_time_zone_moves_the_slots() {
    let spec = json!({"schedule": "30 2 * * *", "timeZone": "Europe/Berlin"});
    let result =
        fixture(spec).last_scheduled("2026-02-28T01:30:00Z").reconcile_at("2026-03-01T01:30:00Z");
    assert_eq!(result.created, Some(job_name("2026-03-01T01:30:00Z")));
    assert_eq!(result.next_scheduled().as_deref(), Some("2026-03-02T01:30:00Z"));
}

#[test]
fn an_empty_time_zone_means_the_default_zone() {
    let result = fixture(json!({"timeZone": ""})).last_scheduled(TEN).reconcile_at(ELEVEN);
    assert_eq!(result.created, Some(job_name(ELEVEN)));
    assert_eq!(result.condition("InvalidTimeZone"), None);
}

#[test]
fn an_unknown_time_zone_sets_a_condition_until_it_is_fixed() {
    let bad = fixture(json!({"timeZone": "Bogus/Zone"})).last_scheduled(TEN).reconcile_at(ELEVEN);
    let message = "UnknownTimeZone: invalid timeZone: \"Bogus/Zone\": unknown time zone Bogus/Zone";
    assert_eq!(bad.events, [message]);
    assert_eq!(bad.condition("InvalidTimeZone").as_deref(), Some("True UnknownTimeZone"));
    assert_eq!(bad.condition("Settled").as_deref(), Some("False UnknownTimeZone"));
    let good = fixture(json!({"timeZone": "UTC"}));
    let good =
        good.status(serde_json::to_value(bad.status).unwrap()).reconcile_at("2026-03-01T11:00:30Z");
    assert_eq!(good.condition("InvalidTimeZone"), None);
    assert_eq!(good.condition("Settled").as_deref(), Some("True Reconciled"));
}

#[test]
fn a_time_zone_in_the_schedule_applies_with_a_warning() {
    let spec = json!({"schedule": "TZ=Asia/Tokyo 0 6 * * *"});
    let result =
        fixture(spec).last_scheduled("2026-02-27T21:00:00Z").reconcile_at("2026-02-28T21:00:00Z");
    assert_eq!(result.created, Some(job_name("2026-02-28T21:00:00Z")));
    assert_eq!(result.reasons(), ["UnsupportedSchedule", "SuccessfulCreate"]);
}

#[test]
fn a_new_schedule_does_not_start_slots_before_the_edit() {
    let since = "2026-01-01T00:00:00Z 0 3 * * *";
    let annotated = json!({"annotations": {EffectiveSchedule::ANNOTATION: since}});
    // The last slot was 03:00. At 10:30 the schedule changes to one with slots in between.
    let edited = fixture(json!({"schedule": "0 * * * *"})).metadata(annotated);
    let result =
        edited.clone().last_scheduled("2026-03-01T03:00:00Z").reconcile_at("2026-03-01T10:30:00Z");
    assert_eq!((result.created.as_ref(), result.reasons().len()), (None, 0));
    let record = result.settled.schedule_to_record.unwrap();
    assert_eq!(record.to_annotation(), "2026-03-01T10:30:00Z 0 * * * *");
    // After a restart the record still applies, and the next slot of the new schedule starts.
    let annotated = json!({"annotations": {EffectiveSchedule::ANNOTATION: record.to_annotation()}});
    let restarted = edited.metadata(annotated).last_scheduled("2026-03-01T03:00:00Z");
    assert_eq!(restarted.reconcile_at("2026-03-01T10:59:00Z").created, None);
    let next = restarted.reconcile_at(ELEVEN);
    assert_eq!(next.created, Some(job_name(ELEVEN)));
    assert_eq!(next.settled.schedule_to_record, None);
}

#[test]
fn after_a_new_schedule_an_active_job_still_counts_for_forbid() {
    let since = "2026-01-01T00:00:00Z 0 * * * *";
    let annotated = json!({"annotations": {EffectiveSchedule::ANNOTATION: since}});
    // The run of 10:00 is active when the schedule changes at 10:10.
    let spec = json!({"schedule": "*/15 * * * *", "concurrencyPolicy": "Forbid"});
    let edited = fixture(spec).metadata(annotated).last_scheduled(TEN).active_job(TEN);
    let result = edited.reconcile_at("2026-03-01T10:10:00Z");
    assert_eq!((result.created.as_ref(), result.active.len()), (None, 1));
    let edited = edited.after(&result);
    let blocked = edited.reconcile_at("2026-03-01T10:15:00Z");
    assert_eq!((blocked.created.as_ref(), blocked.reasons()), (None, vec!["JobAlreadyActive"]));
    let ended = edited.job(TEN, "Complete").reconcile_at("2026-03-01T10:20:00Z");
    assert_eq!(ended.created, Some(job_name("2026-03-01T10:15:00Z")));
}

#[test]
fn without_a_time_zone_the_zone_of_the_controller_applies() {
    let controller_zone = Zones::bundled().get("Asia/Kolkata").unwrap();
    let next = |zone: Value| {
        let cron_job = fixture(json!({"schedule": "30 2 * * *", "timeZone": zone})).cron_job();
        let gates = FeatureGates::default();
        let timetable = Timetable::from_cron_job(&cron_job, &controller_zone, &gates).unwrap();
        timetable.schedule().next_after(at(TEN)).unwrap()
    };
    assert_eq!(next(Value::Null), at("2026-03-01T21:00:00Z"));
    assert_eq!(next(json!("")), at("2026-03-01T21:00:00Z"));
    assert_eq!(next(json!("UTC")), at("2026-03-02T02:30:00Z"));
}

#[test]
fn a_new_time_zone_is_a_new_schedule() {
    let since = "2026-01-01T00:00:00Z 0 10 * * * Europe/Berlin";
    let annotated = json!({"annotations": {EffectiveSchedule::ANNOTATION: since}});
    let spec = json!({"schedule": "0 10 * * *", "timeZone": "Asia/Tokyo"});
    let result = fixture(spec)
        .metadata(annotated)
        .last_scheduled("2026-02-28T09:00:00Z")
        .reconcile_at("2026-03-01T08:00:00Z");
    assert_eq!(result.created, None, "10:00 in Tokyo was seven hours ago");
}

#[test]
fn a_single_slot_runs_once_and_completes() {
    let spec = json!({"schedule": "@at 2026-03-01T11:00:00Z"});
    let before = fixture(spec.clone()).reconcile_at("2026-03-01T10:00:00Z");
    assert_eq!((before.created.as_ref(), before.condition("Complete")), (None, None));
    assert_eq!(before.next_scheduled().as_deref(), Some(ELEVEN));
    let due = fixture(spec.clone()).reconcile_at(ELEVEN);
    assert_eq!(due.created, Some(job_name(ELEVEN)));
    let after = fixture(spec).status(serde_json::to_value(due.status).unwrap());
    let after = after.job(ELEVEN, "Complete").reconcile_at("2026-03-02T00:00:00Z");
    assert_eq!(after.condition("Complete").as_deref(), Some("True Fulfilled"));
    assert_eq!(
        (after.created.as_ref(), after.next_scheduled(), after.settled.wake_at),
        (None, None, None)
    );
}

#[test]
fn a_missed_single_slot_completes() {
    let spec = json!({"schedule": "@at 2026-03-01T11:00:00Z", "startingDeadlineSeconds": 60});
    let result = fixture(spec).reconcile_at("2026-03-01T12:00:00Z");
    assert_eq!(result.condition("Complete").as_deref(), Some("True Fulfilled"));
    assert_eq!(result.status.missed_runs, 1);
}

#[test]
fn a_clock_that_is_set_back_starts_no_slot_twice() {
    let result = fixture(json!({})).last_scheduled(ELEVEN).reconcile_at("2026-03-01T09:30:00Z");
    assert_eq!(result.created, None);
    let noon: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
    assert_eq!(result.settled.wake_at, Some(noon));
}

#[test]
fn a_single_slot_before_the_creation_never_runs_and_is_reported() {
    let spec = json!({"schedule": "@at 2025-12-31T08:00:00Z"});
    let result = fixture(spec).reconcile_at(ELEVEN);
    assert_eq!(result.created, None);
    assert_eq!(result.condition("Settled").as_deref(), Some("False NeverRuns"));
    assert_eq!(result.condition("Complete"), None);
}

#[test]
fn a_single_slot_before_its_schedule_was_set_is_not_completed_by_an_earlier_run() {
    let spec = json!({"schedule": "@at 2026-03-01T09:30:00Z"});
    let since = "2026-03-01T10:30:00Z @at 2026-03-01T09:30:00Z";
    let metadata = json!({"annotations": {(EffectiveSchedule::ANNOTATION): since}});
    let result = fixture(spec).metadata(metadata).last_scheduled(TEN).reconcile_at(ELEVEN);
    assert_eq!(result.condition("Settled").as_deref(), Some("False NeverRuns"));
    assert_eq!(result.condition("Complete"), None);
}
