//! How Pods that ended are counted: each exactly once, whenever the controller dies.
//!
//! The status holds the counts, and the UIDs of Pods that ended and are not in them yet. A Pod
//! keeps the finalizer `batch.kubernetes.io/job-tracking` until its UID is written there; it moves
//! from UID to count in one write once the finalizer is seen to be gone. So a Pod is at any
//! time in exactly one of three places: it has the finalizer, or it has an entry, or it is counted.
//! Successes of an Indexed Job need no UID: the set of indexes cannot count one twice.

use std::collections::HashSet;

use punctual_api::job::{JobStatus, UncountedTerminatedPods};

use super::job_params::JobParams;
use super::pod_view::{PodPhase, PodView};

/// How many Pods are entered or removed in one step, so that a status stays small (20 kB of UIDs).
pub(super) const STEP_PODS_MAX: usize = 500;

/// The counts and the entries that are to become counts.
#[derive(Clone, Debug)]
pub(super) struct PodTracking {
    pub(super) succeeded: i32,
    pub(super) failed: i32,
    pub(super) uncounted: UncountedTerminatedPods,
}

impl PodTracking {
    /// The tracking of a status, with the entries counted whose Pods lost the finalizer.
    pub(super) fn from_status(status: &JobStatus, pods: &[PodView]) -> Self {
        let tracked: HashSet<&str> =
            pods.iter().filter(|pod| pod.is_tracked).map(|pod| pod.uid.as_str()).collect();
        let mut uncounted = status.uncounted_terminated_pods.clone().unwrap_or_default();
        let count = |entries: &mut Vec<String>| {
            let before = entries.len();
            entries.retain(|uid| tracked.contains(uid.as_str()));
            i32::try_from(before - entries.len()).unwrap_or(i32::MAX)
        };
        PodTracking {
            succeeded: status.succeeded.saturating_add(count(&mut uncounted.succeeded)),
            failed: status.failed.saturating_add(count(&mut uncounted.failed)),
            uncounted,
        }
    }

    /// Who has an entry.
    pub(super) fn entries(&self) -> UncountedUids {
        let set = |uids: &[String]| uids.iter().cloned().collect();
        UncountedUids {
            succeeded: set(&self.uncounted.succeeded),
            failed: set(&self.uncounted.failed),
        }
    }

    /// Enters a Pod that is to lose its finalizer. `all_failed`: the Job has failed, and with it
    /// every Pod that has not ended well.
    pub(super) fn enter(
        &mut self,
        params: &JobParams<'_>,
        entries: &UncountedUids,
        pod: &PodView,
        all_failed: bool,
    ) {
        if entries.has(pod) {
            return;
        }
        if pod.phase == PodPhase::Succeeded {
            if !params.is_indexed {
                self.uncounted.succeeded.push(pod.uid.clone());
            }
            return;
        }
        let is_failure = params.has_failed(pod) || all_failed;
        if is_failure && params.admits(pod) && params.counts_failure_of(pod) {
            self.uncounted.failed.push(pod.uid.clone());
        }
    }
}

/// Who has an entry in a tracking.
#[derive(Clone, Debug)]
pub(super) struct UncountedUids {
    succeeded: HashSet<String>,
    failed: HashSet<String>,
}

impl UncountedUids {
    /// Whether a Pod has an entry. One that was entered as failed may end well after all: it
    /// stays what it was entered as.
    pub(super) fn has(&self, pod: &PodView) -> bool {
        self.succeeded.contains(&pod.uid) || self.failed.contains(&pod.uid)
    }
}
