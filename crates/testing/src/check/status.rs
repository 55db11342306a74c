//! Checks the status: counters and times only increase, and are right at the end.

use crate::ConcurrencyPolicy::Replace;
use jiff::Timestamp;

use super::calm_periods::REACTION_MAX;
use super::concurrency::REPLACE_WAIT_MAX;
use super::cron_job_history::{CronJobHistory, JobRun, OPEN_END};
use super::objects::{JobResult, StoredStatus};
use super::requests;
use super::{CheckContext, format_slot};
use crate::scenario::Millis;

pub(super) fn check(context: &mut CheckContext<'_>, cron_job: &CronJobHistory) {
    let mut findings = decreases(cron_job);
    if let Some((_, last)) = cron_job.statuses.last()
        && cron_job.exists_at_end()
    {
        let at_end = [
            wrong_active(cron_job, last),
            left_finalizer(cron_job),
            wrong_last_schedule_time(cron_job, last),
            wrong_last_successful_time(context, cron_job, last),
            wrong_counter(context, cron_job, last),
            wrong_next_schedule_time(cron_job, last),
        ];
        findings.extend(at_end.into_iter().flatten().map(|text| (context.end, text)));
    }
    for (at, text) in findings {
        context.report_for(cron_job, at, "status", &text);
    }
}

/// Counters and times that decrease.
fn decreases(cron_job: &CronJobHistory) -> Vec<(Millis, String)> {
    let mut found = Vec::new();
    for ((_, old), (at, new)) in cron_job.statuses.iter().zip(cron_job.statuses.iter().skip(1)) {
        let times = [
            ("lastScheduleTime", old.last_schedule_time, new.last_schedule_time),
            ("lastSuccessfulTime", old.last_successful_time, new.last_successful_time),
            ("lastMissedTime", old.last_missed_time, new.last_missed_time),
            ("lastSkippedTime", old.last_skipped_time, new.last_skipped_time),
        ];
        let counters = [
            ("successfulRuns", old.successful_runs, new.successful_runs),
            ("failedRuns", old.failed_runs, new.failed_runs),
            ("missedRuns", old.missed_runs, new.missed_runs),
            ("skippedRuns", old.skipped_runs, new.skipped_runs),
        ];
        let times = times.iter().filter(|(_, old, new)| new < old).map(|(name, ..)| name);
        let counters = counters.iter().filter(|(_, old, new)| new < old).map(|(name, ..)| name);
        found.extend(times.chain(counters).map(|name| (*at, format!("{name} decreases"))));
    }
    found
}

/// `active` must list exactly the active Jobs.
fn wrong_active(cron_job: &CronJobHistory, status: &StoredStatus) -> Option<String> {
    let active = cron_job.runs.iter().filter(|run| run.active_until() == OPEN_END);
    let mut active: Vec<&str> = active.map(JobRun::name).collect();
    let mut listed: Vec<&str> = status.active.iter().map(|entry| &*entry.name).collect();
    active.sort_unstable();
    listed.sort_unstable();
    (active != listed).then(|| format!("active is {listed:?}, but {active:?} are active"))
}

/// No Job may wait forever for the removal of our finalizer or for its deletion.
fn left_finalizer(cron_job: &CronJobHistory) -> Option<String> {
    let waits = |run: &&JobRun| {
        let is_deleting = run.deleted_at < OPEN_END;
        let is_finished = run.has_finalizer && run.end.is_some();
        run.removed_at == OPEN_END && (is_deleting || is_finished)
    };
    let run = cron_job.runs.iter().find(waits)?;
    Some(format!("{} is finished or deleted and still has a finalizer", run.name()))
}

/// `lastScheduleTime` must be the last started slot. (Missed slots are recorded elsewhere.) The
/// controller may never have seen a Job that a user deleted.
fn wrong_last_schedule_time(cron_job: &CronJobHistory, status: &StoredStatus) -> Option<String> {
    let most = cron_job.runs.iter().filter_map(|run| run.slot).max();
    let seen = cron_job.runs.iter().filter(|run| !run.is_deleted_by_user);
    let least = seen.filter_map(|run| run.slot).max();
    let actual = status.last_schedule_time.map(Timestamp::as_second);
    (actual < least || actual > most).then(|| {
        let actual = actual.map(format_slot);
        format!("lastScheduleTime is {actual:?}, not {:?}", most.map(format_slot))
    })
}

