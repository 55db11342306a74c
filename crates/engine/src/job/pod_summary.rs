//! Counts the Pods of a Job by state and index.

use std::collections::{BTreeMap, BTreeSet};

use super::failure_policy::FailureAction;
use super::indexes::Indexes;
use super::job_params::JobParams;
use super::pod_tracking::{PodTracking, UncountedUids};
use super::pod_view::{PodPhase, PodView};

/// The Pods of a Job, counted by state and index.
#[derive(Debug)]
pub(super) struct PodSummary<'a> {
    pub(super) params: JobParams<'a>,
    pub(super) pods: &'a [PodView],
    pub(super) tracking: PodTracking,
    pub(super) uncounted: UncountedUids,
    /// Pods that have not finished and are not being deleted.
    pub(super) active: Vec<&'a PodView>,
    /// The number of Pods that are being deleted and have not finished.
    pub(super) terminating: usize,
    /// Successes, including those that the status does not count yet. For an Indexed Job, the number
    /// of successful indexes.
    pub(super) succeeded: u64,
    /// Failures that count, including those that the status does not count yet.
    pub(super) failed: i64,
    pub(super) succeeded_indexes: Indexes,
    /// Only if the Job has a backoff limit per index.
    pub(super) failed_indexes: Option<Indexes>,
    /// For each index without an active Pod, the failed Pod to replace. It is kept until then,
    /// because its annotations have the number of failures of the index.
    pub(super) to_replace: BTreeMap<u32, &'a PodView>,
}

impl<'a> PodSummary<'a> {
    pub(super) fn new(params: JobParams<'a>, pods: &'a [PodView]) -> Self {
        let tracking = PodTracking::from_status(&params.job.status, pods);
        let mut summary = PodSummary {
            params,
            pods,
            uncounted: tracking.uncounted_uids(),
            tracking,
            active: pods.iter().filter(|pod| pod.is_active()).collect(),
            terminating: pods.iter().filter(|pod| pod.is_terminating()).count(),
            succeeded: 0,
            failed: 0,
            succeeded_indexes: Indexes::default(),
            failed_indexes: None,
            to_replace: BTreeMap::new(),
        };
        summary.failed = summary.count_failed();
        if params.is_indexed {
            summary.count_indexes();
        } else {
            summary.succeeded = summary.count_succeeded();
        }
        summary
    }

    /// Returns the Pods that have the tracking finalizer.
    pub(super) fn tracked(&self) -> impl Iterator<Item = &'a PodView> {
        self.pods.iter().filter(|pod| pod.is_tracked)
    }

    /// Returns the tracked Pods whose result the status does not have yet.
    fn unrecorded(&self) -> impl Iterator<Item = &'a PodView> {
        self.tracked().filter(|pod| self.params.is_countable(pod) && !self.uncounted.contains(pod))
    }

    fn count_succeeded(&self) -> u64 {
        let new = self.unrecorded().filter(|pod| pod.phase == PodPhase::Succeeded).count();
        let counted = self.tracking.succeeded.max(0).unsigned_abs();
        u64::from(counted) + (self.tracking.uncounted.succeeded.len() + new) as u64
    }

    fn count_failed(&self) -> i64 {
        let new = self.unrecorded().filter(|pod| self.params.has_failed(pod));
        let new = new.filter(|pod| self.params.is_counted_failure(pod)).count();
        i64::from(self.tracking.failed) + (self.tracking.uncounted.failed.len() + new) as i64
    }

    /// Finds the succeeded and failed indexes. An index finishes once: a recorded result never
    /// changes, and if a success and a failure are observed together, the success counts.
    fn count_indexes(&mut self) {
        let limit = self.params.index_limit();
        let status = &self.params.job.status;
        let recorded_failed = status.failed_indexes.as_deref().unwrap_or_default();
        let recorded_failed = Indexes::parse(recorded_failed, limit);
        let succeeded = self.unrecorded().filter(|pod| pod.phase == PodPhase::Succeeded);
        let succeeded = self.indexes_outside(&recorded_failed, succeeded);
        self.succeeded_indexes = Indexes::parse(&status.completed_indexes, limit).with(succeeded);
        self.succeeded = self.succeeded_indexes.len();
        if let Some(failures_max) = self.params.limit_per_index() {
            let failed = self.tracked().filter(|pod| self.has_failed_index(pod, failures_max));
            let failed = self.indexes_outside(&self.succeeded_indexes, failed);
            let failed = recorded_failed.with(failed);
            self.to_replace = self.find_replaceable(&failed);
            self.failed_indexes = Some(failed);
        }
    }

    /// Returns the indexes of the Pods that are not in `excluded`.
    fn indexes_outside<'p>(
        &self,
        excluded: &Indexes,
        pods: impl Iterator<Item = &'p PodView>,
    ) -> Vec<u32> {
        let indexes = pods.filter_map(|pod| self.params.index_of(pod));
        indexes.filter(|index| !excluded.contains(*index)).collect()
    }

    /// Whether the failure of a Pod fails its index.
    fn has_failed_index(&self, pod: &PodView, failures_max: i32) -> bool {
        self.params.has_failed(pod)
            && match self.params.failure_action(pod) {
                FailureAction::FailIndex => true,
                FailureAction::Ignore => false,
                FailureAction::Count | FailureAction::FailJob { .. } => {
                    pod.index_failures.counted >= failures_max
                }
            }
    }

    /// Finds the failed Pods to replace. If an index has several, the one with the highest failure
    /// count is chosen.
    fn find_replaceable(&self, failed: &Indexes) -> BTreeMap<u32, &'a PodView> {
        let active = self.active_indexes();
        let mut chosen: BTreeMap<u32, &'a PodView> = BTreeMap::new();
        for pod in self.tracked().filter(|pod| self.params.has_failed(pod)) {
            let Some(index) = self.params.index_of(pod) else { continue };
            let is_finished = self.succeeded_indexes.contains(index) || failed.contains(index);
            if is_finished || active.contains(&index) {
                continue;
            }
            let rank = |pod: &PodView| (pod.index_failures.total(), pod.finished_at);
            let best = chosen.entry(index).or_insert(pod);
            if rank(best) <= rank(pod) {
                *best = pod;
            }
        }
        chosen
    }

    fn active_indexes(&self) -> BTreeSet<u32> {
        self.active.iter().filter_map(|pod| pod.index).collect()
    }

    /// Returns the indexes that need no new Pod, because they have one or are finished.
    pub(super) fn taken_indexes(&self) -> Indexes {
        let mut taken = self.succeeded_indexes.with(self.active_indexes());
        if self.params.replaces_only_failed() {
            let terminating = self.pods.iter().filter(|pod| pod.is_terminating());
            taken = taken.with(terminating.filter_map(|pod| pod.index));
        }
        match &self.failed_indexes {
            Some(failed) => taken.union(failed),
            None => taken,
        }
    }

    /// Whether a failed Pod is kept until it is replaced.
    pub(super) fn awaits_replacement(&self, pod: &PodView) -> bool {
        let index = self.params.index_of(pod);
        let kept = index.and_then(|index| self.to_replace.get(&index));
        kept.is_some_and(|kept| kept.uid == pod.uid)
    }
}
