//! Checks RunRequests: no run of a request starts twice, none repeats a slot that has run, and the status of
//! every request accounts for exactly the Jobs that were created for it.

use std::collections::HashMap;

use super::calm_periods::REACTION_MAX;
use super::cron_job_history::{CronJobHistory, JobRun};
use super::observations::RequestHistory;
use super::{CheckContext, Finding, format_slot};
use crate::scenario::Millis;

pub(super) fn check(context: &mut CheckContext<'_>) {
    let observations = context.observations;
    let mut findings = Vec::new();
    for cron_job in &observations.cron_jobs {
        findings.extend(repeated_runs(context, cron_job));
    }
    let requests = observations.requests.iter().filter(|request| request.deleted_at.is_none());
    findings.extend(requests.filter_map(|request| wrong_status(context, request)));
    let runs = observations.cron_jobs.iter().flat_map(|cron_job| &cron_job.runs);
    let requested = runs.filter(|run| run.request.is_some()).count() as u64;
    context.report.requested_runs = requested;
    for (at, rule, text) in findings {
        context.report(at, rule, text);
    }
}

/// Whether a run was requested with the policy `Allow`, which holds instead of that of the CronJob.
pub(super) fn ignores_policy(context: &CheckContext<'_>, run: &JobRun) -> bool {
    let request = run.request.as_ref().and_then(|request| find(context, &request.request_uid));
    request.is_some_and(|request| request.object.spec.concurrency_policy == "Allow")
}

/// When RunRequests for a CronJob were deleted.
pub(super) fn deletions<'a>(
    context: &'a CheckContext<'_>,
    cron_job: &'a CronJobHistory,
) -> impl Iterator<Item = Millis> + 'a {
    let requests = context.observations.requests.iter();
    let own = requests.filter(|request| request.object.status.target_uid == cron_job.uid);
    own.filter_map(|request| request.deleted_at)
}

fn find<'a>(context: &'a CheckContext<'_>, uid: &str) -> Option<&'a RequestHistory> {
    context.observations.requests.iter().find(|request| request.object.metadata.uid == uid)
}

/// Runs that have the position of another run of their request, or the slot of an earlier run although the
/// request asks only for slots without one.
fn repeated_runs(context: &CheckContext<'_>, cron_job: &CronJobHistory) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut by_position = HashMap::new();
    for (number, run) in cron_job.runs.iter().enumerate() {
        let Some(requested) = &run.request else { continue };
        let position = (&requested.request_uid, requested.index);
        if let Some(first) = by_position.insert(position, run.name()) {
            let text = format!("{} and {first} are the same run of a request", run.name());
            found.push((run.created_at, "request-run-twice", text));
        }
        let earlier = cron_job.runs.get(..number).unwrap_or_default();
        let has_slot = |other: &&JobRun| {
            // A Job that a user deleted before it was recorded looks as if it had never been created.
            other.any_slot() == Some(requested.slot) && !other.is_deleted_by_user
        };
        let is_for_missing = find(context, &requested.request_uid).is_some_and(|request| {
            !request.object.spec.now && run.key.as_ref() == cron_job.job_key(requested.slot)
        });
        if is_for_missing && let Some(other) = earlier.iter().find(has_slot) {
            let slot = format_slot(requested.slot);
            let text = format!("{} repeats the slot {slot} of {}", run.name(), other.name());
            found.push((run.created_at, "request-run-twice", text));
        }
    }
    found
}

/// At the end every request whose CronJob exists is complete, and its numbers are those of its Jobs.
fn wrong_status(context: &CheckContext<'_>, request: &RequestHistory) -> Option<Finding> {
    let status = &request.object.status;
    let target = context.observations.cron_jobs.iter().find(|it| it.uid == status.target_uid)?;
    if target.deleted_at <= context.end - REACTION_MAX {
        return None;
    }
    let uid = &request.object.metadata.uid;
    let jobs = target
        .runs
        .iter()
        .filter(|run| run.request.as_ref().is_some_and(|requested| requested.request_uid == *uid));
    let is_complete = status.completion_time.is_some()
        && status.active.is_empty()
        && status.total == status.started + status.skipped
        && status.started == status.succeeded + status.failed
        && status.started == jobs.clone().count() as i64;
    (!is_complete).then(|| {
        let jobs: Vec<&str> = jobs.map(JobRun::name).collect();
        let text = format!("{} has {status:?}, but its Jobs are {jobs:?}", request.key);
        (context.end, "request", text)
    })
}
