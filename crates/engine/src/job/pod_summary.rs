//! Who is there, and what that adds up to: the Pods of a Job at one look.

use std::collections::{BTreeMap, BTreeSet};

use super::failure_policy::FailureAction;
use super::indexes::Indexes;
use super::job_params::JobParams;
use super::pod_tracking::{PodTracking, UncountedUids};
use super::pod_view::{PodPhase, PodView};

/// The Pods of a Job at one look.
#[derive(Debug)]
pub(super) struct PodSummary<'a> {
    pub(super) params: JobParams<'a>,
    pub(super) pods: &'a [PodView],
    pub(super) tracking: PodTracking,
    pub(super) entries: UncountedUids,
    /// Pods that run or are about to.
    pub(super) active: Vec<&'a PodView>,
    pub(super) terminating: usize,
    /// Successes: counted, entered and new. Of an Indexed Job, indexes.
    pub(super) succeeded: u64,
    /// Failures that count: counted, entered and new.
    pub(super) failed: i64,
    pub(super) succeeded_indexes: Indexes,
    /// Only where each index has a limit of failures.
    pub(super) failed_indexes: Option<Indexes>,
    /// For an index without a Pod, the failed one that is to be replaced. It is kept until it is:
    /// its annotations say how often the index failed.
    pub(super) to_replace: BTreeMap<u32, &'a PodView>,
}

impl<'a> PodSummary<'a> {
    pub(super) fn new(params: JobParams<'a>, pods: &'a [PodView]) -> Self {
        let tracking = PodTracking::from_status(&params.job.status, pods);
        let mut summary = PodSummary {
            params,
            pods,
            entries: tracking.entries(),
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
            summary.look_at_indexes();
        } else {
            summary.succeeded = summary.count_succeeded();
        }
        summary
    }

    /// Pods that are still to be entered and counted.
    pub(super) fn tracked(&self) -> impl Iterator<Item = &'a PodView> {
        self.pods.iter().filter(|pod| pod.is_tracked)
    }

    /// Pods whose end nobody has looked at yet.
    fn fresh(&self) -> impl Iterator<Item = &'a PodView> {
        self.tracked().filter(|pod| self.params.admits(pod) && !self.entries.has(pod))
    }

    fn count_succeeded(&self) -> u64 {
        let fresh = self.fresh().filter(|pod| pod.phase == PodPhase::Succeeded).count();
        let counted = self.tracking.succeeded.max(0).unsigned_abs();
        u64::from(counted) + (self.tracking.uncounted.succeeded.len() + fresh) as u64
    }

    fn count_failed(&self) -> i64 {
        let fresh = self.fresh().filter(|pod| self.params.has_failed(pod));
        let fresh = fresh.filter(|pod| self.params.counts_failure_of(pod)).count();
        i64::from(self.tracking.failed) + (self.tracking.uncounted.failed.len() + fresh) as i64
    }

    /// An index ends once: what is recorded of it stands, and of a success and a failure that are
    /// seen together, the success counts.
    fn look_at_indexes(&mut self) {
        let (limit, status) = (self.params.index_limit(), &self.params.job.status);
        let known_failed = status.failed_indexes.as_deref().unwrap_or_default();
        let known_failed = Indexes::parse(known_failed, limit);
        let ended_well = self.fresh().filter(|pod| pod.phase == PodPhase::Succeeded);
        let ended_well = self.indexes_outside(&known_failed, ended_well);
        self.succeeded_indexes = Indexes::parse(&status.completed_indexes, limit).with(ended_well);
        self.succeeded = self.succeeded_indexes.len();
        if let Some(failures_max) = self.params.limit_per_index() {
            let ended_badly = self.tracked().filter(|pod| self.has_failed_index(pod, failures_max));
            let failed =
                known_failed.with(self.indexes_outside(&self.succeeded_indexes, ended_badly));
            self.to_replace = self.replaceable(&failed);
            self.failed_indexes = Some(failed);
        }
    }

    fn indexes_outside<'p>(
        &self,
        others: &Indexes,
        pods: impl Iterator<Item = &'p PodView>,
    ) -> Vec<u32> {
        let indexes = pods.filter_map(|pod| self.params.index_of(pod));
        indexes.filter(|index| !others.contains(*index)).collect()
    }

    /// Whether the failure of a Pod is one too many for its index.
    fn has_failed_index(&self, pod: &PodView, failures_max: i32) -> bool {
        self.params.has_failed(pod)
            && match self.params.failure_of(pod) {
                FailureAction::FailIndex => true,
                FailureAction::Ignore => false,
                FailureAction::Count | FailureAction::FailJob { .. } => {
                    pod.index_failures.counted >= failures_max
                }
            }
    }

    /// Of several failed Pods of an index, the one that knows of most failures is replaced.
    fn replaceable(&self, failed: &Indexes) -> BTreeMap<u32, &'a PodView> {
        let active = self.active_indexes();
        let mut chosen: BTreeMap<u32, &'a PodView> = BTreeMap::new();
        for pod in self.tracked().filter(|pod| self.params.has_failed(pod)) {
            let Some(index) = self.params.index_of(pod) else { continue };
            let is_settled = self.succeeded_indexes.contains(index) || failed.contains(index);
            if is_settled || active.contains(&index) {
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

    /// Indexes for which no Pod is wanted now, because one is there or none will be.
    pub(super) fn taken_indexes(&self) -> Indexes {
        let going = self.pods.iter().filter(|pod| pod.is_terminating());
        let going = going.filter(|_| self.params.replaces_only_failed());
        let going = going.filter_map(|pod| pod.index);
        let taken = self.succeeded_indexes.with(self.active_indexes()).with(going);
        match &self.failed_indexes {
            Some(failed) => taken.union(failed),
            None => taken,
        }
    }

    /// Whether a Pod is kept although it failed, until there is one in its place.
    pub(super) fn awaits_successor(&self, pod: &PodView) -> bool {
        let index = self.params.index_of(pod);
        let kept = index.and_then(|index| self.to_replace.get(&index));
        kept.is_some_and(|kept| kept.uid == pod.uid)
    }
}
