//! Tests of the wait, under the policy `Replace`, for the Pods of the replaced Jobs.

use punctual_engine::cronjob::StartDecision;
use serde_json::{Value, json};

use crate::fixture::{Fixture, Reconciled, at, fixture, job_name};

const TEN: &str = "2026-03-01T10:00:00Z";
const ELEVEN: &str = "2026-03-01T11:00:00Z";
const NOW: &str = "2026-03-01T11:00:05Z";
/// The grace period of 30 s and 60 s more after [`NOW`].
const WAIT_END: &str = "2026-03-01T11:01:35Z";

/// A CronJob whose run of ten o'clock is active.
fn replacing(spec: Value) -> Fixture {
    let mut spec = spec;
    spec["concurrencyPolicy"] = json!("Replace");
    let record = json!({"slot": TEN, "decision": "Started", "reason": "Scheduled",
        "job": {"name": job_name(TEN), "uid": format!("uid-{}", job_name(TEN))}, "result": "Running"});
    fixture(spec)
        .waiting_for_replaced_pods()
        .last_scheduled(TEN)
        .status(json!({"slots": [record]}))
        .active_job(TEN)
}

/// The state after the run of ten o'clock was deleted at [`NOW`], while its Pods terminate.
fn terminating(spec: Value) -> (Reconciled, Fixture) {
    let fixture = replacing(spec);
    let deleted = fixture.reconcile_at(NOW);
    let fixture = fixture.after(&deleted).job_metadata(TEN, json!({"deletionTimestamp": NOW}));
    (deleted, fixture)
}

#[test]
fn a_slot_waits_until_the_pods_of_the_replaced_run_are_gone() {
    let (deleted, fixture) = terminating(json!({}));
    assert_eq!((&deleted.deleted, &deleted.created), (&vec![job_name(TEN)], &None));
    assert_eq!(deleted.reasons_of_records(), ["Scheduled Replaced"]);
    assert!(deleted.active.is_empty());
    let waiting = fixture.reconcile_at("2026-03-01T11:00:20Z");
    assert_eq!((waiting.deleted.len(), waiting.created), (0, None));
    let until = Some(at(WAIT_END));
    assert_eq!(waiting.start_decision, StartDecision::WaitingForPods { slot: at(ELEVEN), until });
    assert_eq!(waiting.settled.wake_at, until);
    let started = fixture.without_job(TEN).reconcile_at("2026-03-01T11:00:21Z");
    assert_eq!(started.created, Some(job_name(ELEVEN)));
    assert_eq!(started.reasons(), ["SuccessfulCreate"]);
}

#[test]
fn a_slot_starts_with_a_warning_when_replaced_pods_do_not_end() {
    let (_, fixture) = terminating(json!({}));
    let started = fixture.reconcile_at(WAIT_END);
    assert_eq!(started.created, Some(job_name(ELEVEN)));
    assert_eq!(started.reasons(), ["ReplacedPodsRemain", "SuccessfulCreate"]);
}

#[test]
fn the_wait_lasts_as_long_as_the_grace_period_of_the_template() {
    let template = json!({"spec": {"template": {"spec": {"terminationGracePeriodSeconds": 300}}}});
    let (_, fixture) = terminating(json!({"jobTemplate": template}));
    let waiting = fixture.reconcile_at(WAIT_END);
    assert_eq!(
        (waiting.created, waiting.settled.wake_at),
        (None, Some(at("2026-03-01T11:06:05Z")))
    );
}

#[test]
fn the_starting_deadline_does_not_pass_while_a_slot_waits_for_replaced_pods() {
    let (_, fixture) = terminating(json!({"startingDeadlineSeconds": 10}));
    let waiting = fixture.reconcile_at("2026-03-01T11:00:50Z");
    assert_eq!((waiting.status.missed_runs, waiting.created), (0, None));
    let started = fixture.without_job(TEN).reconcile_at("2026-03-01T11:00:51Z");
    assert_eq!(started.created, Some(job_name(ELEVEN)));
    // After the longest wait the deadline counts again.
    let (_, fixture) = terminating(json!({"startingDeadlineSeconds": 10}));
    let late = fixture.without_job(TEN).reconcile_at("2026-03-01T11:20:00Z");
    assert_eq!((late.status.missed_runs, late.created), (1, None));
}

#[test]
fn a_run_whose_deletion_was_not_recorded_is_deleted_and_recorded_again() {
    let fixture = replacing(json!({})).job_metadata(TEN, json!({"deletionTimestamp": NOW}));
    let again = fixture.reconcile_at("2026-03-01T11:00:20Z");
    assert_eq!((again.deleted.clone(), again.created.clone()), (vec![job_name(TEN)], None));
    assert_eq!(again.reasons_of_records(), ["Scheduled Replaced"]);
}

#[test]
fn the_annotation_brings_the_behaviour_of_kubernetes_back() {
    let annotation = json!({"annotations": {"punctual.dev/replace-deletion": "Background"}});
    let replaced = replacing(json!({})).metadata(annotation).reconcile_at(NOW);
    assert_eq!((replaced.deleted, replaced.created), (vec![job_name(TEN)], Some(job_name(ELEVEN))));
}
