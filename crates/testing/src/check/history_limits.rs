//! Checks which finished Jobs are kept, and that none is removed before it is counted.

use super::cron_job_history::{CronJobHistory, JobRun, OPEN_END};
use super::objects::{JobResult, ObservedSpec};
use super::status::may_be_replaced;
use super::{CheckContext, Finding};
use crate::scenario::Millis;

pub(super) fn check(context: &mut CheckContext<'_>, cron_job: &CronJobHistory) {
    let mut findings = too_many_kept(context, cron_job);
    for run in &cron_job.runs {
        findings.extend(ttl_exceeded(context, run));
        findings.extend(deleted_while_active(context, cron_job, run));
        // Jobs that are deleted with their CronJob are not subject to the limits.
        let is_removed_by_controller = run.end.is_some()
            && !run.is_deleted_by_user
            && run.deleted_at < cron_job.deleted_at
            && !may_be_replaced(context, cron_job, run);
        if is_removed_by_controller {
            findings.extend(removed_uncounted(cron_job, run));
            if !run.has_ttl {
                findings.extend(removed_too_early(context, cron_job, run));
            }
        }
    }
    for (at, rule, text) in findings {
        context.report_for(cron_job, at, rule, &text);
    }
}

fn limit(spec: &ObservedSpec, result: JobResult) -> usize {
    match result {
        JobResult::Complete => spec.limits.0,
        JobResult::Failed => spec.limits.1,
    }
}

fn has_ended(run: &JobRun, result: JobResult, by: Millis) -> bool {
    run.end.is_some_and(|end| end.result == result && end.at <= by)
}

/// At the end no more Jobs are left than the limits allow.
fn too_many_kept(context: &CheckContext<'_>, cron_job: &CronJobHistory) -> Vec<Finding> {
    let mut findings = Vec::new();
    let Some(spec) = cron_job.last_spec() else { return findings };
    if !cron_job.exists_at_end() {
        return findings;
    }
    for result in [JobResult::Complete, JobResult::Failed] {
        let left = cron_job.runs.iter().filter(|run| run.removed_at == OPEN_END);
        let left = left.filter(|run| has_ended(run, result, context.end)).count();
        let limit = limit(spec, result);
        if left > limit {
            let text = format!("{left} {result:?} Jobs are left; the limit is {limit}");
            findings.push((context.end, "history", text));
        }
    }
    findings
}

/// A Job with a time to live is removed when it expires. At the end it has expired by any correct clock.
fn ttl_exceeded(context: &CheckContext<'_>, run: &JobRun) -> Option<Finding> {
    let are_clocks_correct = !context.clocks.were_wrong_before(context.end);
    let is_left = run.has_ttl && run.end.is_some() && run.removed_at == OPEN_END;
    (are_clocks_correct && is_left)
        .then(|| (context.end, "time-to-live", format!("{} exceeded its time to live", run.name())))
}

/// An active Job is deleted only under Replace, and only when its slot is recorded: until then only its
/// name prevents a second run of the slot.
fn deleted_while_active(
    context: &CheckContext<'_>,
    cron_job: &CronJobHistory,
    run: &JobRun,
) -> Option<Finding> {
    let at = run.deleted_at;
    if at >= cron_job.deleted_at.min(run.ended_at()) || run.is_deleted_by_user {
        return None;
    }
    if !may_be_replaced(context, cron_job, run) {
        return Some((
            at,
            "stopped-while-active",
            format!("{} was deleted while it was active", run.name()),
        ));
    }
    let recorded = cron_job.status_at(at)?.last_schedule_time.map(|time| time.as_second());
    (recorded < run.slot).then(|| {
        let text = format!("{} was replaced before its slot was recorded", run.name());
        (at, "unrecorded", text)
    })
}

/// A Job that is removed must be recorded, counted and no longer listed as active.
fn removed_uncounted(cron_job: &CronJobHistory, run: &JobRun) -> Option<Finding> {
    // A Job with a time to live keeps our finalizer until it is recorded.
    let at = if run.has_ttl { run.removed_at } else { run.deleted_at };
    if at >= cron_job.deleted_at {
        return None;
    }
    let status = cron_job.status_at(at)?;
    let is_listed = status.active.iter().any(|entry| entry.uid == run.uid);
    let is_recorded = status.last_schedule_time.map(|time| time.as_second()) >= run.slot;
    (is_listed || !is_recorded).then(|| {
        let text = format!("{} was removed before the status recorded it", run.name());
        (at, "uncounted", text)
    })
}

/// A Job is removed for a limit only if the limit is exceeded and it is the oldest.
fn removed_too_early(
    context: &CheckContext<'_>,
    cron_job: &CronJobHistory,
    run: &JobRun,
) -> Option<Finding> {
    let result = run.end?.result;
    let at = run.deleted_at;
    let staleness = context.calm_periods.staleness(at);
    let others = |by: Millis| {
        let same_result = cron_job.runs.iter().filter(move |other| has_ended(other, result, by));
        same_result.filter(move |other| other.deleted_at > at - staleness && other.uid != run.uid)
    };
    let visible = cron_job.visible_at(at, staleness);
    let least = visible.map(|period| limit(&period.spec, result)).min()?;
    if others(at).count() < least {
        let text = format!("{} was removed although the limit is {least}", run.name());
        return Some((at, "history", text));
    }
    // Jobs that ended some time ago and still exist.
    let age = |run: &JobRun| (run.started.is_none(), run.started, run.name().to_owned());
    let mut remaining = others(at - staleness).filter(|other| other.deleted_at > at + staleness);
    let older = remaining.find(|other| age(other) < age(run))?;
    let text = format!("{} was removed before {}, which is older", run.name(), older.name());
    Some((at, "history", text))
}
