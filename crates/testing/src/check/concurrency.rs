//! Checks the concurrency policy: no overlap under Forbid and CatchUp (which runs all pending slots
//! in order), no survivor under Replace, which also waits for the Pods of a replaced run.

use crate::ConcurrencyPolicy::{self, CatchUp, Forbid, Replace};

use super::CheckContext;
use super::cron_job_history::{CronJobHistory, JobRun};
use super::requests;
use crate::scenario::Millis;

/// How long a slot waits for the Pods of a replaced run: their grace period and a minute more.
pub(super) const REPLACE_WAIT_MAX: Millis = 90_000;
/// Times in objects are whole seconds.
const ROUNDING: Millis = 1_000;

pub(super) fn check(context: &mut CheckContext<'_>, cron_job: &CronJobHistory) {
    for (index, run) in cron_job.runs.iter().enumerate() {
        let earlier = cron_job.runs.get(..index).unwrap_or_default();
        check_replaced_pods(context, cron_job, earlier, run);
        let Some(other) = earlier.iter().find(|other| is_active(other, run.created_at)) else {
            continue;
        };
        if requests::ignores_policy(context, run) {
            continue;
        }
        let rule = if has_policy(context, cron_job, run.created_at, &[Forbid, CatchUp]) {
            "overlap"
        } else if has_policy(context, cron_job, run.created_at, &[Replace]) {
            "not-replaced"
        } else {
            continue;
        };
        let text = format!("{} started while {} was active", run.name(), other.name());
        context.report_for(cron_job, run.created_at, rule, &text);
    }
}

/// Under Replace a run starts when the Pods of the replaced runs are gone, or after the longest wait. With
/// wrong clocks the end of the wait is unknown.
fn check_replaced_pods(
    context: &mut CheckContext<'_>,
    cron_job: &CronJobHistory,
    earlier: &[JobRun],
    run: &JobRun,
) {
    let at = run.created_at;
    let ignores_policy = requests::ignores_policy(context, run);
    if ignores_policy
        || !has_policy(context, cron_job, at, &[Replace])
        || context.clocks.were_wrong_before(at)
    {
        return;
    }
    let remains = |other: &&JobRun| {
        other.deleted_at <= at
            && other.active_until() > at
            && at + ROUNDING < other.deleted_at + REPLACE_WAIT_MAX
    };
    let Some(other) = earlier.iter().find(remains) else { return };
    let text = format!("{} started while Pods of {} were terminating", run.name(), other.name());
    context.report_for(cron_job, at, "replaced-pods-remain", &text);
}

/// Whether a Job is active and not being deleted.
fn is_active(run: &JobRun, at: Millis) -> bool {
    run.active_until() > at && run.deleted_at > at
}

/// Whether every spec that a process may have seen at this time has one of these policies.
pub(super) fn has_policy(
    context: &CheckContext<'_>,
    cron_job: &CronJobHistory,
    at: Millis,
    policies: &[ConcurrencyPolicy],
) -> bool {
    let mut visible = cron_job.visible_at(at, context.calm_periods.staleness(at));
    visible.all(|period| policies.contains(&period.spec.policy))
}
