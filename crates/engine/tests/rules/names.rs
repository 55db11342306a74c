//! The Job for a slot: its name, what is on it, and whose it is.

use punctual_engine::cronjob::{JobView, StartDecision, build_job_manifest};
use serde_json::{Value, json};

use crate::scene::{Create, Scene, at, name, scene};

const TEN: &str = "2026-03-01T10:00:00Z";
const NOW: &str = "2026-03-01T11:00:05Z";

fn job(scene: &Scene, slot: &str) -> Value {
    let text = build_job_manifest(&scene.cron_job(), &scene.timetable(), at(slot)).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn a_job_is_named_after_its_slot_by_the_minute_or_the_second() {
    assert_eq!(job(&scene(json!({})), TEN)["metadata"]["name"], "job-29539320");
    let every = scene(json!({"schedule": "@every 90s"}));
    assert_eq!(job(&every, "2026-03-01T10:01:30Z")["metadata"]["name"], "job-1772359290");
}

#[test]
fn slot_and_previous_slot_are_on_the_job_and_on_its_pods() {
    let template = json!({
        "metadata": {"labels": {"a": "b"}, "annotations": {"x": "y"}, "name": "forged"},
        "spec": {"template": {"metadata": {"annotations": {"z": "w"}}, "spec": {"new": [1.50]}}},
    });
    let spec =
        json!({"schedule": "30 2 * * *", "timeZone": "Europe/Berlin", "jobTemplate": template});
    let job = job(&scene(spec), "2026-03-30T00:30:00Z");
    let marks = json!({
        "batch.kubernetes.io/cronjob-scheduled-timestamp": "2026-03-30T02:30:00+02:00",
        // 02:30 on the 29th was skipped.
        "punctual.dev/previous-scheduled-timestamp": "2026-03-28T02:30:00+01:00",
    });
    let with = |key: &str, value: &str| {
        let mut all = marks.clone();
        all[key] = json!(value);
        all
    };
    assert_eq!(job["metadata"]["annotations"], with("x", "y"));
    assert_eq!(job["spec"]["template"]["metadata"]["annotations"], with("z", "w"));
    assert_eq!(job["metadata"]["labels"], json!({"a": "b"}));
    assert_eq!(job["metadata"]["name"], "job-29580510");
    assert_eq!(job["spec"]["template"]["spec"], json!({"new": [1.50]}));
}

#[test]
fn the_owner_is_the_cron_job_by_its_own_kind() {
    let owner = |scene: &Scene| job(scene, TEN)["metadata"]["ownerReferences"].clone();
    assert_eq!(
        owner(&scene(json!({}))),
        json!([{"apiVersion": "batch/v1", "kind": "CronJob", "name": "job", "uid": "cron-uid",
            "controller": true, "blockOwnerDeletion": true}])
    );
}

#[test]
fn a_template_with_a_time_to_live_is_held_by_our_finalizer() {
    let template = json!({"spec": {"ttlSecondsAfterFinished": 0, "template": {}}});
    let held = job(&scene(json!({"jobTemplate": template})), TEN);
    assert_eq!(held["metadata"]["finalizers"], json!(["punctual.dev/slot-recorded"]));
    assert_eq!(job(&scene(json!({})), TEN)["metadata"]["finalizers"], Value::Null);
}

#[test]
fn a_template_cannot_forge_the_slot() {
    let forged = json!({"batch.kubernetes.io/cronjob-scheduled-timestamp": "1999-01-01T00:00:00Z"});
    let template = json!({"metadata": {"annotations": forged}, "spec": {"template": {}}});
    let job = job(&scene(json!({"jobTemplate": template})), TEN);
    assert_eq!(
        job["metadata"]["annotations"]["batch.kubernetes.io/cronjob-scheduled-timestamp"],
        TEN
    );
}

fn existing(controller_uid: &str) -> Create {
    let slot = "2026-03-01T11:00:00Z";
    let owner = json!({"ownerReferences": [{"uid": controller_uid, "controller": true}]});
    let job: JobView = scene(json!({})).job_with(slot, "", owner).views().remove(0);
    Create::Taken(Box::new(job))
}

#[test]
fn a_job_that_is_there_already_and_ours_is_adopted() {
    let done = scene(json!({})).last(TEN).create(existing("cron-uid")).at(NOW);
    assert_eq!(done.active, [name("2026-03-01T11:00:00Z")]);
    assert_eq!(done.last().as_deref(), Some("2026-03-01T11:00:00Z"));
    assert!(!done.settled.needs_retry);
}

#[test]
fn a_job_of_ours_in_the_cache_without_a_slot_is_recorded_by_its_name() {
    // Kubernetes before 1.28 wrote no slot on its Jobs.
    let slot = "2026-03-01T11:00:00Z";
    let scene = scene(json!({})).last(TEN).job_with(slot, "Complete", json!({"annotations": {}}));
    let done = scene.at(NOW);
    assert_eq!((done.created.as_ref(), done.last().as_deref()), (None, Some(slot)));
    assert_eq!(done.active, [name(slot)], "its end is counted next");
    assert_eq!(done.verdict, StartDecision::Adopted { slot: at(slot) });
}

#[test]
fn a_foreign_job_that_holds_the_name_is_reported_and_the_slot_given_up() {
    for foreign in ["somebody", "the-uid-of-a-previous-incarnation"] {
        let done = scene(json!({})).last(TEN).create(existing(foreign)).at(NOW);
        assert_eq!((done.active.len(), done.reasons()), (0, vec!["FailedCreate"]));
        assert_eq!(done.condition("Settled").as_deref(), Some("False NameTaken"));
        assert_eq!((done.status.missed_runs, done.last().as_deref()), (1, Some(TEN)));
        assert!(done.settled.wake_at.is_some() && !done.settled.needs_retry);
        // It is not tried again, the condition stays, and the next slot runs.
        let status = serde_json::to_value(&done.status).unwrap();
        let quiet = scene(json!({})).status(status.clone()).at("2026-03-01T11:30:00Z");
        assert!(quiet.events.is_empty() && quiet.settled.status.is_none());
        let next = scene(json!({})).status(status).at("2026-03-01T12:00:00Z");
        assert_eq!(next.created, Some(name("2026-03-01T12:00:00Z")));
        assert_eq!(next.condition("Settled").as_deref(), Some("True Reconciled"));
    }
}

#[test]
fn an_invalid_job_template_is_told_and_tried_again() {
    let refused = Create::Refused("Job.batch \"job-1\" is invalid: spec.template: Required value");
    let done = scene(json!({})).last(TEN).create(refused).at(NOW);
    assert_eq!(
        done.events,
        [
            "FailedCreate: Error creating job: Job.batch \"job-1\" is invalid: spec.template: Required value"
        ]
    );
    assert_eq!(done.condition("Settled").as_deref(), Some("False ReconcileError"));
    assert!(done.settled.needs_retry);
    assert_eq!(done.last().as_deref(), Some(TEN), "the slot still waits");
}
