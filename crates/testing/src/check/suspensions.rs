//! Checks that a suspension with an end is over at that time.

use super::CheckContext;
use super::calm_periods::REACTION_MAX;
use super::cron_job_history::{CronJobHistory, SpecPeriod};
use crate::scenario::Millis;

pub(super) fn check(context: &mut CheckContext<'_>, cron_job: &CronJobHistory) {
    if context.clocks.were_wrong_before(context.end) {
        return;
    }
    let periods = cron_job.periods.iter();
    let late = periods.filter_map(|period| resumed_too_late(context, period)).collect::<Vec<_>>();
    let early = resumed_too_early(context, cron_job);
    for (at, text) in late.into_iter().chain(early) {
        context.report_for(cron_job, at, "suspension", text);
    }
}

/// A suspension that a calm period after its end did not end.
fn resumed_too_late(
    context: &CheckContext<'_>,
    period: &SpecPeriod,
) -> Option<(Millis, &'static str)> {
    if !period.spec.is_suspended {
        return None;
    }
    let until = period.spec.suspended_until?;
    let until = (until.as_millisecond() - context.epoch).max(period.from);
    let is_too_late = |calm: &&(Millis, Millis)| {
        calm.0.max(until) + REACTION_MAX <= calm.1.min(period.to).min(context.end)
    };
    let calm = context.calm_periods.calm.iter().find(is_too_late)?;
    Some((calm.0.max(until), "is not resumed at the end of its suspension"))
}

/// A suspension that ended before its time although no user resumed the CronJob: a user leaves the
/// annotation.
fn resumed_too_early(
    context: &CheckContext<'_>,
    cron_job: &CronJobHistory,
) -> Option<(Millis, &'static str)> {
    let pairs = cron_job.periods.iter().zip(cron_job.periods.iter().skip(1));
    let mut resumed = pairs.filter(|(period, next)| {
        let is_resumed = period.spec.is_suspended && !next.spec.is_suspended;
        is_resumed && next.spec.suspended_until.is_none()
    });
    let (_, next) = resumed.find(|(period, next)| {
        let until = period.spec.suspended_until.map(|until| until.as_millisecond() - context.epoch);
        until.is_some_and(|until| next.from < until)
    })?;
    Some((next.from, "is resumed before the end of its suspension"))
}
