//! How many Pods are wanted, and the way there: in one step Pods go or Pods come, never both.

use jiff::Timestamp;

use super::backoff::{self, Backoff};
use super::census::Census;
use super::ledger::STEP_PODS_MAX;
use super::removal;
use super::view::PodView;

/// The change of a Job's Pods.
#[derive(Clone, Debug, Default)]
pub(super) struct Change<'a> {
    /// For each Pod to create, its index.
    pub(super) creates: Vec<Option<u32>>,
    /// Pods to remove.
    pub(super) removals: Vec<&'a PodView>,
    /// When a Pod that must wait may come.
    pub(super) wake_at: Option<Timestamp>,
}

/// The change for a Job that goes on.
pub(super) fn change<'a>(census: &Census<'a>, backoff: &Backoff, now: Timestamp) -> Change<'a> {
    let active = census.active.len();
    let wanted = if census.terms.is_suspended() { 0 } else { wanted(census) };
    let mut removals = removal::choose(census, active.saturating_sub(wanted));
    removals.truncate(STEP_PODS_MAX);
    if !removals.is_empty() {
        return Change { removals, ..Change::default() };
    }
    let going = if census.terms.replaces_only_failed() { census.terminating } else { 0 };
    let missing = wanted.saturating_sub(active + going).min(STEP_PODS_MAX);
    if missing == 0 { Change::default() } else { additions(census, backoff, missing, now) }
}

/// How many Pods should be active.
fn wanted(census: &Census<'_>) -> usize {
    let parallelism = census.terms.parallelism as usize;
    match census.terms.completions {
        // A work queue that had a success lets the others finish and starts no more.
        None if census.succeeded > 0 => census.active.len(),
        None => parallelism,
        Some(completions) => {
            let remaining = u64::from(completions).saturating_sub(census.succeeded);
            usize::try_from(remaining).unwrap_or(usize::MAX).min(parallelism)
        }
    }
}

fn additions<'a>(
    census: &Census<'_>,
    backoff: &Backoff,
    count: usize,
    now: Timestamp,
) -> Change<'a> {
    let terms = &census.terms;
    if terms.limit_per_index().is_none()
        && let Some(due_at) = backoff.due_at().filter(|due_at| *due_at > now)
    {
        return Change { wake_at: Some(due_at), ..Change::default() };
    }
    if !terms.is_indexed {
        return Change { creates: vec![None; count], ..Change::default() };
    }
    let mut change = Change::default();
    for index in census.taken_indexes().missing(terms.index_limit(), count) {
        let replaced = census.to_replace.get(&index);
        match replaced.and_then(|pod| backoff::index_due_at(pod)).filter(|due_at| *due_at > now) {
            Some(due_at) => change.wake_at = change.wake_at.into_iter().chain([due_at]).min(),
            None => change.creates.push(Some(index)),
        }
    }
    change
}
