//! Computes how many Pods a Job needs. One step either creates or removes Pods, never both.

use jiff::Timestamp;

use super::backoff::{self, Backoff};
use super::pod_removal;
use super::pod_summary::PodSummary;
use super::pod_tracking::STEP_PODS_MAX;
use super::pod_view::PodView;

/// The Pods to create or remove.
#[derive(Clone, Debug, Default)]
pub(super) struct PodChanges<'a> {
    /// For each Pod to create, its index.
    pub(super) creates: Vec<Option<u32>>,
    /// Pods to remove.
    pub(super) removals: Vec<&'a PodView>,
    /// When the backoff of the next Pod ends.
    pub(super) wake_at: Option<Timestamp>,
}

/// Plans the Pods to create or remove for a Job that has neither succeeded nor failed.
pub(super) fn plan_pod_changes<'a>(
    summary: &PodSummary<'a>,
    backoff: &Backoff,
    now: Timestamp,
) -> PodChanges<'a> {
    let active = summary.active.len();
    let wanted = if summary.params.is_suspended() { 0 } else { wanted_active(summary) };
    let surplus = active.saturating_sub(wanted);
    let mut removals = pod_removal::choose_pods_to_remove(summary, surplus);
    removals.truncate(STEP_PODS_MAX);
    if !removals.is_empty() {
        return PodChanges { removals, ..PodChanges::default() };
    }
    // With `podReplacementPolicy: Failed`, a Pod that is being deleted is not replaced yet.
    let terminating = if summary.params.replaces_only_failed() { summary.terminating } else { 0 };
    let missing = wanted.saturating_sub(active + terminating).min(STEP_PODS_MAX);
    if missing == 0 {
        return PodChanges::default();
    }
    plan_creates(summary, backoff, missing, now)
}

/// Returns how many Pods should be active.
fn wanted_active(summary: &PodSummary<'_>) -> usize {
    let parallelism = summary.params.parallelism as usize;
    match summary.params.completions {
        // After the first success of a work queue no Pod is created; the active ones may finish.
        None if summary.succeeded > 0 => summary.active.len(),
        None => parallelism,
        Some(completions) => {
            let remaining = u64::from(completions).saturating_sub(summary.succeeded);
            usize::try_from(remaining).unwrap_or(usize::MAX).min(parallelism)
        }
    }
}

/// Plans `count` creates, or the wake-up at which the backoff allows them.
fn plan_creates<'a>(
    summary: &PodSummary<'_>,
    backoff: &Backoff,
    count: usize,
    now: Timestamp,
) -> PodChanges<'a> {
    let params = &summary.params;
    if params.limit_per_index().is_none()
        && let Some(create_at) = backoff.next_create_at()
        && create_at > now
    {
        return PodChanges { wake_at: Some(create_at), ..PodChanges::default() };
    }
    if !params.is_indexed {
        return PodChanges { creates: vec![None; count], ..PodChanges::default() };
    }
    let mut changes = PodChanges::default();
    for index in summary.taken_indexes().missing(params.index_limit(), count) {
        let replaced = summary.to_replace.get(&index);
        match replaced.and_then(|pod| backoff::next_index_create_at(pod)) {
            Some(create_at) if create_at > now => {
                changes.wake_at = changes.wake_at.into_iter().chain([create_at]).min();
            }
            _ => changes.creates.push(Some(index)),
        }
    }
    changes
}
