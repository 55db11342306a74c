//! Checks Events: one for every start and one for every end. Only in scenarios without faults,
//! because an Event may be lost or repeated during a fault.

use std::collections::HashMap;

use crate::ConcurrencyPolicy::Forbid;

use super::CheckContext;
use super::calm_periods::REACTION_MAX;
use super::cron_job_history::{CronJobHistory, JobRun};
use super::objects::{JobResult, StoredEvent};

/// With more runs some events may be omitted: ten similar events within ten minutes are combined, and
/// more than 25 about one object are dropped.
const RELIABLE_RUNS_MAX: usize = 6;

pub(super) fn check(context: &mut CheckContext<'_>) {
    if !context.scenario.faults.is_empty() {
        return;
    }
    let observations = context.observations;
    let mut events: HashMap<&str, Vec<&StoredEvent>> = HashMap::new();
    for event in &observations.events {
        events.entry(&event.involved_object.uid).or_default().push(event);
    }
    for cron_job in &observations.cron_jobs {
        let events = events.get(cron_job.uid.as_str()).map_or(&[][..], Vec::as_slice);
        for text in cron_job.runs.iter().flat_map(|run| wrong_events(cron_job, run, events)) {
            context.report_for(cron_job, context.end, "events", &text);
        }
    }
}

fn wrong_events(cron_job: &CronJobHistory, run: &JobRun, events: &[&StoredEvent]) -> Vec<String> {
    let count = |reason: &str, message: &str| -> i64 {
        let same = events.iter().filter(|event| event.reason == reason && event.message == message);
        same.map(|event| event.count).sum()
    };
    let name = run.name();
    let created = count("SuccessfulCreate", &format!("Created job {name}"));
    let mut wrong = Vec::new();
    // Under Forbid, repeated JobAlreadyActive events use up the limit of events.
    let forbids = cron_job.periods.iter().any(|period| period.spec.policy == Forbid);
    let is_reliable = cron_job.runs.len() <= RELIABLE_RUNS_MAX && !forbids;
    if created > 1 || (created == 0 && is_reliable) {
        wrong.push(format!("{created} events say that {name} was created"));
    }
    let Some(end) = run.end else { return wrong };
    let message = format!("Saw completed job: {name}, condition: {:?}", end.result);
    let completed = count("SawCompletedJob", &message);
    let is_missing = completed == 0 && is_reliable && must_be_reported(cron_job, run, end.result);
    if completed > 1 || is_missing {
        wrong.push(format!("{completed} events say that {name} completed"));
    }
    wrong
}

/// Whether the end of a Job must be reported: a user did not delete it, it was not replaced, and its
/// CronJob still existed.
fn must_be_reported(cron_job: &CronJobHistory, run: &JobRun, result: JobResult) -> bool {
    let mut limits = cron_job.periods.iter().map(|period| match result {
        JobResult::Complete => period.spec.limits.0,
        JobResult::Failed => period.spec.limits.1,
    });
    let is_replaced = run.deleted_at <= run.ended_at() + REACTION_MAX;
    limits.all(|limit| limit > 0)
        && !run.is_deleted_by_user
        && !is_replaced
        && cron_job.deleted_at > run.ended_at() + REACTION_MAX
}