/// `lastSuccessfulTime` must be the latest success, or the latest that the controller certainly saw.
fn wrong_last_successful_time(
    context: &CheckContext<'_>,
    cron_job: &CronJobHistory,
    status: &StoredStatus,
) -> Option<String> {
    let completed = |run: &JobRun| match run.end {
        Some(end) if end.result == JobResult::Complete => end.completed,
        _ => None,
    };
    let most = cron_job.runs.iter().filter_map(completed).max();
    let certain = cron_job.runs.iter().filter(|run| !may_be_uncounted(context, cron_job, run));
    let least = certain.filter_map(completed).max();
    let actual = status.last_successful_time;
    (actual < least || actual > most)
        .then(|| format!("lastSuccessfulTime is {actual:?}, not {most:?}"))
}

/// Every run is counted once. A deleted run may be removed before the controller saw its end.
fn wrong_counter(
    context: &CheckContext<'_>,
    cron_job: &CronJobHistory,
    status: &StoredStatus,
) -> Option<String> {
    // Misses count as failures.
    let failed = status.failed_runs - status.missed_runs;
    let counters = [
        ("successfulRuns", status.successful_runs, JobResult::Complete),
        ("failedRuns without missedRuns", failed, JobResult::Failed),
    ];
    for (name, actual, result) in counters {
        let ended = |run: &&JobRun| run.end.is_some_and(|end| end.result == result);
        let most = cron_job.runs.iter().filter(ended).count();
        let uncertain = cron_job.runs.iter().filter(ended);
        let uncertain = uncertain.filter(|run| may_be_uncounted(context, cron_job, run)).count();
        let least = i64::try_from(most.saturating_sub(uncertain)).unwrap_or(0);
        let most = i64::try_from(most).unwrap_or(0);
        if actual < least || actual > most {
            return Some(format!("{name} is {actual}, not {least} to {most}"));
        }
    }
    None
}

/// Whether the controller may not have seen the end of a run: a user deleted it, or it ended just as it
/// was replaced.
pub(super) fn may_be_uncounted(
    context: &CheckContext<'_>,
    cron_job: &CronJobHistory,
    run: &JobRun,
) -> bool {
    run.is_deleted_by_user || may_be_replaced(context, cron_job, run)
}

/// Whether a run may have been deleted under Replace while it was active. (A finished run is not: the
/// delete has its old version as a precondition.) In a calm period the new run starts at once: nothing is
/// deleted for a slot that cannot start.
pub(super) fn may_be_replaced(
    context: &CheckContext<'_>,
    cron_job: &CronJobHistory,
    run: &JobRun,
) -> bool {
    let at = run.deleted_at;
    if at == OPEN_END || at > run.ended_at() {
        return false;
    }
    let staleness = context.calm_periods.staleness(at);
    let mut visible = cron_job.visible_at(at, staleness);
    if !visible.any(|period| period.spec.policy == Replace) {
        return false;
    }
    // The successor waits until the Pods of the run are gone. Nothing starts if the CronJob is edited or deleted
    // meanwhile.
    let is_replaced_too = |other: &&JobRun| (other.deleted_at - at).abs() <= REACTION_MAX;
    let replaced = cron_job.runs.iter().filter(is_replaced_too);
    let waits_until = replaced.map(|other| other.removed_at.min(at + REPLACE_WAIT_MAX)).max();
    let waits_until = waits_until.unwrap_or(at);
    let is_in_wait = |time: Millis| {
        let reaction = context.calm_periods.staleness(time).max(REACTION_MAX);
        time >= at && time <= waits_until.saturating_add(reaction)
    };
    let has_successor = cron_job.runs.iter().any(|other| is_in_wait(other.created_at))
        || cron_job.periods.iter().any(|period| is_in_wait(period.from))
        || is_in_wait(cron_job.deleted_at)
        || requests::deletions(context, cron_job).any(is_in_wait);
    let is_calm = context.calm_periods.is_calm(at - REACTION_MAX, waits_until + REACTION_MAX);
    !is_calm || has_successor
}

fn wrong_next_schedule_time(cron_job: &CronJobHistory, status: &StoredStatus) -> Option<String> {
    if !cron_job.last_spec()?.is_suspended {
        return None;
    }
    let next = status.next_schedule_time?;
    Some(format!("nextScheduleTime is {next} although the CronJob is suspended"))
}
