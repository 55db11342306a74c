//! Tests of `pendingDeadlineSeconds`: a run of which no Pod starts is given up.

use serde_json::{Value, json};

use crate::fixture::{Fixture, Reconciled, at, fixture, job_name};

const TEN: &str = "2026-03-01T10:00:00Z";

/// A CronJob whose run of ten o'clock is active, with this status of its Job.
fn pending_run(spec: Value, status: Value) -> Fixture {
    let mut all = json!({"pendingDeadlineSeconds": 600, "concurrencyPolicy": "Forbid"});
    for (field, value) in spec.as_object().unwrap() {
        all[field] = value.clone();
    }
    fixture(all).last_scheduled(TEN).active_job(TEN).job_status(TEN, status)
}

fn given_up(reconciled: &Reconciled) -> Vec<&str> {
    reconciled.settled.jobs_to_give_up.iter().map(|job| job.name.as_str()).collect()
}

#[test]
fn a_run_without_a_ready_pod_is_given_up_at_the_deadline() {
    let fixture = pending_run(json!({}), json!({"active": 1, "ready": 0}));
    let early = fixture.reconcile_at("2026-03-01T10:09:59Z");
    assert_eq!(given_up(&early), [""; 0]);
    assert_eq!(early.settled.wake_at, Some(at("2026-03-01T10:10:00Z")));
    let due = fixture.reconcile_at("2026-03-01T10:10:00Z");
    let [job] = due.settled.jobs_to_give_up.as_slice() else { panic!("{:?}", due.settled) };
    assert_eq!((job.name.as_str(), job.deadline_seconds), (job_name(TEN).as_str(), 600));
    let event = job.given_up_event();
    assert_eq!(event.reason, "PendingDeadlineExceeded");
    assert!(event.message.contains("no Pod was ready 600 s after the start"), "{event:?}");
    assert_eq!(due.active, [job_name(TEN)], "the Job is counted when it has failed");
}

#[test]
fn a_run_that_shows_a_started_pod_is_never_given_up() {
    for status in [
        json!({"active": 1, "ready": 1}),
        json!({"active": 1}),
        json!({"active": 1, "ready": 0, "failed": 1}),
        json!({"active": 1, "ready": 0, "succeeded": 1}),
        json!({"active": 0, "ready": 0, "terminating": 1}),
        json!({"active": 0, "ready": 0, "uncountedTerminatedPods": {"failed": ["uid"]}}),
        json!({"active": 0, "ready": 0, "uncountedTerminatedPods": {"succeeded": ["uid"]}}),
        json!({"ready": 0, "conditions": [{"type": "FailureTarget", "status": "True"}]}),
        json!({"ready": 0, "conditions": [{"type": "SuccessCriteriaMet", "status": "True"}]}),
        json!({"ready": 0, "startTime": null}),
    ] {
        let fixture = pending_run(json!({}), status.clone());
        let late = fixture.reconcile_at("2026-03-01T10:30:00Z");
        assert_eq!(given_up(&late), [""; 0], "{status}");
        assert_eq!(late.settled.wake_at, Some(at("2026-03-01T11:00:00Z")), "{status}");
    }
}

#[test]
fn a_run_without_any_pod_is_given_up_too() {
    let quota = pending_run(json!({}), json!({"ready": 0, "uncountedTerminatedPods": {}}));
    assert_eq!(given_up(&quota.reconcile_at("2026-03-01T10:10:00Z")), [job_name(TEN)]);
}

#[test]
fn a_suspended_cron_job_still_gives_up_its_runs() {
    let fixture = pending_run(json!({"suspend": true}), json!({"active": 1, "ready": 0}));
    let early = fixture.reconcile_at("2026-03-01T10:05:00Z");
    assert_eq!(early.settled.wake_at, Some(at("2026-03-01T10:10:00Z")));
    assert_eq!(given_up(&fixture.reconcile_at("2026-03-01T10:10:00Z")), [job_name(TEN)]);
}

#[test]
fn a_run_is_given_up_once_and_not_if_its_own_deadline_is_earlier() {
    for own in [600, 60] {
        let fixture = pending_run(json!({}), json!({"active": 1, "ready": 0}));
        let fixture = fixture.job_spec(TEN, json!({"activeDeadlineSeconds": own}));
        assert_eq!(given_up(&fixture.reconcile_at("2026-03-01T10:30:00Z")), [""; 0], "{own}");
    }
    let fixture = pending_run(json!({}), json!({"active": 1, "ready": 0}));
    let fixture = fixture.job_spec(TEN, json!({"activeDeadlineSeconds": 601}));
    assert_eq!(given_up(&fixture.reconcile_at("2026-03-01T10:10:00Z")), [job_name(TEN)]);
}

#[test]
fn without_the_field_nothing_is_given_up() {
    for deadline in [Value::Null, json!(0), json!(-5)] {
        let status = json!({"active": 1, "ready": 0});
        let fixture = pending_run(json!({"pendingDeadlineSeconds": deadline}), status);
        assert_eq!(given_up(&fixture.reconcile_at("2026-03-05T10:00:00Z")), [""; 0]);
    }
}

#[test]
fn the_annotation_replaces_the_field() {
    let annotations = json!({"punctual.dev/pending-deadline-seconds": "600"});
    let fixture = pending_run(json!({"pendingDeadlineSeconds": null}), json!({"ready": 0}));
    let fixture = fixture.metadata(json!({ "annotations": annotations }));
    assert_eq!(given_up(&fixture.reconcile_at("2026-03-01T10:10:00Z")), [job_name(TEN)]);
}

#[test]
fn a_template_that_rules_the_deadline_out_is_reported() {
    let template = json!({"spec": {"template": {"spec": {"restartPolicy": "OnFailure"}}}});
    let fixture = pending_run(json!({"jobTemplate": template}), json!({"ready": 0}));
    let late = fixture.reconcile_at("2026-03-01T10:30:00Z");
    assert_eq!(given_up(&late), [""; 0]);
    let condition = late.condition("PendingDeadlineIgnored");
    assert_eq!(condition.as_deref(), Some("True TemplateConflict"));
}
