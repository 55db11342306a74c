//! Checks the number of missed slots (scheduled times whose deadline passed), where it can be
//! determined: no edit, no wrong clock, a deadline, and a policy under which only the latest
//! pending slot starts.
//!
//! A slot without a run is missed if its deadline had passed when a later slot started, because the
//! controller saw it then. Otherwise it is skipped. The time that the start took
//! is unknown, so the result is a range.

use crate::ConcurrencyPolicy::{Allow, Forbid};

use super::CheckContext;
use super::calm_periods::REACTION_MAX;
use super::cron_job_history::{CronJobHistory, OPEN_END, SpecPeriod};
use super::lost_slots::is_name_reserved;
use crate::oracle::{ScheduleOracle, UnixSeconds};
use crate::scenario::Millis;

pub(super) fn check(context: &mut CheckContext<'_>, cron_job: &CronJobHistory) {
    let Some((_, status)) = cron_job.statuses.last() else { return };
    let Some((least, most)) = bounds(context, cron_job) else { return };
    let missed = status.missed_runs;
    if missed < least || missed > most {
        let text = format!("missedRuns is {missed}, not {least} to {most}");
        context.report_for(cron_job, context.end, "missed", &text);
    }
}

/// The smallest and the largest possible number of misses; none if it cannot be determined.
fn bounds(context: &CheckContext<'_>, cron_job: &CronJobHistory) -> Option<(i64, i64)> {
    let period = only_active_period(cron_job)?;
    let deadline = period.spec.deadline? * 1000;
    let oracle = context.oracle(&period.spec)?;
    let is_determined = matches!(oracle, ScheduleOracle::Fields(..))
        && matches!(period.spec.policy, Allow | Forbid)
        && period.spec.jitter == 0
        && !context.clocks.were_wrong_before(context.end);
    if !is_determined {
        return None;
    }
    let slots = oracle.slots(cron_job.creation, context.second(period.to.min(context.end)));
    let mut least = 0;
    let mut most = 0;
    // A Job that a user deleted before it was recorded looks as if it had never been created.
    let is_unrecorded =
        |slot: UnixSeconds| cron_job.run_for(slot).is_none_or(|run| run.is_deleted_by_user);
    for slot in slots.iter().filter(|slot| is_unrecorded(**slot)) {
        let expires_at = context.millis(*slot) + deadline;
        let (certainly, at_most) = observed_until(context, cron_job, period, &slots, *slot);
        // A slot whose name is taken is missed at any time.
        let is_name_taken = is_name_taken(context, cron_job, *slot);
        let has_run = cron_job.run_for(*slot).is_some();
        least += i64::from(expires_at <= certainly && !is_name_taken && !has_run);
        most += i64::from(expires_at <= at_most || is_name_taken);
    }
    Some((least, most))
}

/// The only period in which the CronJob was not suspended, if it starts with the creation.
fn only_active_period(cron_job: &CronJobHistory) -> Option<&SpecPeriod> {
    let only = match cron_job.periods.as_slice() {
        [only] => only,
        [first, last] if last.spec.is_suspended && last.spec.has_schedule_of(&first.spec) => first,
        _ => return None,
    };
    (!only.spec.is_suspended).then_some(only)
}

/// Until when the controller certainly considered a slot, and until when at most, before it was
/// superseded.
fn observed_until(
    context: &CheckContext<'_>,
    cron_job: &CronJobHistory,
    period: &SpecPeriod,
    slots: &[UnixSeconds],
    slot: UnixSeconds,
) -> (Millis, Millis) {
    let later_runs = cron_job.runs.iter().filter(|run| run.slot > Some(slot));
    let superseded_at = later_runs.map(|run| run.created_at).min();
    let stop = period.to.min(context.end);
    if let Some(at) = superseded_at {
        return (at - context.calm_periods.staleness(at), at);
    }
    // The controller reconciles at every later slot in a calm period.
    let reconciles = slots.iter().map(|later| context.millis(*later));
    let is_certain = |at: &Millis| {
        *at + REACTION_MAX < stop && context.calm_periods.is_calm(*at, at + REACTION_MAX)
    };
    let last = reconciles.filter(is_certain).max().unwrap_or(-OPEN_END);
    (last, stop + context.calm_periods.staleness(stop))
}

fn is_name_taken(context: &CheckContext<'_>, cron_job: &CronJobHistory, slot: UnixSeconds) -> bool {
    let key = cron_job.job_key(slot);
    let is_held = context.observations.jobs_of_others(cron_job).any(|run| *run.key == *key);
    is_held || is_name_reserved(context, cron_job, slot)
}
