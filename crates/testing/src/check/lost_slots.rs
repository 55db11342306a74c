//! Checks that every slot (scheduled time) that could run was run, and in time.
//!
//! A slot could run if there was a calm period after it, before its deadline and before the next slot
//! superseded it, in which no run blocked it. Its Job must exist by the end of the reaction time. Under
//! CatchUp no slot supersedes another: whenever no run is active, the oldest pending slot must start.

use crate::ConcurrencyPolicy;

use super::calm_periods::REACTION_MAX;
use super::concurrency::REPLACE_WAIT_MAX;
use super::cron_job_history::{CronJobHistory, OPEN_END, SpecPeriod};
use super::objects::StoredStatus;
use super::starts::SKEW_MAX;
use super::{CheckContext, Finding, format_slot};
use crate::oracle::{ScheduleOracle, UnixSeconds};
use crate::scenario::Millis;

/// A slot this soon after an edit may still be handled by the old spec.
const EDIT_SETTLING: Millis = 60_000;

pub(super) fn check(context: &mut CheckContext<'_>, cron_job: &CronJobHistory) {
    let mut findings = Vec::new();
    let mut required = 0;
    let mut not_run = 0;
    for period in cron_job.periods.iter().filter(|period| !period.spec.is_suspended) {
        if let Some(ScheduleOracle::Every(interval)) = context.oracle(&period.spec) {
            findings.extend(missing_interval(context, cron_job, period, *interval));
            continue;
        }
        for window in start_windows(context, cron_job, period) {
            not_run += u64::from(cron_job.run_for(window.slot).is_none());
            let Some(due_by) = due_by(context, cron_job, period, &window) else { continue };
            required += 1;
            findings.extend(lost_slot(context, cron_job, period, &window, due_by));
        }
    }
    context.report.slots += required;
    context.report.not_run += not_run;
    for (at, rule, text) in findings {
        context.report_for(cron_job, at, rule, &text);
    }
}

/// When a slot may start.
struct StartWindow {
    slot: UnixSeconds,
    from: Millis,
    to: Millis,
}

/// The slots of a period and when they may start by any clock.
fn start_windows(
    context: &CheckContext<'_>,
    cron_job: &CronJobHistory,
    period: &SpecPeriod,
) -> Vec<StartWindow> {
    let Some(oracle) = context.oracle(&period.spec) else { return Vec::new() };
    let to = period.to.min(context.end);
    let slots = oracle.slots(context.second(period.from), context.second(to));
    let next_slots = slots.iter().skip(1).map(|next| context.millis(*next)).chain([OPEN_END]);
    let is_checked = |slot: UnixSeconds| {
        if period.from == cron_job.created_at {
            slot > cron_job.creation
        } else {
            context.millis(slot) >= period.from + EDIT_SETTLING
        }
    };
    let checked = slots.iter().zip(next_slots).filter(|(slot, _)| is_checked(**slot));
    checked.filter_map(|(slot, next)| start_window(context, period, *slot, next)).collect()
}

fn start_window(
    context: &CheckContext<'_>,
    period: &SpecPeriod,
    slot: UnixSeconds,
    next: Millis,
) -> Option<StartWindow> {
    let spec = &period.spec;
    let at = context.millis(slot);
    let next = if spec.policy == ConcurrencyPolicy::CatchUp { OPEN_END } else { next };
    let deadline = spec.deadline.map_or(OPEN_END, |deadline| at + deadline.saturating_mul(1000));
    let to = period.to.min(context.end).min(next).min(deadline);
    let skew = context.clocks.controllers(at - SKEW_MAX, to);
    if skew.size() > SKEW_MAX {
        return None;
    }
    let from = at + context.jitter_max(spec, slot)? + skew.behind();
    let to = period.to.min(context.end).min(next.min(deadline) - skew.ahead());
    Some(StartWindow { slot, from, to })
}

/// When a slot must have started: the end of the first reaction time in which it could; none if it could
/// not.
fn due_by(
    context: &CheckContext<'_>,
    cron_job: &CronJobHistory,
    period: &SpecPeriod,
    window: &StartWindow,
) -> Option<Millis> {
    let waits = period.spec.policy.waits();
    for calm in startable_periods(context, period) {
        let mut from = calm.0.max(window.from);
        let to = calm.1.min(window.to);
        if waits {
            from = idle_from(cron_job, from);
        } else if period.spec.policy == ConcurrencyPolicy::Replace {
            from = requested_until(cron_job, replaced_from(cron_job, from));
        }
        if from + REACTION_MAX <= to {
            return Some(from + REACTION_MAX);
        }
    }
    None
}

/// The periods in which a slot must start. Other policies than Allow depend on the status: it shows the
/// end of the previous run, or must record the run to replace.
fn startable_periods<'a>(
    context: &'a CheckContext<'_>,
    period: &SpecPeriod,
) -> &'a [(Millis, Millis)] {
    match period.spec.policy {
        ConcurrencyPolicy::Allow => &context.calm_periods.startable,
        _ => &context.calm_periods.calm,
    }
}

/// The first time from which no run is active for the reaction time.
fn idle_from(cron_job: &CronJobHistory, mut from: Millis) -> Millis {
    // Runs are in order of their creation.
    for run in &cron_job.runs {
        if run.created_at < from + REACTION_MAX && run.active_until() > from {
            from = run.active_until();
        }
    }
    from
}

