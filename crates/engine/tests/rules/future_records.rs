//! Tests of recorded times that lie in the future, after a clock was wrong.

use serde_json::{Value, json};

use crate::fixture::{Fixture, fixture};

const NOW: &str = "2026-03-01T10:30:00Z";

fn recorded(field: &str, time: &str) -> Fixture {
    let mut status = json!({});
    status[field] = Value::from(time);
    fixture(json!({})).status(status)
}

#[test]
fn a_last_schedule_in_the_future_is_reported_once_and_keeps_the_cron_job_waiting() {
    let fixture = recorded("lastScheduleTime", "2037-01-01T00:00:00Z");
    let found = fixture.reconcile_at(NOW);
    assert_eq!(found.created, None);
    assert_eq!(found.condition("Settled").as_deref(), Some("False LastScheduleInFuture"));
    let message = found.message("Settled").unwrap();
    assert!(message.starts_with("status.lastScheduleTime is 2037-01-01T00:00:00Z"), "{message}");
    assert_eq!(found.reasons(), ["LastScheduleInFuture"]);
    let again = fixture.after(&found).reconcile_at("2026-03-01T10:31:00Z");
    assert_eq!((again.reasons(), again.settled.status.is_none()), (vec![], true));
    assert!(again.settled.future_record.is_some(), "the metric stays");
}

#[test]
fn every_recorded_time_that_delays_slots_is_found() {
    let missed = recorded("lastMissedTime", "2026-03-01T10:32:00Z").reconcile_at(NOW);
    assert_eq!(missed.settled.future_record.unwrap().field, "status.lastMissedTime");
    let since = json!({"punctual.dev/schedule-since": "2037-01-01T00:00:00Z 0 * * * *"});
    let edited = fixture(json!({})).metadata(json!({ "annotations": since })).reconcile_at(NOW);
    let field = edited.settled.future_record.unwrap().field;
    assert_eq!(field, "the annotation punctual.dev/schedule-since");
    let created = json!({"creationTimestamp": "2037-01-01T00:00:00Z"});
    let created = fixture(json!({})).metadata(created).reconcile_at(NOW);
    assert_eq!(created.settled.future_record.unwrap().field, "metadata.creationTimestamp");
}

#[test]
fn clocks_that_differ_by_a_minute_are_normal() {
    let near = recorded("lastScheduleTime", "2026-03-01T10:31:00Z").reconcile_at(NOW);
    assert_eq!(near.settled.future_record, None);
    assert_eq!(near.condition("Settled").as_deref(), Some("True Reconciled"));
}

#[test]
fn the_condition_ends_when_the_time_has_passed() {
    let fixture = recorded("lastScheduleTime", "2026-03-01T12:00:00Z");
    let found = fixture.reconcile_at(NOW);
    let fixture = fixture.after(&found);
    let passed = fixture.reconcile_at("2026-03-01T12:00:00Z");
    assert_eq!(passed.condition("Settled").as_deref(), Some("True Reconciled"));
}
