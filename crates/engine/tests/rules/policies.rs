//! Tests of concurrency policies, suspension and `status.active`.

use punctual_engine::cronjob::StartDecision;
use serde_json::json;

use crate::fixture::{CreateResponse, at, fixture, job_name};

const TEN: &str = "2026-03-01T10:00:00Z";
const ELEVEN: &str = "2026-03-01T11:00:00Z";
const NOW: &str = "2026-03-01T11:00:05Z";

#[test]
fn allow_starts_a_slot_while_a_job_is_active() {
    let result = fixture(json!({"concurrencyPolicy": "Allow"}))
        .last_scheduled(TEN)
        .active_job(TEN)
        .reconcile_at(NOW);
    assert_eq!(result.created, Some(job_name(ELEVEN)));
    assert_eq!(result.active, [job_name(TEN), job_name(ELEVEN)]);
    assert_eq!(result.last_slot().as_deref(), Some(ELEVEN));
    assert_eq!(result.events, [format!("SuccessfulCreate: Created job {}", job_name(ELEVEN))]);
}

#[test]
fn forbid_starts_no_slot_while_a_job_is_active() {
    let result = fixture(json!({"concurrencyPolicy": "Forbid"}))
        .last_scheduled(TEN)
        .active_job(TEN)
        .reconcile_at(NOW);
    assert_eq!(result.created, None);
    assert_eq!(result.reasons(), ["JobAlreadyActive"]);
    assert_eq!(result.last_slot().as_deref(), Some(TEN), "the slot is still pending");
}

#[test]
fn forbid_starts_the_latest_slot_after_the_active_job_has_finished() {
    let fixture =
        fixture(json!({"concurrencyPolicy": "Forbid"})).last_scheduled(TEN).active_entry(TEN);
    let result = fixture.job(TEN, "Complete").reconcile_at("2026-03-01T13:20:00Z");
    assert_eq!(result.created, Some(job_name("2026-03-01T13:00:00Z")));
    assert_eq!(result.reasons(), ["SawCompletedJob", "SuccessfulCreate", "SkippedSlots"]);
}

#[test]
fn forbid_respects_an_active_job_that_the_status_does_not_list() {
    let result = fixture(json!({"concurrencyPolicy": "Forbid"}))
        .last_scheduled(TEN)
        .job(TEN, "")
        .reconcile_at(NOW);
    assert_eq!(result.created, None);
    assert_eq!(result.active, [job_name(TEN)]);
    assert_eq!(result.reasons(), ["JobAlreadyActive"]);
}

#[test]
fn replace_deletes_the_active_job_and_starts_the_slot() {
    let result = fixture(json!({"concurrencyPolicy": "Replace"}))
        .last_scheduled(TEN)
        .active_job(TEN)
        .reconcile_at(NOW);
    assert_eq!(result.deleted, [job_name(TEN)]);
    assert_eq!(result.created, Some(job_name(ELEVEN)));
    assert_eq!(result.active, [job_name(ELEVEN)]);
    assert_eq!(result.reasons(), ["SuccessfulDelete", "SuccessfulCreate"]);
}

#[test]
fn replace_deletes_nothing_for_a_slot_whose_name_is_taken() {
    let owned_by_other = json!({"ownerReferences": [{"uid": "other", "controller": true}]});
    let other = fixture(json!({})).job_with(ELEVEN, "", owned_by_other).views().remove(0);
    let fixture = fixture(json!({"concurrencyPolicy": "Replace"}))
        .last_scheduled(TEN)
        .active_job(TEN)
        .create(CreateResponse::NameTaken(Box::new(other)));
    let result = fixture.reconcile_at(NOW);
    assert_eq!((result.deleted.len(), result.active.as_slice()), (0, [job_name(TEN)].as_slice()));
    assert_eq!(result.status.missed_runs, 1);
    assert_eq!(result.condition("Settled").as_deref(), Some("False NameTaken"));
    let message = result.message("Settled").unwrap();
    assert!(message.contains("or rename this CronJob or the object"), "{message}");
}

#[test]
fn the_later_of_two_objects_with_one_name_does_not_compete_for_job_names() {
    let other = fixture(json!({"schedule": "0 */2 * * *"}));
    let fixture = fixture(json!({"concurrencyPolicy": "Replace"}))
        .last_scheduled(ELEVEN)
        .active_job(ELEVEN)
        .older_object_of_same_name(&other);
    let taken = fixture.reconcile_at("2026-03-01T12:00:05Z");
    assert_eq!((taken.created.as_ref(), taken.deleted.len()), (None, 0));
    assert_eq!((taken.status.missed_runs, taken.active.as_slice()), (1, &[job_name(ELEVEN)][..]));
    assert_eq!(taken.reasons(), ["FailedCreate"]);
    assert_eq!(taken.next_scheduled().as_deref(), Some("2026-03-01T13:00:00Z"));
    let message = taken.status.conditions[0].message.clone();
    assert!(message.contains("rename, suspend or delete one of the two objects"), "{message}");
    let fixture = fixture.after(&taken);
    let again = fixture.reconcile_at("2026-03-01T12:00:06Z");
    assert_eq!((again.status.missed_runs, again.events.len()), (1, 0), "counted once");
    let free = fixture.reconcile_at("2026-03-01T13:00:05Z");
    assert_eq!(free.created, Some(job_name("2026-03-01T13:00:00Z")), "the other has no such slot");
    assert_eq!(free.deleted, [job_name(ELEVEN)]);
}

