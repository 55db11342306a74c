//! Checks every started Job: the right slot (scheduled time), once, in order and at the right time.

use super::calm_periods::REACTION_MAX;
use super::concurrency::REPLACE_WAIT_MAX;
use super::cron_job_history::{CronJobHistory, JobRun, OPEN_END, SpecPeriod};
use super::{CheckContext, format_slot};
use crate::ConcurrencyPolicy;
use crate::oracle::{ScheduleOracle, UnixSeconds};
use crate::scenario::Millis;

/// Times in objects are whole seconds.
const ROUNDING: Millis = 1_000;
/// With a larger clock skew, lateness is not checked.
pub(super) const SKEW_MAX: Millis = 600_000;

/// A broken rule and its description.
type StartViolation = (&'static str, String);

pub(super) fn check(context: &mut CheckContext<'_>, cron_job: &CronJobHistory) {
    let mut violations = Vec::new();
    for (index, run) in cron_job.runs.iter().enumerate() {
        if run.request.is_some() {
            let found = [wrong_owner(cron_job, run), after_deletion(context, cron_job, run)];
            let found = found.into_iter().flatten();
            violations.extend(found.map(|violation| (run.created_at, violation)));
            continue;
        }
        let Some(slot) = run.slot else {
            violations
                .push((run.created_at, ("wrong-slot", format!("{} has no slot", run.name()))));
            continue;
        };
        let earlier = cron_job.runs.get(..index).unwrap_or_default();
        let found = [
            duplicate_slot(earlier, slot),
            wrong_name(cron_job, run, slot),
            wrong_owner(cron_job, run),
            not_scheduled(context, cron_job, run, slot),
            wrong_interval(context, cron_job, run, slot),
            too_early(context, run, slot),
            too_late(context, cron_job, earlier, run, slot),
            superseded(context, earlier, run, slot),
            after_deletion(context, cron_job, run),
        ];
        violations.extend(found.into_iter().flatten().map(|violation| (run.created_at, violation)));
    }
    for (at, (rule, text)) in violations {
        context.report_for(cron_job, at, rule, &text);
    }
}

/// No slot starts twice. The only exception is a slot whose first Job a user deleted: if the slot was not
/// recorded before, the controller cannot know of that Job.
fn duplicate_slot(earlier: &[JobRun], slot: UnixSeconds) -> Option<StartViolation> {
    let is_first = |run: &&JobRun| run.slot == Some(slot) && !run.is_deleted_by_user;
    let first = earlier.iter().find(is_first)?;
    let text =
        format!("slot {} started again; first at {} ms", format_slot(slot), first.created_at);
    Some(("duplicate-slot", text))
}

fn wrong_name(
    cron_job: &CronJobHistory,
    run: &JobRun,
    slot: UnixSeconds,
) -> Option<StartViolation> {
    let expected = cron_job.job_key(slot);
    (*run.key != *expected).then(|| {
        let text = format!("{} should be {expected} for {}", run.key, format_slot(slot));
        ("wrong-slot", text)
    })
}

/// A Job names the kind of its owner. With a wrong kind the garbage collector would not find the owner
/// and would delete the Job.
fn wrong_owner(cron_job: &CronJobHistory, run: &JobRun) -> Option<StartViolation> {
    (run.owner_kind != cron_job.kind).then(|| {
        ("wrong-owner", format!("{} has an owner of kind {:?}", run.name(), run.owner_kind))
    })
}

/// At least one spec that the controller may have seen as the current one must allow the start: it is not
/// suspended, its schedule has the slot, and the schedule took effect before the slot.
fn not_scheduled(
    context: &CheckContext<'_>,
    cron_job: &CronJobHistory,
    run: &JobRun,
    slot: UnixSeconds,
) -> Option<StartViolation> {
    let staleness = context.calm_periods.staleness(run.created_at);
    let mut last = None;
    for period in cron_job.visible_at(run.created_at, staleness) {
        last = Some(objection(context, cron_job, period, slot)?);
    }
    let (rule, reason) = last?;
    Some((rule, format!("slot {} started, but {reason}", format_slot(slot))))
}

/// Why a slot must not start under a spec.
fn objection(
    context: &CheckContext<'_>,
    cron_job: &CronJobHistory,
    period: &SpecPeriod,
    slot: UnixSeconds,
) -> Option<StartViolation> {
    let spec = &period.spec;
    if spec.is_suspended {
        return Some(("suspended-start", "the CronJob is suspended".to_owned()));
    }
    if context.oracle(spec).is_some_and(|oracle| !oracle.has(slot)) {
        let reason = format!("{:?} in {:?} has no such slot", spec.schedule, spec.zone);
        return Some(("wrong-slot", reason));
    }
    if slot <= cron_job.creation {
        let reason = format!("the CronJob was created at {}", format_slot(cron_job.creation));
        return Some(("retroactive", reason));
    }
    // The server records by its own clock when an edit took effect.
    let since = period.scheduled_since;
    let recorded = since + context.clocks.server(since, since).low - ROUNDING;
    let is_past = since > cron_job.created_at && context.millis(slot) <= recorded;
    is_past.then(|| ("retroactive", format!("the schedule took effect at {since} ms")))
}

/// The slots of `@every` are whole multiples of the interval after the creation. An edit or a deadline
/// moves the time from which the interval counts; then the slots must be at least one interval apart.
fn wrong_interval(
    context: &CheckContext<'_>,
    cron_job: &CronJobHistory,
    run: &JobRun,
    slot: UnixSeconds,
) -> Option<StartViolation> {
    let period = cron_job.visible_at(run.created_at, 0).last()?;
    let Some(ScheduleOracle::Every(interval)) = context.oracle(&period.spec) else { return None };
    let is_unmoved = |other: &SpecPeriod| {
        other.spec.deadline.is_none() && other.spec.has_schedule_of(&period.spec)
    };
    if !cron_job.periods.iter().all(is_unmoved) {
        return too_close(context, cron_job, period, slot, *interval);
    }
    ((slot - cron_job.creation) % interval != 0).then(|| {
        let slot = format_slot(slot);
        let text = format!("{slot} is not a multiple of {interval} s after the creation");
        ("wrong-slot", text)
    })
}

fn too_close(
    context: &CheckContext<'_>,
    cron_job: &CronJobHistory,
    period: &SpecPeriod,
    slot: UnixSeconds,
    interval: i64,
) -> Option<StartViolation> {
    // Runs of two different schedules may be close.
    let is_of_period = |run: &&JobRun| {
        run.created_at > period.scheduled_since + context.calm_periods.staleness(run.created_at)
    };
    let slots: Vec<UnixSeconds> =
        cron_job.runs.iter().filter(is_of_period).filter_map(|other| other.slot).collect();
    if !slots.contains(&slot) {
        return None;
    }
    let other = slots.iter().find(|other| **other < slot && slot - **other < interval)?;
    let text =
        format!("{} and {} are closer than {interval} s", format_slot(*other), format_slot(slot));
    Some(("wrong-slot", text))
}

/// Nothing starts before its slot by the clock of the controller.
fn too_early(
    context: &CheckContext<'_>,
    run: &JobRun,
    slot: UnixSeconds,
) -> Option<StartViolation> {
    let at = run.created_at;
    let skew = context.clocks.controllers(at - context.calm_periods.staleness(at), at);
    let by = context.millis(slot) - skew.ahead() - ROUNDING - at;
    (by > 0).then(|| ("early-start", format!("slot {} started too early", format_slot(slot))))
}

/// Nothing starts after its deadline, except that a create may have been in flight at the deadline, and that
/// the deadline does not pass while a slot waits for the Pods of the runs that it replaces.
fn too_late(
    context: &CheckContext<'_>,
    cron_job: &CronJobHistory,
    earlier: &[JobRun],
    run: &JobRun,
    slot: UnixSeconds,
) -> Option<StartViolation> {
    let at = run.created_at;
    let staleness = context.calm_periods.staleness(at);
    let skew = context.clocks.controllers(at - staleness, at);
    if skew.size() > SKEW_MAX {
        return None;
    }
    let mut latest = None;
    for period in cron_job.visible_at(at, staleness) {
        let allowed = context.jitter_max(&period.spec, slot)?
            + period.spec.deadline?.saturating_mul(1000).min(OPEN_END);
        latest = latest.max(Some(context.millis(slot) + allowed));
        if period.spec.policy == ConcurrencyPolicy::Replace {
            latest = latest.map(|latest| end_of_wait(earlier, latest));
        }
    }
    let by = at - latest? - staleness - skew.behind();
    (by > 0)
        .then(|| ("late-start", format!("slot {} started after its deadline", format_slot(slot))))
}

/// When a slot starts at the latest that waits for replaced runs, if they were deleted in time.
fn end_of_wait(earlier: &[JobRun], latest: Millis) -> Millis {
    let replaced = earlier.iter().filter(|run| run.deleted_at <= latest);
    let ends = replaced
        .map(|run| run.active_until().min(run.deleted_at + REPLACE_WAIT_MAX) + REACTION_MAX);
    ends.fold(latest, Millis::max)
}

/// No slot starts after a later one under any policy, unless both creates were in flight.
fn superseded(
    context: &CheckContext<'_>,
    earlier: &[JobRun],
    run: &JobRun,
    slot: UnixSeconds,
) -> Option<StartViolation> {
    let before = run.created_at - context.calm_periods.staleness(run.created_at);
    let is_later = |other: &&JobRun| other.slot > Some(slot) && other.created_at < before;
    let later = earlier.iter().find(is_later)?;
    Some(("superseded", format!("slot {} started after {}", format_slot(slot), later.name())))
}

/// Nothing starts once the CronJob is deleted and every process has seen it.
fn after_deletion(
    context: &CheckContext<'_>,
    cron_job: &CronJobHistory,
    run: &JobRun,
) -> Option<StartViolation> {
    let staleness = context.calm_periods.staleness(run.created_at);
    let by = run.created_at - staleness - cron_job.deleted_at;
    (by > 0).then(|| {
        ("started-after-delete", format!("{} started after its CronJob was deleted", run.name()))
    })
}
