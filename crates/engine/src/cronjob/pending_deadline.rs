//! Finds the runs to give up: those of which no Pod started within `spec.pendingDeadlineSeconds`. A Pod
//! has started if it was ready or has ended.
//!
//! A run is given up by setting `activeDeadlineSeconds` of its Job, so that the Job fails and stays in
//! the history. The decision reads the status of the Job only.

use jiff::{SignedDuration, Timestamp};
use punctual_api::cronjob::pending_deadline_conflicts;

use super::{
    Observed, StartDecision, active_jobs,
    job_view::JobView,
    plan::{GiveUpJob, Plan},
};

/// Finds the active Jobs to give up, and plans a wake-up at the next pending
/// deadline.
pub(crate) fn find_runs_to_give_up(observed: &Observed<'_>, plan: &mut Plan, now: Timestamp) {
    let Some(seconds) = observed.cron_job.pending_deadline_seconds() else { return };
    if plan.start_decision == StartDecision::Deleted {
        return;
    }
    plan.conditions.pending_deadline_ignored = conflict_message(observed);
    if plan.conditions.pending_deadline_ignored.is_some() {
        return;
    }
    for job in observed.jobs {
        let Some(deadline) = deadline(job, seconds) else { continue };
        if !is_unstarted(job, plan, seconds) {
            continue;
        }
        if deadline <= now {
            plan.jobs_to_give_up.push(GiveUpJob {
                name: job.name.clone(),
                uid: job.uid.clone(),
                resource_version: job.resource_version.clone(),
                slot: job.slot,
                deadline_seconds: seconds,
            });
        } else {
            plan.wake_at = Some(plan.wake_at.map_or(deadline, |wake_at| wake_at.min(deadline)));
        }
    }
}

/// Whether an active Job has no started Pod, and its `activeDeadlineSeconds` is longer than the pending
/// deadline. Giving up a run sets `activeDeadlineSeconds`, so a run is given up only once.
fn is_unstarted(job: &JobView, plan: &Plan, seconds: i64) -> bool {
    job.has_no_started_pod
        && !job.is_deleting()
        && active_jobs::is_listed(&plan.status, &job.uid)
        && job.active_deadline_seconds.is_none_or(|own| own > seconds)
}

fn deadline(job: &JobView, seconds: i64) -> Option<Timestamp> {
    job.started_at?.checked_add(SignedDuration::from_secs(seconds)).ok()
}

/// Returns why the deadline is ignored, if the template rules it out. Our server rejects such a
/// template, but others do not.
fn conflict_message(observed: &Observed<'_>) -> Option<String> {
    let template = observed.cron_job.job_template().unwrap_or_default();
    let conflict = pending_deadline_conflicts(&template).into_iter().next()?;
    Some(format!(
        "pendingDeadlineSeconds is ignored because the Pod template has {}: {}",
        conflict.field, conflict.reason
    ))
}
