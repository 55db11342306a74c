//! Slots that are skipped because a later slot starts.

use serde_json::{Value, json};

use crate::fixture::{CreateResponse, Fixture, Reconciled, fixture, job_name};

const TEN: &str = "2026-03-01T10:00:00Z";
const ELEVEN: &str = "2026-03-01T11:00:00Z";
const TWELVE: &str = "2026-03-01T12:00:00Z";
const THIRTEEN: &str = "2026-03-01T13:00:00Z";

/// `missedRuns`, `skippedRuns` and `failedRuns`.
fn counts(result: &Reconciled) -> [i64; 3] {
    [result.status.missed_runs, result.status.skipped_runs, result.status.failed_runs]
}

fn skip_events(result: &Reconciled) -> Vec<&str> {
    let events = result.events.iter();
    events.filter_map(|event| event.strip_prefix("SkippedSlots: ")).collect()
}

/// A CronJob with the status of an earlier reconcile.
fn after(spec: Value, result: &Reconciled) -> Fixture {
    fixture(spec).status(serde_json::to_value(&result.status).unwrap())
}

#[test]
fn a_superseded_slot_is_counted_and_reported_once() {
    let result = fixture(json!({})).last_scheduled(TEN).reconcile_at("2026-03-01T12:20:00Z");
    assert_eq!(result.created, Some(job_name(TWELVE)));
    assert_eq!(counts(&result), [0, 1, 0]);
    let message = format!("Skipped the slot {ELEVEN}: superseded by the later slot {TWELVE}");
    assert_eq!(skip_events(&result), [message]);
    let again = after(json!({}), &result).job(TWELVE, "").reconcile_at("2026-03-01T12:21:00Z");
    assert_eq!((counts(&again), skip_events(&again)), ([0, 1, 0], vec![]));
}

#[test]
fn one_event_reports_several_superseded_slots() {
    let spec = json!({"schedule": "*/5 * * * *"});
    let result = fixture(spec).last_scheduled(TEN).reconcile_at("2026-03-05T00:00:30Z");
    assert_eq!(counts(&result), [0, 1031, 0]);
    let message = "Skipped 1031 slots from 2026-03-01T10:05:00Z to 2026-03-04T23:55:00Z: \
                   superseded by the later slot 2026-03-05T00:00:00Z";
    assert_eq!(skip_events(&result), [message]);
}

#[test]
fn the_deadline_divides_missed_and_skipped_slots() {
    let spec = json!({"startingDeadlineSeconds": 7200});
    let result = fixture(spec).last_scheduled(TEN).reconcile_at("2026-03-01T13:20:00Z");
    assert_eq!(result.created, Some(job_name(THIRTEEN)));
    assert_eq!(counts(&result), [1, 1, 1]);
}

#[test]
fn forbid_counts_a_slot_as_skipped_only_when_a_later_one_starts() {
    let spec = json!({"concurrencyPolicy": "Forbid"});
    let blocked = fixture(spec.clone()).last_scheduled(TEN).active_job(TEN);
    let blocked = blocked.reconcile_at("2026-03-01T12:20:00Z");
    assert_eq!((counts(&blocked), blocked.reasons()), ([0, 0, 0], vec!["JobAlreadyActive"]));
    let finished = after(spec, &blocked).job(TEN, "Complete").reconcile_at("2026-03-01T12:30:00Z");
    assert_eq!(finished.created, Some(job_name(TWELVE)));
    assert_eq!(counts(&finished), [0, 1, 0]);
}

#[test]
fn catch_up_skips_nothing() {
    let spec = json!({"concurrencyPolicy": "CatchUp"});
    let result = fixture(spec).last_scheduled(TEN).reconcile_at("2026-03-01T14:30:00Z");
    assert_eq!(result.created, Some(job_name(ELEVEN)));
    assert_eq!((counts(&result), skip_events(&result)), ([0, 0, 0], vec![]));
}

#[test]
fn slots_are_not_skipped_before_the_later_one_has_started() {
    let rejected = CreateResponse::Rejected("exceeded quota");
    let fixture = fixture(json!({})).last_scheduled(TEN);
    let result = fixture.clone().create(rejected).reconcile_at("2026-03-01T12:20:00Z");
    assert_eq!((counts(&result), skip_events(&result)), ([0, 0, 0], vec![]));
    let retried = after(json!({}), &result).reconcile_at("2026-03-01T12:21:00Z");
    assert_eq!(counts(&retried), [0, 1, 0]);
}

