//! The end of a suspension, and the slots that came due during it.

use punctual_engine::cronjob::SuspensionChange;
use serde_json::{Value, json};

use crate::fixture::{Fixture, Reconciled, at, fixture, job_name};

const TEN: &str = "2026-03-01T10:00:00Z";
const NOON: &str = "2026-03-01T12:00:00Z";

/// An hourly CronJob that was suspended at half past ten.
fn suspended(spec: Value, annotations: Value) -> Fixture {
    let fixture = fixture(spec).last_scheduled(TEN);
    let fixture = fixture.metadata(json!({ "annotations": annotations }));
    fixture.status(json!({"suspendedSince": "2026-03-01T10:30:00Z"}))
}

fn skipped(result: &Reconciled) -> [i64; 2] {
    [result.status.missed_runs, result.status.skipped_runs]
}

#[test]
fn the_controller_records_when_it_sees_a_suspension() {
    let result = fixture(json!({"suspend": true})).last_scheduled(TEN).reconcile_at(NOON);
    assert_eq!(result.status.suspended_since.unwrap().timestamp(), at(NOON));
    let again = fixture(json!({"suspend": true})).after(&result);
    let again = again.reconcile_at("2026-03-01T13:00:00Z");
    assert_eq!(again.status.suspended_since.unwrap().timestamp(), at(NOON));
}

#[test]
fn slots_of_a_suspension_are_skipped_except_the_latest() {
    let result =
        suspended(json!({"suspend": false}), json!({})).reconcile_at("2026-03-01T14:10:00Z");
    assert_eq!(result.created, Some(job_name("2026-03-01T14:00:00Z")));
    assert_eq!(skipped(&result), [0, 3]);
    assert_eq!(result.status.slots[0].reason, "Suspended");
    assert_eq!(result.status.suspended_since, None);
}

#[test]
fn slots_whose_deadline_passed_during_a_suspension_are_skipped_and_not_missed() {
    let spec = json!({"suspend": false, "startingDeadlineSeconds": 60});
    let result = suspended(spec, json!({})).reconcile_at("2026-03-01T14:10:00Z");
    assert_eq!(result.created, None);
    assert_eq!(skipped(&result), [0, 4]);
}

#[test]
fn no_slot_of_a_suspension_starts_if_the_user_drops_them() {
    let annotations = json!({"punctual.dev/resume-missed": "drop"});
    for policy in ["Allow", "Forbid", "Replace", "CatchUp"] {
        let spec = json!({"suspend": false, "concurrencyPolicy": policy});
        let result = suspended(spec.clone(), annotations.clone());
        let result = result.reconcile_at("2026-03-01T14:10:00Z");
        assert_eq!(result.created, None, "{policy}");
        assert_eq!(skipped(&result), [0, 4], "{policy}");
        assert_eq!(result.settled.suspension_change, Some(SuspensionChange::ClearAnnotations));
        let next = fixture(spec).after(&result).reconcile_at("2026-03-01T15:00:00Z");
        assert_eq!(next.created, Some(job_name("2026-03-01T15:00:00Z")), "{policy}");
    }
}

#[test]
fn all_slots_of_a_suspension_start_with_catch_up() {
    let spec = json!({"suspend": false, "concurrencyPolicy": "CatchUp"});
    let result = suspended(spec, json!({})).reconcile_at("2026-03-01T14:10:00Z");
    assert_eq!(result.created, Some(job_name("2026-03-01T11:00:00Z")));
    assert_eq!(skipped(&result), [0, 0]);
}

#[test]
fn a_suspension_ends_at_its_time() {
    let annotations = json!({"punctual.dev/suspended-until": "2026-03-01T12:30:00Z"});
    let cron_job = || suspended(json!({"suspend": true}), annotations.clone());
    let before = cron_job().reconcile_at("2026-03-01T12:29:59Z");
    assert_eq!(before.settled.suspension_change, None);
    assert_eq!(before.settled.wake_at, Some(at("2026-03-01T12:30:00Z")));
    let after = cron_job().reconcile_at("2026-03-01T12:30:00Z");
    assert_eq!(after.settled.suspension_change, Some(SuspensionChange::Resume));
    assert_eq!(after.created, None, "the next reconcile starts the slot");
}

#[test]
fn a_malformed_end_keeps_a_cron_job_suspended() {
    for until in ["", "tomorrow", "2026-03-01"] {
        let annotations = json!({ "punctual.dev/suspended-until": until });
        let result = suspended(json!({"suspend": true}), annotations).reconcile_at(NOON);
        let change = (result.settled.suspension_change, result.settled.wake_at);
        assert_eq!(change, (None, None), "{until:?}");
    }
}

#[test]
fn the_end_of_a_past_suspension_is_removed_so_that_it_does_not_end_the_next_one() {
    let annotations = json!({"punctual.dev/suspended-until": TEN});
    let result = fixture(json!({})).last_scheduled(TEN);
    let result = result.metadata(json!({ "annotations": annotations })).reconcile_at(NOON);
    assert_eq!(result.settled.suspension_change, Some(SuspensionChange::ClearAnnotations));
    assert_eq!(result.created, Some(job_name(NOON)));
}

#[test]
fn slots_of_an_interval_that_expired_during_a_suspension_are_skipped_and_not_missed() {
    let spec = json!({"suspend": false, "schedule": "@every 1h", "startingDeadlineSeconds": 60});
    let result = suspended(spec, json!({})).reconcile_at("2026-03-01T14:10:00Z");
    assert_eq!(result.created, None);
    assert_eq!(skipped(&result), [0, 4]);
    assert_eq!(result.status.slots[0].reason, "Suspended");
}
