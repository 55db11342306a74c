//! Waits, under the policy `Replace`, until the Pods of the replaced Jobs are gone.
//!
//! Kubernetes deletes the active Jobs in the background and creates the new Job at once, so the old Pods
//! still run while they terminate. Here the Jobs are deleted in the foreground: the Job object exists until
//! the last of its Pods is gone, and the new Job is created after that. A Pod that does not end must not
//! stop the schedule, so the wait is bounded.

use jiff::{SignedDuration, Timestamp};
use punctual_api::cronjob::CronJobStatus;
use punctual_api::slot_record::RunResult;
use punctual_api::{ConcurrencyPolicy, Time, well_known::annotations};

use super::{
    Observed,
    job_view::JobView,
    plan::{Plan, StartDecision},
    reasons,
};
use crate::PendingEvent;

/// The value of [`annotations::REPLACE_DELETION`] with which a slot waits for the replaced Pods.
const FOREGROUND: &str = "Foreground";
/// The value with which it does not, as in Kubernetes.
const BACKGROUND: &str = "Background";

/// The grace period of a Pod whose template names none.
const GRACE_SECONDS_DEFAULT: i64 = 30;
/// How long after the longest wait a slot may start.
const WAIT_REACTION: SignedDuration = SignedDuration::from_secs(10);
/// How long a slot waits after the grace period of the replaced Pods.
const WAIT_AFTER_GRACE: SignedDuration = SignedDuration::from_secs(60);

/// Postpones the Job of the slot while Jobs that it replaces exist.
pub(crate) fn wait_for_replaced_pods(observed: &Observed<'_>, plan: &mut Plan, now: Timestamp) {
    let policy = observed.gates.concurrency_policy(observed.cron_job);
    let StartDecision::Due { slot } = plan.start_decision else { return };
    if policy != ConcurrencyPolicy::Replace || !waits(observed) {
        return;
    }
    plan.replaces_in_foreground = true;
    if !plan.jobs_to_replace.is_empty() {
        plan.job_to_create = None;
        plan.start_decision = StartDecision::WaitingForPods { slot, until: None };
        return;
    }
    let Some((job, until)) = last_terminating_job(observed) else { return };
    if now < until {
        plan.job_to_create = None;
        plan.start_decision = StartDecision::WaitingForPods { slot, until: Some(until) };
    } else {
        plan.events.push(waited_too_long_event(job));
    }
}

/// Returns since when slots wait for the Pods of replaced Jobs; `None` if the wait is over. The starting deadline
/// does not pass meanwhile: a run must not be deleted for a slot that then does not start.
pub(crate) fn waiting_since(
    observed: &Observed<'_>,
    status: &CronJobStatus,
    now: Timestamp,
) -> Option<Timestamp> {
    let policy = observed.gates.concurrency_policy(observed.cron_job);
    if policy != ConcurrencyPolicy::Replace || !waits(observed) {
        return None;
    }
    let last_started = status.slots.iter().filter(|record| {
        record.is_scheduled() && record.slot.is_some() && record.slot == status.last_schedule_time
    });
    let replaced = last_started.filter(|record| record.result == Some(RunResult::Replaced));
    let since = replaced.filter_map(|record| record.completion_time).map(Time::timestamp).max()?;
    let is_waiting = now.duration_since(since) <= wait_max(observed) + WAIT_REACTION;
    is_waiting.then(|| since.min(now))
}

/// Whether a new run waits until the Pods of the runs that it replaces are gone.
pub(crate) fn waits(observed: &Observed<'_>) -> bool {
    match observed.cron_job.metadata.annotation(annotations::REPLACE_DELETION) {
        Some(FOREGROUND) => true,
        Some(BACKGROUND) => false,
        _ => observed.waits_for_replaced_pods,
    }
}

/// Returns the terminating Job to wait for longest, and until when. A finished Job has no running Pods.
pub(crate) fn last_terminating_job<'a>(
    observed: &Observed<'a>,
) -> Option<(&'a JobView, Timestamp)> {
    let name = &observed.cron_job.metadata.name;
    let limit = wait_max(observed);
    let jobs: &'a [JobView] = observed.jobs;
    let terminating =
        jobs.iter().filter(|job| job.result.is_none() && job.slot_for(name).is_some());
    let waits = terminating.filter_map(|job| {
        let until = job.deleted_at?.checked_add(limit).unwrap_or(Timestamp::MAX);
        Some((job, until))
    });
    waits.max_by_key(|(_, until)| *until)
}

/// How long a slot waits at most: the grace period of the current template, and some time more.
fn wait_max(observed: &Observed<'_>) -> SignedDuration {
    let template = observed.cron_job.job_template().unwrap_or_default();
    let seconds = template.spec.template.spec.termination_grace_period_seconds;
    let seconds = seconds.unwrap_or(GRACE_SECONDS_DEFAULT).clamp(0, i64::from(i32::MAX));
    SignedDuration::from_secs(seconds) + WAIT_AFTER_GRACE
}

/// The event about a run that starts although Pods of a replaced run remain.
pub(crate) fn waited_too_long_event(job: &JobView) -> PendingEvent {
    PendingEvent::warning(
        reasons::REPLACED_PODS_REMAIN,
        format!(
            "Starting a job although Pods of the replaced job {} are still terminating after their grace \
             period; check the node that they run on",
            job.name
        ),
    )
}
