//! Chooses the Pods to remove if a Job has too many.

use std::cmp::{Ordering, Reverse};
use std::collections::HashSet;

use jiff::Timestamp;

use super::job_params::JobParams;
use super::pod_summary::PodSummary;
use super::pod_view::PodView;

/// Chooses active Pods to remove: all surplus Pods, and further ones up to `count_min`, in the order of
/// `compare_usefulness`.
pub(super) fn choose_pods_to_remove<'a>(
    summary: &PodSummary<'a>,
    count_min: usize,
) -> Vec<&'a PodView> {
    let mut pods = summary.active.clone();
    pods.sort_by(|a, b| compare_usefulness(a, b));
    let needed = needed_pods(&summary.params, &pods);
    let (mut removed, kept): (Vec<_>, Vec<_>) =
        pods.into_iter().partition(|pod| !needed.contains(pod.uid.as_str()));
    let missing = count_min.saturating_sub(removed.len());
    removed.extend(kept.into_iter().take(missing));
    removed
}

/// Returns the UIDs of Pods that are not surplus. Surplus are Pods without a finalizer, whose
/// removal was interrupted; in an Indexed Job also Pods without a valid index, and all but the most
/// useful Pod of an index. `pods` must be sorted by usefulness.
fn needed_pods<'a>(params: &JobParams<'_>, pods: &[&'a PodView]) -> HashSet<&'a str> {
    let mut indexes = HashSet::new();
    (pods.iter().rev())
        .filter(|pod| pod.is_tracked)
        .filter(|pod| !params.is_indexed || params.index_of(pod).is_some_and(|i| indexes.insert(i)))
        .map(|pod| pod.uid.as_str())
        .collect()
}

/// Orders Pods by how much work is lost if they are deleted, least first, as `ActivePods` in v1.36:
/// unassigned before assigned, pending before running, not ready before ready, then Pods that are
/// ready for a shorter time, restarted more often, and younger.
fn compare_usefulness(a: &PodView, b: &PodView) -> Ordering {
    let state = |pod: &PodView| (pod.is_assigned, pod.phase, pod.ready.is_some());
    let ready_age = |pod: &PodView| age(pod.ready.flatten());
    let stability = |pod: &PodView| {
        let restarts = (pod.restarts.max_of_containers, pod.restarts.max_of_sidecars);
        (Reverse(restarts), age(pod.created_at))
    };
    state(a)
        .cmp(&state(b))
        .then_with(|| ready_age(a).cmp(&ready_age(b)))
        .then_with(|| stability(a).cmp(&stability(b)))
        // Kubernetes breaks ties at random; the name makes the choice deterministic.
        .then_with(|| b.name.cmp(&a.name))
}

/// Orders times by age: a Pod without a time is the youngest.
fn age(since: Option<Timestamp>) -> Option<Reverse<Timestamp>> {
    since.map(Reverse)
}
