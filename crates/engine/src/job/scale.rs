//! How many Pods are wanted, and the way there: in one step Pods go or Pods come, never both.

use jiff::Timestamp;

use super::backoff::{self, Backoff};
use super::pod_removal;
use super::pod_summary::PodSummary;
use super::pod_tracking::STEP_PODS_MAX;
use super::pod_view::PodView;

/// The change of a Job's Pods.
#[derive(Clone, Debug, Default)]
pub(super) struct PodChanges<'a> {
    /// For each Pod to create, its index.
    pub(super) creates: Vec<Option<u32>>,
    /// Pods to remove.
    pub(super) removals: Vec<&'a PodView>,
    /// When a Pod that must wait may come.
    pub(super) wake_at: Option<Timestamp>,
}

/// The change for a Job that goes on.
pub(super) fn change<'a>(
    summary: &PodSummary<'a>,
    backoff: &Backoff,
    now: Timestamp,
) -> PodChanges<'a> {
    let active = summary.active.len();
    let wanted = if summary.params.is_suspended() { 0 } else { wanted(summary) };
    let mut removals = pod_removal::choose_pods_to_remove(summary, active.saturating_sub(wanted));
    removals.truncate(STEP_PODS_MAX);
    if !removals.is_empty() {
        return PodChanges { removals, ..PodChanges::default() };
    }
    let going = if summary.params.replaces_only_failed() { summary.terminating } else { 0 };
    let missing = wanted.saturating_sub(active + going).min(STEP_PODS_MAX);
    if missing == 0 { PodChanges::default() } else { additions(summary, backoff, missing, now) }
}

/// How many Pods should be active.
fn wanted(summary: &PodSummary<'_>) -> usize {
    let parallelism = summary.params.parallelism as usize;
    match summary.params.completions {
        // A work queue that had a success lets the others finish and starts no more.
        None if summary.succeeded > 0 => summary.active.len(),
        None => parallelism,
        Some(completions) => {
            let remaining = u64::from(completions).saturating_sub(summary.succeeded);
            usize::try_from(remaining).unwrap_or(usize::MAX).min(parallelism)
        }
    }
}

fn additions<'a>(
    summary: &PodSummary<'_>,
    backoff: &Backoff,
    count: usize,
    now: Timestamp,
) -> PodChanges<'a> {
    let params = &summary.params;
    if params.limit_per_index().is_none()
        && let Some(due_at) = backoff.due_at().filter(|due_at| *due_at > now)
    {
        return PodChanges { wake_at: Some(due_at), ..PodChanges::default() };
    }
    if !params.is_indexed {
        return PodChanges { creates: vec![None; count], ..PodChanges::default() };
    }
    let mut change = PodChanges::default();
    for index in summary.taken_indexes().missing(params.index_limit(), count) {
        let replaced = summary.to_replace.get(&index);
        match replaced.and_then(|pod| backoff::index_due_at(pod)).filter(|due_at| *due_at > now) {
            Some(due_at) => change.wake_at = change.wake_at.into_iter().chain([due_at]).min(),
            None => change.creates.push(Some(index)),
        }
    }
    change
}
