//! Deletes a finished Job and its Pods after `ttlSecondsAfterFinished`.

use jiff::{SignedDuration, Timestamp};
use punctual_api::Job;
use punctual_api::job::condition;

use super::plan::{DeleteJob, Plan, PodKey};
use super::pod_view::PodView;

/// Plans the remaining effects for a finished Job.
pub(super) fn plan_finished_job(job: &Job, pods: &[PodView], now: Timestamp) -> Plan {
    // A Pod with the finalizer could never be deleted. A finished Job should have none.
    let still_tracked = pods.iter().filter(|pod| pod.is_tracked).map(PodKey::from_view).collect();
    let mut plan = Plan { finalizers_to_remove: still_tracked, ..Plan::default() };
    match expires_at(job) {
        Some(expires_at) if expires_at <= now => {
            plan.delete_job = Some(DeleteJob {
                uid: job.metadata.uid.clone(),
                resource_version: job.metadata.resource_version.clone(),
            });
        }
        expires_at => plan.wake_at = expires_at,
    }
    plan
}

/// Returns when the time to live ends. A Job without one never expires, nor does a Job that is
/// already being deleted.
fn expires_at(job: &Job) -> Option<Timestamp> {
    if job.metadata.deletion_timestamp.is_some() {
        return None;
    }
    let ttl = job.spec.ttl_seconds_after_finished?;
    let finished = job.status.conditions.iter().find(|c| {
        c.status == "True"
            && (c.condition_type == condition::COMPLETE || c.condition_type == condition::FAILED)
    })?;
    let finished_at = finished.last_transition_time?.timestamp();
    finished_at.checked_add(SignedDuration::from_secs(i64::from(ttl))).ok()
}
