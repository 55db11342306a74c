//! Jobs that users created from a CronJob.

use punctual_engine::cronjob::StartDecision;
use serde_json::{Value, json};

use crate::fixture::{Fixture, Reconciled, at, fixture, job_name};

const TEN: &str = "2026-03-01T10:00:00Z";
const ELEVEN: &str = "2026-03-01T11:00:00Z";

/// A CronJob with a manual Job that was started at half past ten.
fn with_manual_job(policy: &str, result: &str, annotations: Value) -> Fixture {
    let manual = json!({"name": "manual", "uid": "x", "annotations":
        {"cronjob.kubernetes.io/instantiate": "manual"}});
    let fixture = fixture(json!({ "concurrencyPolicy": policy })).last_scheduled(TEN);
    let fixture = fixture.metadata(json!({ "annotations": annotations }));
    fixture.job_with("2026-03-01T10:30:00Z", result, manual)
}

fn is_blocked(result: &Reconciled) -> bool {
    result.start_decision == StartDecision::Blocked { slot: at(ELEVEN) }
}

#[test]
fn a_slot_waits_for_a_manual_job_with_every_policy_but_allow() {
    for policy in ["Forbid", "Replace", "CatchUp"] {
        let fixture = with_manual_job(policy, "", json!({})).counting_manual_jobs();
        let result = fixture.reconcile_at(ELEVEN);
        assert!(is_blocked(&result), "{policy}: {:?}", result.start_decision);
        assert_eq!(result.deleted, [""; 0], "{policy} deletes no manual Job");
        let message =
            "JobAlreadyActive: Not starting job because the manually created job manual is running";
        assert!(result.events.iter().any(|event| event == message), "{:?}", result.events);
        assert_eq!(result.next_scheduled().as_deref(), Some(ELEVEN), "{policy}");
    }
    let allowed = with_manual_job("Allow", "", json!({})).counting_manual_jobs();
    assert_eq!(allowed.reconcile_at(ELEVEN).created, Some(job_name(ELEVEN)));
}

#[test]
fn the_slot_starts_when_the_manual_job_has_ended() {
    for policy in ["Forbid", "Replace", "CatchUp"] {
        let fixture = with_manual_job(policy, "Complete", json!({})).counting_manual_jobs();
        let result = fixture.reconcile_at("2026-03-01T11:20:00Z");
        assert_eq!(result.created, Some(job_name(ELEVEN)), "{policy}");
    }
}

#[test]
fn an_annotation_decides_whether_manual_jobs_count() {
    let ignored = with_manual_job("Forbid", "", json!({"punctual.dev/manual-jobs": "Ignore"}));
    let ignored = ignored.counting_manual_jobs().reconcile_at(ELEVEN);
    assert_eq!(ignored.created, Some(job_name(ELEVEN)), "as in Kubernetes");
    let counted = with_manual_job("Forbid", "", json!({"punctual.dev/manual-jobs": "Count"}));
    assert!(is_blocked(&counted.reconcile_at(ELEVEN)));
    let default = with_manual_job("Forbid", "", json!({}));
    assert_eq!(default.reconcile_at(ELEVEN).created, Some(job_name(ELEVEN)));
}
