//! Checks what the node ran: every Pod once, one Pod for each Job, and no overlap under Forbid and
//! CatchUp (our policy that runs all pending slots, or scheduled times, in order).

use std::collections::HashMap;
use std::sync::Arc;

use crate::ConcurrencyPolicy::{CatchUp, Forbid};

use super::concurrency::has_policy;
use super::cron_job_history::{CronJobHistory, JobEnd, JobRun, OPEN_END};
use super::objects::JobResult;
use super::requests;
use super::{CheckContext, Finding};
use crate::history::{HistoryEvent, HistoryRecord};
use crate::scenario::Millis;

/// The process of a Pod.
pub(super) struct PodProcess<'a> {
    pub(super) pod: &'a Arc<str>,
    pub(super) job: &'a Arc<str>,
    pub(super) from: Millis,
    /// [`OPEN_END`] if it is still running.
    pub(super) to: Millis,
    /// `None` if it is still running.
    pub(super) exit_code: Option<i32>,
    pub(super) was_stopped: bool,
}

pub(super) fn check(context: &mut CheckContext<'_>, processes: &[PodProcess<'_>]) {
    check_duplicates(context, processes);
    check_job_results(context, processes);
    let observations = context.observations;
    for cron_job in &observations.cron_jobs {
        check_overlap(context, cron_job, processes);
    }
}

/// The processes of all Pods, in the order of their starts.
pub(super) fn processes(history: &[HistoryRecord]) -> Vec<PodProcess<'_>> {
    let mut processes: Vec<PodProcess<'_>> = Vec::new();
    let mut running: HashMap<&Arc<str>, usize> = HashMap::new();
    for HistoryRecord { at, event } in history {
        match event {
            HistoryEvent::PodStarted { pod, job } => {
                running.insert(pod, processes.len());
                processes.push(PodProcess {
                    pod,
                    job,
                    from: *at,
                    to: OPEN_END,
                    exit_code: None,
                    was_stopped: false,
                });
            }
            HistoryEvent::PodEnded { pod, exit_code, was_stopped } => {
                let ended = running.remove(pod).and_then(|n| processes.get_mut(n));
                if let Some(process) = ended {
                    process.to = *at;
                    process.exit_code = Some(*exit_code);
                    process.was_stopped = *was_stopped;
                }
            }
            _ => {}
        }
    }
    processes
}

/// In the simulation every Job runs one Pod and does not retry.
fn check_duplicates(context: &mut CheckContext<'_>, processes: &[PodProcess<'_>]) {
    let mut pods = HashMap::new();
    let mut jobs = HashMap::new();
    for PodProcess { pod, job, from, .. } in processes {
        if let Some(first) = pods.insert(*pod, *from) {
            let text = format!("Pod {pod} started at {first} ms and again");
            context.report(*from, "doubled-pod", text);
        } else if let Some(first) = jobs.insert(*job, *pod) {
            let text = format!("Job {job} ran Pod {first} and then Pod {pod}");
            context.report(*from, "doubled-pod", text);
        }
    }
}

/// The status of a Job must agree with its Pod, and no Pod of an active Job is stopped.
fn check_job_results(context: &mut CheckContext<'_>, processes: &[PodProcess<'_>]) {
    // The first process of each Job; `check_duplicates` reports a second one.
    let process_of_job: HashMap<&str, &PodProcess<'_>> =
        processes.iter().rev().map(|process| (&**process.job, process)).collect();
    let observations = context.observations;
    let runs = observations.cron_jobs.iter().flat_map(|cron_job| &cron_job.runs);
    for run in runs.chain(&observations.foreign_jobs) {
        let process = process_of_job.get(run.uid.as_str()).copied();
        let findings = [wrong_result(run, process), killed_while_active(run, process)];
        for (at, rule, text) in findings.into_iter().flatten() {
            context.report(at, rule, format!("{}: {text}", run.key));
        }
    }
}

fn wrong_result(run: &JobRun, process: Option<&PodProcess<'_>>) -> Option<Finding> {
    let JobEnd { at, result, .. } = run.end?;
    let ended = process.filter(|process| process.to <= at);
    let has_succeeded = ended.is_some_and(|process| process.exit_code == Some(0));
    let (is_right, expected_counts) = match result {
        JobResult::Complete => (has_succeeded, (1, 0)),
        // The Pods of a Job that is being deleted may be deleted before they start.
        JobResult::Failed => {
            let is_right = ended.is_some() && !has_succeeded || run.deleted_at <= at;
            (is_right, (0, 1))
        }
    };
    if is_right && run.counted == expected_counts {
        return None;
    }
    let text = format!("it is {result:?} and has counted {:?}", run.counted);
    Some((at, "job-counters", text))
}

fn killed_while_active(run: &JobRun, process: Option<&PodProcess<'_>>) -> Option<Finding> {
    let PodProcess { to, pod, was_stopped, .. } = process?;
    if !was_stopped || *to >= run.active_until().min(run.deleted_at) {
        return None;
    }
    Some((*to, "stopped-while-active", format!("its Pod {pod} was stopped while it was active")))
}

/// No two Pods of a CronJob overlap under Forbid and CatchUp. The process of a deleted Job may still be
/// ending.
fn check_overlap(
    context: &mut CheckContext<'_>,
    cron_job: &CronJobHistory,
    processes: &[PodProcess<'_>],
) {
    if !cron_job.periods.iter().any(|period| period.spec.policy.waits()) {
        return;
    }
    let jobs: HashMap<&str, &JobRun> =
        cron_job.runs.iter().map(|run| (run.uid.as_str(), run)).collect();
    // The Job that was created later should have waited.
    let forbids = |run: &&JobRun| {
        has_policy(context, cron_job, run.created_at, &[Forbid, CatchUp])
            && !requests::ignores_policy(context, run)
    };
    let forbidden: Vec<&str> =
        cron_job.runs.iter().filter(forbids).map(|run| run.uid.as_str()).collect();
    let mut running: Vec<(&PodProcess<'_>, &JobRun)> = Vec::new();
    for process in processes {
        let Some(run) = jobs.get(&**process.job).copied() else { continue };
        running.retain(|(other, _)| other.to > process.from);
        let overlapping = running
            .iter()
            .find(|(other, of)| other.job != process.job && of.deleted_at > process.from);
        if let Some((_, other)) = overlapping {
            let later = if other.created_at > run.created_at { other } else { &run };
            if forbidden.contains(&later.uid.as_str()) {
                let text =
                    format!("a Pod of {} started while one of {} ran", run.name(), other.name());
                context.report_for(cron_job, process.from, "overlap", &text);
            }
        }
        running.push((process, run));
    }
}
