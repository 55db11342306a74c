//! Tests of the Job manifest of a slot (a scheduled time), and of Jobs that already have its name.

use punctual_api::names;
use punctual_engine::cronjob::{CreateJob, JobView, StartDecision, build_job_manifest};
use serde_json::{Value, json};

use crate::fixture::{CreateResponse, Fixture, at, fixture, job_name};

const TEN: &str = "2026-03-01T10:00:00Z";
const NOW: &str = "2026-03-01T11:00:05Z";

fn job(fixture: &Fixture, slot: &str) -> Value {
    let create = CreateJob {
        name: names::job_name("job", at(slot)),
        slot: at(slot),
        ..CreateJob::default()
    };
    let text =
        build_job_manifest(&fixture.cron_job(), Some(&fixture.timetable()), &create).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn a_job_name_has_the_minute_or_the_second_of_its_slot() {
    assert_eq!(job(&fixture(json!({})), TEN)["metadata"]["name"], "job-29539320");
    let every = fixture(json!({"schedule": "@every 90s"}));
    assert_eq!(job(&every, "2026-03-01T10:01:30Z")["metadata"]["name"], "job-1772359290");
}

#[test]
fn the_job_and_its_pods_are_annotated_with_cron_job_slot_and_previous_slot() {
    let template = json!({
        "metadata": {"labels": {"a": "b"}, "annotations": {"x": "y"}, "name": "overridden"},
        "spec": {"template": {"metadata": {"annotations": {"z": "w"}}, "spec": {"new": [1.50]}}},
    });
    let spec =
        json!({"schedule": "30 2 * * *", "timeZone": "Europe/Berlin", "jobTemplate": template});
    let job = job(&fixture(spec), "2026-03-30T00:30:00Z");
    let run_annotations = json!({
        "batch.kubernetes.io/cronjob-scheduled-timestamp": "2026-03-30T02:30:00+02:00",
        // 02:30 on the 29th does not exist: the clocks moved forward.
        "punctual.dev/previous-scheduled-timestamp": "2026-03-28T02:30:00+01:00",
        "punctual.dev/cronjob-name": "job",
        "punctual.dev/cronjob-uid": "cron-uid",
        "punctual.dev/cronjob-kind": "CronJob",
    });
    let with = |key: &str, value: &str| {
        let mut all = run_annotations.clone();
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
fn the_owner_reference_has_the_kind_of_the_cron_job() {
    let owner = |fixture: &Fixture| job(fixture, TEN)["metadata"]["ownerReferences"].clone();
    assert_eq!(
        owner(&fixture(json!({}))),
        json!([{"apiVersion": "batch/v1", "kind": "CronJob", "name": "job", "uid": "cron-uid",
            "controller": true, "blockOwnerDeletion": true}])
    );
}

#[test]
fn a_job_with_a_time_to_live_gets_our_finalizer() {
    let template = json!({"spec": {"ttlSecondsAfterFinished": 0, "template": {}}});
    let with_ttl = job(&fixture(json!({"jobTemplate": template})), TEN);
    assert_eq!(with_ttl["metadata"]["finalizers"], json!(["punctual.dev/slot-recorded"]));
    assert_eq!(job(&fixture(json!({})), TEN)["metadata"]["finalizers"], Value::Null);
}

#[test]
fn the_kind_annotation_names_the_kind_of_the_cron_job() {
    let kind = |api_version: &str, kind: &str| {
        let fixture = fixture(json!({})).gvk(api_version, kind);
        job(&fixture, TEN)["metadata"]["annotations"]["punctual.dev/cronjob-kind"].clone()
    };
    assert_eq!(kind("batch/v1", "CronJob"), "CronJob");
    assert_eq!(kind("batch/v1beta1", "CronJob"), "CronJob");
    assert_eq!(kind("punctual.dev/v1", "ScheduledJob"), "ScheduledJob");
}

#[test]
fn a_template_cannot_override_slot_and_cron_job() {
    let annotations = json!({
        "batch.kubernetes.io/cronjob-scheduled-timestamp": "1999-01-01T00:00:00Z",
        "punctual.dev/cronjob-name": "other",
        "punctual.dev/cronjob-uid": "other",
        "punctual.dev/cronjob-kind": "other",
    });
    let metadata = json!({ "annotations": annotations });
    let template = json!({"metadata": metadata, "spec": {"template": {"metadata": metadata}}});
    let job = job(&fixture(json!({"jobTemplate": template})), TEN);
    for metadata in [&job["metadata"], &job["spec"]["template"]["metadata"]] {
        let annotations = &metadata["annotations"];
        assert_eq!(annotations["batch.kubernetes.io/cronjob-scheduled-timestamp"], TEN);
        assert_eq!(annotations["punctual.dev/cronjob-name"], "job");
        assert_eq!(annotations["punctual.dev/cronjob-uid"], "cron-uid");
        assert_eq!(annotations["punctual.dev/cronjob-kind"], "CronJob");
    }
}

fn existing(controller_uid: &str) -> CreateResponse {
    let slot = "2026-03-01T11:00:00Z";
    let owner = json!({"ownerReferences": [{"uid": controller_uid, "controller": true}]});
    let job: JobView = fixture(json!({})).job_with(slot, "", owner).views().remove(0);
    CreateResponse::NameTaken(Box::new(job))
}

#[test]
fn an_existing_job_of_the_cron_job_is_recorded() {
    let result =
        fixture(json!({})).last_scheduled(TEN).create(existing("cron-uid")).reconcile_at(NOW);
    assert_eq!(result.active, [job_name("2026-03-01T11:00:00Z")]);
    assert_eq!(result.last_slot().as_deref(), Some("2026-03-01T11:00:00Z"));
    assert!(!result.settled.needs_retry);
}

#[test]
fn a_cached_job_without_a_slot_annotation_is_recorded_by_its_name() {
    // Kubernetes before 1.28 did not annotate Jobs with their slot.
    let slot = "2026-03-01T11:00:00Z";
    let fixture = fixture(json!({})).last_scheduled(TEN).job_with(
        slot,
        "Complete",
        json!({"annotations": {}}),
    );
    let result = fixture.reconcile_at(NOW);
    assert_eq!((result.created.as_ref(), result.last_slot().as_deref()), (None, Some(slot)));
    assert_eq!(result.active, [job_name(slot)], "the next reconcile counts it");
    assert_eq!(result.start_decision, StartDecision::Adopted { slot: at(slot) });
}

#[test]
fn a_slot_is_missed_if_a_job_of_another_owner_has_its_name() {
    for foreign in ["another-uid", "uid-of-a-deleted-cron-job-of-this-name"] {
        let result =
            fixture(json!({})).last_scheduled(TEN).create(existing(foreign)).reconcile_at(NOW);
        assert_eq!((result.active.len(), result.reasons()), (0, vec!["FailedCreate"]));
        assert_eq!(result.condition("Settled").as_deref(), Some("False NameTaken"));
        assert_eq!((result.status.missed_runs, result.last_slot().as_deref()), (1, Some(TEN)));
        assert!(result.settled.wake_at.is_some() && !result.settled.needs_retry);
        // The slot is not retried, the condition stays, and the next slot runs.
        let status = serde_json::to_value(&result.status).unwrap();
        let between =
            fixture(json!({})).status(status.clone()).reconcile_at("2026-03-01T11:30:00Z");
        assert!(between.events.is_empty() && between.settled.status.is_none());
        let next = fixture(json!({})).status(status).reconcile_at("2026-03-01T12:00:00Z");
        assert_eq!(next.created, Some(job_name("2026-03-01T12:00:00Z")));
        assert_eq!(next.condition("Settled").as_deref(), Some("True Reconciled"));
    }
}

#[test]
fn a_rejected_create_is_reported_and_retried() {
    let rejected =
        CreateResponse::Rejected("Job.batch \"job-1\" is invalid: spec.template: Required value");
    let result = fixture(json!({})).last_scheduled(TEN).create(rejected).reconcile_at(NOW);
    assert_eq!(
        result.events,
        [
            "FailedCreate: Error creating job: Job.batch \"job-1\" is invalid: spec.template: Required value"
        ]
    );
    assert_eq!(result.condition("Settled").as_deref(), Some("False ReconcileError"));
    assert!(result.settled.needs_retry);
    assert_eq!(result.last_slot().as_deref(), Some(TEN), "the slot is still pending");
}