/// The first time from which no replaced run has terminating Pods.
fn replaced_from(cron_job: &CronJobHistory, mut from: Millis) -> Millis {
    for run in &cron_job.runs {
        let gone_at = run.active_until().min(run.deleted_at + REPLACE_WAIT_MAX);
        if run.deleted_at < from + REACTION_MAX && gone_at > from {
            from = gone_at;
        }
    }
    from
}

/// The first time from which no requested run is active for the reaction time. Replace does not delete them.
fn requested_until(cron_job: &CronJobHistory, mut from: Millis) -> Millis {
    for run in cron_job.runs.iter().filter(|run| run.request.is_some()) {
        if run.created_at < from + REACTION_MAX && run.active_until() > from {
            from = run.active_until();
        }
    }
    from
}

/// A slot that did not start, or not in time although the period since the slot was calm.
fn lost_slot(
    context: &CheckContext<'_>,
    cron_job: &CronJobHistory,
    period: &SpecPeriod,
    window: &StartWindow,
    due_by: Millis,
) -> Option<Finding> {
    let run = cron_job.run_for(window.slot);
    let started_at = run.map_or(OPEN_END, |run| run.created_at);
    if started_at <= due_by || is_name_taken(context, cron_job, window) {
        return None;
    }
    if was_passed_over(context, cron_job, window.slot, due_by) {
        return None;
    }
    let slot = format_slot(window.slot);
    if run.is_none() {
        let text = format!("slot {slot} was due by {due_by} ms and did not run");
        return Some((due_by, "lost-slot", text));
    }
    // After a fault the controller may be waiting for a retry.
    let slot_at = context.millis(window.slot);
    let mut calm = startable_periods(context, period).iter();
    let is_late = calm.any(|calm| calm.0 <= slot_at && due_by <= calm.1);
    is_late.then(|| {
        let text = format!("slot {slot} started at {started_at} ms, not by {due_by} ms");
        (due_by, "tardy-slot", text)
    })
}

/// Whether a foreign Job had the name, so that the slot was given up.
fn is_name_taken(
    context: &CheckContext<'_>,
    cron_job: &CronJobHistory,
    window: &StartWindow,
) -> bool {
    let key = cron_job.job_key(window.slot);
    let mut holders = context.observations.jobs_of_others(cron_job).filter(|run| *run.key == *key);
    holders.any(|run| run.created_at <= window.to && run.removed_at >= window.from - SKEW_MAX)
        || is_name_reserved(context, cron_job, window.slot)
}

/// Whether an older object with the same name has the slot too. The names of the Jobs belong to the older one,
/// whether or not it starts the slot.
pub(super) fn is_name_reserved(
    context: &CheckContext<'_>,
    cron_job: &CronJobHistory,
    slot: UnixSeconds,
) -> bool {
    let has_slot = |period: &SpecPeriod| {
        let oracle = context.oracle(&period.spec);
        oracle.is_some_and(|oracle| oracle.slots(slot - 1, slot).contains(&slot))
    };
    let mut others = context.observations.cron_jobs.iter().filter(|other| {
        other.uid != cron_job.uid
            && (&other.namespace, &other.name) == (&cron_job.namespace, &cron_job.name)
            && other.creation <= cron_job.creation
            && other.deleted_at >= context.millis(slot) - SKEW_MAX
    });
    others.any(|other| other.periods.iter().any(has_slot))
}

/// Whether a clock that was ahead made the controller record the slot as missed, or a later one as
/// started, before its time. Without such a clock this is no excuse.
fn was_passed_over(
    context: &CheckContext<'_>,
    cron_job: &CronJobHistory,
    slot: UnixSeconds,
    by: Millis,
) -> bool {
    let recorded = if context.clocks.were_wrong_before(by) {
        let status = cron_job.status_at(by);
        status.and_then(StoredStatus::last_decided_slot)
    } else {
        None
    };
    let edited = cron_job.periods.iter().rev().find(|period| period.from <= by);
    // The server may have recorded a later time of the edit.
    let is_before_edit = edited.is_some_and(|period| {
        let since = period.scheduled_since;
        context.millis(slot) <= since + context.clocks.server(since, since).ahead()
    });
    recorded.is_some_and(|recorded| recorded.as_second() >= slot) || is_before_edit
}

/// An interval schedule without a start for more than two intervals of a calm period.
fn missing_interval(
    context: &CheckContext<'_>,
    cron_job: &CronJobHistory,
    period: &SpecPeriod,
    interval: i64,
) -> Option<Finding> {
    let spec = &period.spec;
    // Jitter and clocks move a run within its interval. A deadline may be too short for both.
    let longest = 3 * interval * 1000 + 2 * REACTION_MAX;
    if spec.deadline.is_some_and(|deadline| deadline * 1000 <= longest) {
        return None;
    }
    if context.clocks.were_wrong_before(period.to.min(context.end)) {
        return None;
    }
    let waits = period.spec.policy.waits();
    for calm in &context.calm_periods.calm {
        let mut from = calm.0.max(period.from);
        let to = calm.1.min(period.to).min(context.end);
        for run in &cron_job.runs {
            let until = if waits || run.request.is_some() {
                run.active_until().max(run.created_at)
            } else if run.deleted_at < OPEN_END {
                // Replace waits until the Pods of the run are gone.
                run.active_until().min(run.deleted_at + REPLACE_WAIT_MAX).max(run.created_at)
            } else {
                run.created_at
            };
            if run.created_at <= from + longest {
                from = from.max(until);
            }
        }
        if from + longest < to {
            let text = format!("nothing started after {from} ms with an interval of {interval} s");
            return Some((from + longest, "lost-slot", text));
        }
    }
    None
}
