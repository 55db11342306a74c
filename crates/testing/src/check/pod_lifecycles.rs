//! Checks what the runner does with Pods: it starts each one, reports its result as the process ended,
//! stops the process of a deleted Pod, and never runs more Pods at a time than the node has room for.
//! `pods` checks that no Pod is started twice.

use std::collections::HashMap;

use super::calm_periods::REACTION_MAX;
use super::cron_job_history::{OPEN_END, PodRecord};
use super::objects::PodResult;
use super::pods::PodProcess;
use super::{CheckContext, Finding};
use crate::scenario::Millis;

pub(super) fn check(context: &mut CheckContext<'_>, processes: &[PodProcess<'_>]) {
    // The first process of each Pod; `pods` reports a second one.
    let process_of_pod: HashMap<&str, &PodProcess<'_>> =
        processes.iter().rev().map(|process| (&**process.pod, process)).collect();
    let observations = context.observations;
    for pod in &observations.pods {
        let process = process_of_pod.get(pod.uid.as_str()).copied();
        let findings = [
            find_unstarted(context, pod, process, processes),
            find_wrong_result(pod, process),
            find_unreported(context, pod, process),
            find_unstopped(context, pod, process),
            find_orphaned(pod, process),
        ];
        for (at, rule, text) in findings.into_iter().flatten() {
            context.report(at, rule, format!("{} ({}): {text}", pod.key, pod.uid));
        }
    }
    check_number(context, processes);
}

/// A Pod is started once it exists, unless it is deleted or the node has no room for it.
fn find_unstarted(
    context: &CheckContext<'_>,
    pod: &PodRecord,
    process: Option<&PodProcess<'_>>,
    processes: &[PodProcess<'_>],
) -> Option<Finding> {
    let deadline = context.calm_periods.reaction_deadline(pod.created_at);
    let started_at = process.map_or(OPEN_END, |process| process.from);
    if started_at <= deadline || pod.deleted_at <= deadline || deadline > context.end {
        return None;
    }
    let is_running = |other: &&PodProcess<'_>| {
        other.from <= deadline && other.to + REACTION_MAX >= pod.created_at
    };
    let running = processes.iter().filter(is_running).count();
    let is_late_without_reason = running < context.scenario.max_pods;
    let is_never_started = started_at == OPEN_END && pod.deleted_at == OPEN_END;
    if !is_late_without_reason && !is_never_started {
        return None;
    }
    Some((deadline, "unstarted-pod", "its program is not started".to_owned()))
}

/// The result in the status is that of the process, and does not change. Only a Pod that is deleted may
/// end without a process.
fn find_wrong_result(pod: &PodRecord, process: Option<&PodProcess<'_>>) -> Option<Finding> {
    let mut last = None;
    for (at, result) in &pod.results {
        let is_right = match (last, result) {
            (Some(before), result) => Some(before) == *result,
            (None, Some(result)) => is_result_of(pod, process, *at, *result),
            (None, None) => true,
        };
        if !is_right {
            let actual = process.and_then(|process| process.exit_code);
            let text = format!("it reports {result:?} after {last:?}; its exit code is {actual:?}");
            return Some((*at, "pod-result", text));
        }
        last = last.or(*result);
    }
    None
}

fn is_result_of(
    pod: &PodRecord,
    process: Option<&PodProcess<'_>>,
    at: Millis,
    result: PodResult,
) -> bool {
    match process {
        Some(process) => {
            process.to <= at
                && result.exit_code == process.exit_code
                && result.has_succeeded == (process.exit_code == Some(0))
        }
        None => pod.deleted_at <= at && !result.has_succeeded,
    }
}

/// The end of a process is reported.
fn find_unreported(
    context: &CheckContext<'_>,
    pod: &PodRecord,
    process: Option<&PodProcess<'_>>,
) -> Option<Finding> {
    let ended_at = process?.to;
    let deadline = context.calm_periods.reaction_deadline(ended_at);
    let reported_at = pod.results.iter().find(|(_, result)| result.is_some()).map(|(at, _)| *at);
    if reported_at.is_some_and(|at| at <= deadline)
        || pod.deleted_at <= deadline
        || deadline > context.end
    {
        return None;
    }
    let text = format!("its process ended at {ended_at} ms, which is not reported");
    Some((deadline, "unreported-pod", text))
}

/// The process of a Pod that is deleted ends within the grace period.
fn find_unstopped(
    context: &CheckContext<'_>,
    pod: &PodRecord,
    process: Option<&PodProcess<'_>>,
) -> Option<Finding> {
    let process = process?;
    let noticed_by = context.calm_periods.reaction_deadline(pod.deleted_at.max(process.from));
    let deadline = noticed_by + pod.grace;
    if process.to <= deadline || deadline > context.end {
        return None;
    }
    let text = format!("its process runs although it was deleted at {} ms", pod.deleted_at);
    Some((deadline, "unstopped-pod", text))
}

/// A Pod's object is not removed before its process has ended.
fn find_orphaned(pod: &PodRecord, process: Option<&PodProcess<'_>>) -> Option<Finding> {
    let process = process?;
    if process.to <= pod.removed_at {
        return None;
    }
    let text = "its process runs although the object is gone".to_owned();
    Some((pod.removed_at, "orphaned-process", text))
}

/// The node never runs more Pods at a time than it has room for.
fn check_number(context: &mut CheckContext<'_>, processes: &[PodProcess<'_>]) {
    let starts = processes.iter().map(|process| (process.from, 1));
    let ends = processes.iter().map(|process| (process.to, -1));
    // At the same time ends come first.
    let mut changes: Vec<(Millis, i64)> = starts.chain(ends).collect();
    changes.sort_unstable();
    let max = i64::try_from(context.scenario.max_pods).unwrap_or(i64::MAX);
    let mut running = 0;
    for (at, change) in changes {
        running += change;
        if running > max {
            let text = format!("{running} Pods run at a time, and {max} may");
            context.report(at, "too-many-pods", text);
            return;
        }
    }
}
