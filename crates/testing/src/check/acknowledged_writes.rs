//! Checks that every acknowledged write is visible, and that the disk loses no revision.

use super::CheckContext;
use super::cron_job_history::{CronJobHistory, JobRun, OPEN_END};
use super::objects::ObservedSpec;
use super::observations::RequestHistory;
use crate::history::{HistoryEvent, HistoryRecord};
use crate::oracle::UnixSeconds;
use crate::scenario::{ActionKind, Millis, ScenarioCronJob};

/// The times of a request and of its response.
#[derive(Clone, Copy)]
struct RequestTimes {
    sent: Millis,
    answered: Millis,
}

pub(super) fn check(context: &mut CheckContext<'_>, history: &[HistoryRecord]) {
    check_revisions(context, history);
    let scenario = context.scenario;
    for (index, action) in scenario.actions.iter().enumerate() {
        let response = context.observations.responses.get(&index).copied();
        let Some((answered, code @ 200..=202)) = response else { continue };
        let times = RequestTimes { sent: action.at, answered };
        if !is_visible(context, &action.kind, times) {
            let text =
                format!("action {index} got response {code} but had no effect: {:?}", action.kind);
            context.report(answered, "acknowledged", text);
        }
    }
}

/// Revisions increase by one, even across restarts.
fn check_revisions(context: &mut CheckContext<'_>, history: &[HistoryRecord]) {
    let mut last: Option<u64> = None;
    for HistoryRecord { at, event } in history {
        let HistoryEvent::Written { revision, key, .. } = event else { continue };
        if let Some(last) = last
            && last + 1 != *revision
        {
            let text = format!("{key} is written in revision {revision}, after {last}");
            context.report(*at, "revisions", text);
        }
        last = Some(*revision);
    }
}

/// Whether the effect of an action was visible at some time between the request and the response. (A
/// write without a change is not stored.)
fn is_visible(context: &CheckContext<'_>, action: &ActionKind, times: RequestTimes) -> bool {
    let has_spec = |n: usize, is_expected: &dyn Fn(&ObservedSpec) -> bool| {
        cron_jobs(context, n).any(|cron_job| had_spec(cron_job, times, is_expected))
    };
    match action {
        ActionKind::Create(n, spec) | ActionKind::Replace(n, spec) => {
            has_spec(*n, &|observed| matches_spec(observed, spec))
        }
        ActionKind::Touch(n) => has_spec(*n, &|_| true),
        ActionKind::Suspend(n, expected) => has_spec(*n, &|spec| spec.is_suspended == *expected),
        ActionKind::SuspendUntil(n, _) => has_spec(*n, &|spec| spec.is_suspended),
        ActionKind::Delete(n) => {
            cron_jobs(context, *n).all(|cron_job| {
                cron_job.created_at > times.answered || cron_job.deleted_at <= times.answered
            }) || cron_jobs(context, *n)
                .any(|cron_job| (times.sent..=times.answered).contains(&cron_job.deleted_at))
        }
        ActionKind::DeleteJob(n) => {
            let own = cron_jobs(context, *n).flat_map(|cron_job| &cron_job.runs);
            // A foreign Job may have one of the names and be the newest.
            let prefix = format!("/jobs.batch/default/c{n}-");
            let foreign = context.observations.foreign_jobs.iter();
            let foreign = foreign.filter(|run| run.key.starts_with(&prefix));
            own.chain(foreign).any(|run| was_deleted(run, times))
        }
        ActionKind::RequestRuns(n, _) => requests(context, *n).any(|request| {
            request.created_at <= times.answered && request.created_at >= times.sent
        }),
        ActionKind::DeleteRequests(n) => requests(context, *n).all(|request| {
            request.deleted_at.is_some_and(|at| at <= times.answered)
                || request.created_at >= times.sent
        }),
        ActionKind::CreateForeignJob(n, slot) => {
            let key = job_key(*n, slot.as_second());
            let runs = context.observations.cron_jobs.iter().flat_map(|cron_job| &cron_job.runs);
            let mut named =
                runs.chain(&context.observations.foreign_jobs).filter(|run| *run.key == *key);
            named.any(|run| run.created_at <= times.answered && run.removed_at >= times.sent)
        }
    }
}

fn requests<'a>(
    context: &'a CheckContext<'_>,
    n: usize,
) -> impl Iterator<Item = &'a RequestHistory> {
    let prefix = format!("/runrequests.punctual.dev/default/c{n}-");
    context.observations.requests.iter().filter(move |request| request.key.starts_with(&prefix))
}

fn cron_jobs<'a>(
    context: &'a CheckContext<'_>,
    n: usize,
) -> impl Iterator<Item = &'a CronJobHistory> {
    let name = format!("c{n}");
    context.observations.cron_jobs.iter().filter(move |cron_job| cron_job.name == name)
}

fn job_key(n: usize, slot: UnixSeconds) -> String {
    format!("/jobs.batch/default/c{n}-{}", slot.div_euclid(60))
}

fn had_spec(
    cron_job: &CronJobHistory,
    times: RequestTimes,
    is_expected: &dyn Fn(&ObservedSpec) -> bool,
) -> bool {
    let periods = cron_job.periods.iter();
    let mut overlapping =
        periods.filter(|period| period.from <= times.answered && period.to >= times.sent);
    overlapping.any(|period| is_expected(&period.spec))
}

/// Whether a Job was deleted in that time, or was being deleted already.
fn was_deleted(run: &JobRun, times: RequestTimes) -> bool {
    run.deleted_at != OPEN_END && run.deleted_at <= times.answered && run.removed_at >= times.sent
}

fn matches_spec(observed: &ObservedSpec, spec: &ScenarioCronJob) -> bool {
    observed.schedule == spec.schedule
        && observed.zone.as_deref() == spec.zone
        && observed.policy == spec.policy
        && observed.deadline == spec.deadline
        && observed.is_suspended == spec.is_suspended
        && observed.jitter == i64::from(spec.jitter)
}