#[test]
fn slots_before_an_unrecorded_job_are_skipped() {
    // A controller started 13:00, so it skipped 11:00 and 12:00, and crashed before it wrote the status.
    for suspend in [false, true] {
        let fixture = fixture(json!({ "suspend": suspend })).last_scheduled(TEN);
        let result = fixture.job(THIRTEEN, "").reconcile_at("2026-03-01T13:06:00Z");
        assert_eq!(result.last_slot().as_deref(), Some(THIRTEEN));
        assert_eq!(counts(&result), [0, 2, 0], "suspend {suspend}");
        let message = format!(
            "Skipped 2 slots from {ELEVEN} to {TWELVE}: superseded by the later slot {THIRTEEN}"
        );
        assert_eq!(skip_events(&result), [message]);
    }
    let both = fixture(json!({})).last_scheduled(TEN).job(ELEVEN, "").job(THIRTEEN, "");
    assert_eq!(counts(&both.reconcile_at("2026-03-01T13:06:00Z")), [0, 1, 0]);
}

#[test]
fn the_creation_of_an_unrecorded_job_divides_missed_and_skipped_slots() {
    let spec = json!({"startingDeadlineSeconds": 5400});
    for (created, missed, skipped) in [
        ("2026-03-01T12:00:00Z", 0, 1),
        ("2026-03-01T12:29:59Z", 0, 1),
        ("2026-03-01T12:30:00Z", 1, 0),
        // The controller decided before the deadline of 12:00, and the create arrived after it.
        ("2026-03-01T13:30:00Z", 1, 0),
    ] {
        let fixture = fixture(spec.clone()).last_scheduled(TEN);
        let fixture = fixture.job_with(TWELVE, "", json!({ "creationTimestamp": created }));
        let result = fixture.reconcile_at("2026-03-01T12:50:00Z");
        assert_eq!(counts(&result), [missed, skipped, missed], "created at {created}");
    }
}

#[test]
fn slots_before_a_job_that_is_recorded_by_its_name_are_skipped() {
    let fixture = fixture(json!({})).last_scheduled(TEN);
    let fixture = fixture.job_with(TWELVE, "Complete", json!({"annotations": {}}));
    let result = fixture.reconcile_at("2026-03-01T12:20:00Z");
    assert_eq!(result.last_slot().as_deref(), Some(TWELVE));
    assert_eq!(counts(&result), [0, 1, 0]);
}

#[test]
fn slots_before_one_whose_name_is_taken_are_skipped() {
    let owner = json!({"ownerReferences": [{"uid": "other", "controller": true}]});
    let foreign = fixture(json!({})).job_with(TWELVE, "", owner).views().remove(0);
    let fixture = fixture(json!({})).last_scheduled(TEN);
    let fixture = fixture.create(CreateResponse::NameTaken(Box::new(foreign)));
    let result = fixture.reconcile_at("2026-03-01T12:20:00Z");
    assert_eq!(counts(&result), [1, 1, 1]);
    let again = after(json!({}), &result).reconcile_at("2026-03-01T12:21:00Z");
    assert_eq!((counts(&again), again.events), ([1, 1, 1], vec![]));
}

#[test]
fn slots_of_an_interval_are_counted_from_the_last_one() {
    let spec = json!({"schedule": "@every 7m"});
    let result = fixture(spec.clone()).last_scheduled(TEN).reconcile_at("2026-03-01T10:30:00Z");
    assert_eq!(result.last_slot().as_deref(), Some("2026-03-01T10:28:00Z"));
    assert_eq!(counts(&result), [0, 3, 0]);
    let crashed = fixture(spec).last_scheduled(TEN).job("2026-03-01T10:28:00Z", "");
    assert_eq!(counts(&crashed.reconcile_at("2026-03-01T10:30:00Z")), [0, 3, 0]);
}

#[test]
fn slots_before_an_edit_of_the_schedule_are_not_counted() {
    let since =
        json!({"annotations": {"punctual.dev/schedule-since": format!("{TWELVE} 0 * * * *")}});
    let fixture = fixture(json!({})).metadata(since).last_scheduled(TEN);
    let result = fixture.reconcile_at("2026-03-01T14:20:00Z");
    assert_eq!(result.created, Some(job_name("2026-03-01T14:00:00Z")));
    assert_eq!(counts(&result), [0, 1, 0], "only 13:00 is a slot of this schedule");
}
