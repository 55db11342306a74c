//! Every slot up to the last recorded one was started, is missed or is skipped: the number of skipped
//! slots is the number of slots that were neither started nor missed.
//!
//! This always holds, even with wrong clocks. Only edits of the schedule are excluded, because
//! the slots that were pending at an edit are dropped, and intervals with a deadline, because the deadline
//! moves their slots.

use std::collections::BTreeSet;

use super::CheckContext;
use super::cron_job_history::{CronJobHistory, JobRun};
use super::objects::StoredStatus;
use crate::oracle::{ScheduleOracle, UnixSeconds};

pub(super) fn check(context: &mut CheckContext<'_>, cron_job: &CronJobHistory) {
    let Some((_, status)) = cron_job.statuses.last() else { return };
    let Some((least, most)) = bounds(context, cron_job, status) else { return };
    let skipped = status.skipped_runs;
    if skipped < least || skipped > most {
        let text = format!("skippedRuns is {skipped}, not {least} to {most}");
        context.report_for(cron_job, context.end, "skipped", &text);
    }
}

/// The smallest and the largest possible number of skipped slots; none if it cannot be determined.
fn bounds(
    context: &CheckContext<'_>,
    cron_job: &CronJobHistory,
    status: &StoredStatus,
) -> Option<(i64, i64)> {
    let spec = cron_job.last_spec()?;
    let mut periods = cron_job.periods.iter();
    if !cron_job.exists_at_end() || !periods.all(|period| period.spec.has_schedule_of(spec)) {
        return None;
    }
    let recorded = status.last_decided_slot();
    let recorded = recorded.map_or(cron_job.creation, |recorded| recorded.as_second());
    let slots = slots_until(context.oracle(spec)?, cron_job, recorded)?;
    let count_started = |is_counted: fn(&JobRun) -> bool| {
        let runs = cron_job.runs.iter().filter(|run| is_counted(run));
        let started: BTreeSet<UnixSeconds> = runs.filter_map(|run| run.slot).collect();
        slots.intersection(&started).count() as i64
    };
    let not_missed = slots.len() as i64 - status.missed_runs;
    // A Job that a user deleted before it was recorded looks as if it had never been created.
    let most = not_missed - count_started(|run| !run.is_deleted_by_user);
    let least = not_missed - count_started(|_| true);
    Some((least, most))
}

/// The slots since the creation; none for an interval with a deadline.
fn slots_until(
    oracle: &ScheduleOracle,
    cron_job: &CronJobHistory,
    until: UnixSeconds,
) -> Option<BTreeSet<UnixSeconds>> {
    let creation = cron_job.creation;
    let ScheduleOracle::Every(interval) = oracle else {
        return Some(oracle.slots(creation, until).into_iter().collect());
    };
    let has_deadline = cron_job.periods.iter().any(|period| period.spec.deadline.is_some());
    let count = (until - creation) / interval;
    (!has_deadline).then(|| (1..=count).map(|n| creation + n * interval).collect())
}
