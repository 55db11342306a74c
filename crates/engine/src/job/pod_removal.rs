//! Which Pods go when there are too many.

use std::cmp::{Ordering, Reverse};
use std::collections::HashSet;

use jiff::Timestamp;

use super::job_params::JobParams;
use super::pod_summary::PodSummary;
use super::pod_view::PodView;

/// Active Pods to remove: those that should not be there, and further ones until `at_least` are
/// found, least useful first.
pub(super) fn choose_pods_to_remove<'a>(
    summary: &PodSummary<'a>,
    at_least: usize,
) -> Vec<&'a PodView> {
    let mut pods = summary.active.clone();
    pods.sort_by(|a, b| usefulness(a, b));
    let (mut going, staying) = misplaced(&summary.params, pods);
    let missing = at_least.saturating_sub(going.len());
    going.extend(staying.into_iter().take(missing));
    going
}

/// Parts the Pods into those that should not be there and the others. Of several for one
/// index, the most useful stays.
fn misplaced<'a>(
    params: &JobParams<'_>,
    pods: Vec<&'a PodView>,
) -> (Vec<&'a PodView>, Vec<&'a PodView>) {
    let mut indexes = HashSet::new();
    let in_place: HashSet<&str> = (pods.iter().rev())
        .filter(|pod| pod.is_tracked)
        .filter(|pod| !params.is_indexed || params.index_of(pod).is_some_and(|i| indexes.insert(i)))
        .map(|pod| pod.uid.as_str())
        .collect();
    pods.into_iter().partition(|pod| !in_place.contains(pod.uid.as_str()))
}

/// Orders Pods by how much is lost when they go, least first, as `ActivePods` in v1.36: not placed
/// before placed, pending before running, not ready before ready, ready for a shorter time,
/// restarted more often, younger.
fn usefulness(a: &PodView, b: &PodView) -> Ordering {
    let standing = |pod: &PodView| (pod.is_assigned, pod.phase, pod.ready.is_some());
    let stability = |pod: &PodView| (Reverse(pod.restarts.most), age(pod.created_at));
    let experience = |pod: &PodView| age(pod.ready.flatten());
    standing(a)
        .cmp(&standing(b))
        .then_with(|| experience(a).cmp(&experience(b)))
        .then_with(|| stability(a).cmp(&stability(b)))
        // Kubernetes leaves the rest to chance; here the same Pods yield the same choice.
        .then_with(|| b.name.cmp(&a.name))
}

/// The earlier, the more; what has no time is newest.
fn age(since: Option<Timestamp>) -> Option<Reverse<Timestamp>> {
    since.map(Reverse)
}
