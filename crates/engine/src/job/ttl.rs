//! A Job that has ended: it is kept for `ttlSecondsAfterFinished`, then deleted with its Pods.

use jiff::{SignedDuration, Timestamp};
use punctual_api::Job;
use punctual_api::job::condition;

use super::plan::{DeleteJob, Plan, PodKey};
use super::pod_view::PodView;

/// What is left to do for a Job that has ended.
pub(super) fn plan(job: &Job, pods: &[PodView], now: Timestamp) -> Plan {
    // None should be tracked any more; one that is could never be deleted.
    let stray = pods.iter().filter(|pod| pod.is_tracked).map(PodKey::of).collect();
    let expires_at = expires_at(job);
    let is_expired = expires_at.is_some_and(|expires_at| expires_at <= now);
    Plan {
        finalizers_to_remove: stray,
        delete_job: is_expired.then(|| DeleteJob {
            uid: job.metadata.uid.clone(),
            resource_version: job.metadata.resource_version.clone(),
        }),
        wake_at: expires_at.filter(|_| !is_expired),
        ..Plan::default()
    }
}

/// When the time to live is over; absent for a Job without one, or that is being deleted already.
fn expires_at(job: &Job) -> Option<Timestamp> {
    if job.metadata.deletion_timestamp.is_some() {
        return None;
    }
    let ttl = job.spec.ttl_seconds_after_finished?;
    let ended = job.status.conditions.iter().find(|c| {
        c.status == "True"
            && (c.condition_type == condition::COMPLETE || c.condition_type == condition::FAILED)
    })?;
    let finished_at = ended.last_transition_time?.timestamp();
    finished_at.checked_add(SignedDuration::from_secs(i64::from(ttl))).ok()
}
