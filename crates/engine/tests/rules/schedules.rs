//! Schedules, zones, edits, and single instants.

use jiff::Timestamp;
use punctual_engine::cronjob::{ScheduleError, ScheduleSince, StartDecision};
use serde_json::json;

use crate::scene::{name, scene};

const TEN: &str = "2026-03-01T10:00:00Z";

#[test]
fn an_invalid_schedule_is_told_and_nothing_wakes_for_it() {
    let done = scene(json!({"schedule": "bad schedule"})).last(TEN).at("2026-03-01T11:00:00Z");
    let message = "UnparseableSchedule: unparseable schedule: \"bad schedule\" : \
                   expected exactly 5 fields, found 2: [bad schedule]";
    assert_eq!(done.events, [message]);
    assert_eq!(done.condition("Settled").as_deref(), Some("False UnparseableSchedule"));
    assert_eq!((done.settled.wake_at, done.next()), (None, None));
}

#[test]
fn a_schedule_that_never_matches_is_told() {
    let done = scene(json!({"schedule": "0 0 31 2 *"})).at("2026-03-01T11:00:00Z");
    assert_eq!(done.reasons(), ["InvalidSchedule"]);
    let trouble = ScheduleError::InvalidSchedule { schedule: "0 0 31 2 *".into() };
    assert_eq!(done.verdict, StartDecision::NoSchedule(trouble));
}

#[test]
fn a_time_zone_moves_the_slots() {
    let spec = json!({"schedule": "30 2 * * *", "timeZone": "Europe/Berlin"});
    let done = scene(spec).last("2026-02-28T01:30:00Z").at("2026-03-01T01:30:00Z");
    assert_eq!(done.created, Some(name("2026-03-01T01:30:00Z")));
    assert_eq!(done.next().as_deref(), Some("2026-03-02T01:30:00Z"));
}

#[test]
fn a_bad_zone_sets_a_condition_until_it_is_good() {
    let bad = scene(json!({"timeZone": "Bogus/Zone"})).last(TEN).at("2026-03-01T11:00:00Z");
    let message = "UnknownTimeZone: invalid timeZone: \"Bogus/Zone\": unknown time zone Bogus/Zone";
    assert_eq!(bad.events, [message]);
    assert_eq!(bad.condition("InvalidTimeZone").as_deref(), Some("True UnknownTimeZone"));
    assert_eq!(bad.condition("Settled").as_deref(), Some("False UnknownTimeZone"));
    let good = scene(json!({"timeZone": "UTC"}));
    let good = good.status(serde_json::to_value(bad.status).unwrap()).at("2026-03-01T11:00:30Z");
    assert_eq!(good.condition("InvalidTimeZone"), None);
    assert_eq!(good.condition("Settled").as_deref(), Some("True Reconciled"));
}

#[test]
fn a_zone_in_the_schedule_is_used_and_warned_of() {
    let spec = json!({"schedule": "TZ=Asia/Tokyo 0 6 * * *"});
    let done = scene(spec).last("2026-02-27T21:00:00Z").at("2026-02-28T21:00:00Z");
    assert_eq!(done.created, Some(name("2026-02-28T21:00:00Z")));
    assert_eq!(done.reasons(), ["UnsupportedSchedule", "SuccessfulCreate"]);
}

#[test]
fn a_schedule_change_does_not_start_missed_runs() {
    let since = "2026-01-01T00:00:00Z 0 3 * * *";
    let annotated = json!({"annotations": {ScheduleSince::ANNOTATION: since}});
    // It ran at 03:00; at 10:30 the schedule is changed to one that has slots in between.
    let edited = scene(json!({"schedule": "0 * * * *"})).metadata(annotated);
    let done = edited.clone().last("2026-03-01T03:00:00Z").at("2026-03-01T10:30:00Z");
    assert_eq!((done.created.as_ref(), done.reasons().len()), (None, 0));
    let remember = done.settled.schedule_to_record.unwrap();
    assert_eq!(remember.to_annotation(), "2026-03-01T10:30:00Z 0 * * * *");
    // A restart has not forgotten it, and the next slot of the new schedule runs.
    let annotated = json!({"annotations": {ScheduleSince::ANNOTATION: remember.to_annotation()}});
    let restarted = edited.metadata(annotated).last("2026-03-01T03:00:00Z");
    assert_eq!(restarted.at("2026-03-01T10:59:00Z").created, None);
    let next = restarted.at("2026-03-01T11:00:00Z");
    assert_eq!(next.created, Some(name("2026-03-01T11:00:00Z")));
    assert_eq!(next.settled.schedule_to_record, None);
}