#[test]
fn replace_does_not_delete_a_job_before_its_slot_is_recorded() {
    // The controller crashed between creating the Job of 10:00 and writing the status.
    let fixture = fixture(json!({"concurrencyPolicy": "Replace"}));
    let result = fixture.last_scheduled("2026-03-01T09:00:00Z").job(TEN, "").reconcile_at(NOW);
    assert_eq!((result.created, result.deleted), (None, vec![]));
    assert_eq!(result.status.last_schedule_time.map(|time| time.timestamp()), Some(at(TEN)));
    assert_eq!(result.start_decision, StartDecision::Postponed { slot: at(ELEVEN) });
    assert_eq!(result.settled.wake_at, Some(at(NOW)));
}

#[test]
fn catch_up_starts_the_oldest_pending_slot() {
    let result = fixture(json!({"concurrencyPolicy": "CatchUp"}))
        .last_scheduled(TEN)
        .reconcile_at("2026-03-01T14:30:00Z");
    assert_eq!(result.created, Some(job_name(ELEVEN)));
    assert_eq!(result.last_slot().as_deref(), Some(ELEVEN));
}

#[test]
fn catch_up_starts_pending_slots_one_after_another() {
    let mut last = TEN.to_string();
    for wanted in ["2026-03-01T11:00:00Z", "2026-03-01T12:00:00Z", "2026-03-01T13:00:00Z"] {
        let fixture = fixture(json!({"concurrencyPolicy": "CatchUp"})).last_scheduled(&last);
        // No slot starts while a Job is active. After it succeeds or fails the next slot starts.
        let blocked = fixture.clone().active_job(&last).reconcile_at("2026-03-01T13:30:00Z");
        assert_eq!((blocked.created, blocked.events.len()), (None, 0));
        let finished =
            fixture.active_entry(&last).job(&last, "Failed").reconcile_at("2026-03-01T13:30:00Z");
        assert_eq!(finished.created, Some(job_name(wanted)));
        last = wanted.into();
    }
    let fixture = fixture(json!({"concurrencyPolicy": "CatchUp"})).last_scheduled(&last);
    assert_eq!(fixture.reconcile_at("2026-03-01T13:30:00Z").created, None);
}

#[test]
fn an_annotation_selects_catch_up() {
    let fixture = fixture(json!({}))
        .metadata(json!({"annotations": {"punctual.dev/concurrency-policy": "CatchUp"}}));
    assert_eq!(
        fixture.last_scheduled(TEN).reconcile_at("2026-03-01T14:30:00Z").created,
        Some(job_name(ELEVEN))
    );
}

#[test]
fn suspend_starts_no_slot_and_keeps_active_jobs() {
    let result =
        fixture(json!({"suspend": true})).last_scheduled(TEN).active_job(TEN).reconcile_at(NOW);
    assert_eq!((result.created, result.deleted.len()), (None, 0));
    assert_eq!(result.active, [job_name(TEN)]);
    assert_eq!(result.settled.wake_at, None);
}

#[test]
fn resume_starts_the_latest_slot_of_the_suspension() {
    let result =
        fixture(json!({"suspend": false})).last_scheduled(TEN).reconcile_at("2026-03-03T07:10:00Z");
    assert_eq!(result.created, Some(job_name("2026-03-03T07:00:00Z")));
}

#[test]
fn a_deleted_job_is_removed_from_the_active_list() {
    let result = fixture(json!({}))
        .last_scheduled(TEN)
        .active_entry(TEN)
        .reconcile_at("2026-03-01T10:20:00Z");
    assert_eq!(result.active, Vec::<String>::new());
    assert_eq!(result.events, [format!("MissingJob: Active job went missing: {}", job_name(TEN))]);
    assert_eq!((result.status.successful_runs, result.status.failed_runs), (0, 0));
}

#[test]
fn a_manual_job_is_reported_and_blocks_no_slot() {
    let manual = json!({"name": "manual", "uid": "x", "annotations":
        {"cronjob.kubernetes.io/instantiate": "manual"}});
    let fixture = fixture(json!({"concurrencyPolicy": "Forbid"})).last_scheduled(TEN);
    let result = fixture.job_with(TEN, "", manual).reconcile_at(NOW);
    assert_eq!(result.created, Some(job_name(ELEVEN)));
    assert_eq!(result.reasons(), ["UnexpectedJob", "SuccessfulCreate"]);
}

#[test]
fn a_cron_job_that_is_being_deleted_starts_no_slot() {
    let fixture =
        fixture(json!({})).metadata(json!({"deletionTimestamp": TEN})).last_scheduled(TEN);
    let result = fixture.reconcile_at(NOW);
    assert_eq!((result.created, result.start_decision), (None, StartDecision::Deleted));
}

#[test]
fn normal_operation_causes_no_warnings() {
    let first = fixture(json!({})).last_scheduled(TEN).reconcile_at(NOW);
    let second = fixture(json!({}))
        .last_scheduled(ELEVEN)
        .active_job(ELEVEN)
        .reconcile_at("2026-03-01T11:20:00Z");
    let third = fixture(json!({}))
        .last_scheduled(ELEVEN)
        .active_entry(ELEVEN)
        .job(ELEVEN, "Complete")
        .reconcile_at(NOW);
    let reasons = [first.reasons(), second.reasons(), third.reasons()].concat();
    assert_eq!(reasons, ["SuccessfulCreate", "SawCompletedJob"]);
}