#[test]
fn a_change_of_the_zone_is_a_change_of_the_schedule() {
    let since = "2026-01-01T00:00:00Z 0 10 * * * Europe/Berlin";
    let annotated = json!({"annotations": {ScheduleSince::ANNOTATION: since}});
    let spec = json!({"schedule": "0 10 * * *", "timeZone": "Asia/Tokyo"});
    let done =
        scene(spec).metadata(annotated).last("2026-02-28T09:00:00Z").at("2026-03-01T08:00:00Z");
    assert_eq!(done.created, None, "10:00 in Tokyo was seven hours ago");
}

#[test]
fn one_shot_runs_once_and_is_complete() {
    let spec = json!({"schedule": "@at 2026-03-01T11:00:00Z"});
    let before = scene(spec.clone()).at("2026-03-01T10:00:00Z");
    assert_eq!((before.created.as_ref(), before.condition("Complete")), (None, None));
    assert_eq!(before.next().as_deref(), Some("2026-03-01T11:00:00Z"));
    let due = scene(spec.clone()).at("2026-03-01T11:00:00Z");
    assert_eq!(due.created, Some(name("2026-03-01T11:00:00Z")));
    let after = scene(spec).status(serde_json::to_value(due.status).unwrap());
    let after = after.job("2026-03-01T11:00:00Z", "Complete").at("2026-03-02T00:00:00Z");
    assert_eq!(after.condition("Complete").as_deref(), Some("True Fulfilled"));
    assert_eq!((after.created.as_ref(), after.next(), after.settled.wake_at), (None, None, None));
}

#[test]
fn a_one_shot_that_was_missed_is_complete_too() {
    let spec = json!({"schedule": "@at 2026-03-01T11:00:00Z", "startingDeadlineSeconds": 60});
    let done = scene(spec).at("2026-03-01T12:00:00Z");
    assert_eq!(done.condition("Complete").as_deref(), Some("True Fulfilled"));
    assert_eq!(done.status.missed_runs, 1);
}

#[test]
fn a_clock_set_back_starts_nothing_twice() {
    let done = scene(json!({})).last("2026-03-01T11:00:00Z").at("2026-03-01T09:30:00Z");
    assert_eq!(done.created, None);
    let noon: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
    assert_eq!(done.settled.wake_at, Some(noon));
}

#[test]
fn an_instant_before_the_creation_never_runs_and_says_so() {
    let spec = json!({"schedule": "@at 2025-12-31T08:00:00Z"});
    let done = scene(spec).at("2026-03-01T11:00:00Z");
    assert_eq!(done.created, None);
    assert_eq!(done.condition("Settled").as_deref(), Some("False NeverRuns"));
    assert_eq!(done.condition("Complete"), None);
}

#[test]
fn an_instant_that_was_past_when_it_was_written_was_not_fulfilled_by_an_earlier_run() {
    let spec = json!({"schedule": "@at 2026-03-01T09:30:00Z"});
    let since = "2026-03-01T10:30:00Z @at 2026-03-01T09:30:00Z";
    let metadata = json!({"annotations": {(ScheduleSince::ANNOTATION): since}});
    let done = scene(spec).metadata(metadata).last(TEN).at("2026-03-01T11:00:00Z");
    assert_eq!(done.condition("Settled").as_deref(), Some("False NeverRuns"));
    assert_eq!(done.condition("Complete"), None);
}
