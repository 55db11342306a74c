//! Counts finished Pods exactly once, even if the controller crashes at any point.
//!
//! The status has the counts, and the UIDs of finished Pods that are not in the counts yet. A Pod
//! keeps the finalizer `batch.kubernetes.io/job-tracking` until its UID is in the status. After
//! the finalizer is removed, one write of the status removes the UID and increments the count. So at any
//! time a finished Pod has the finalizer, or its UID is in the status, or it is counted. Successes
//! of an Indexed Job need no UID, because the set of indexes cannot count one twice.

use std::collections::HashSet;

use punctual_api::job::{JobStatus, UncountedTerminatedPods};

use super::job_params::JobParams;
use super::pod_view::{PodPhase, PodView};

/// How many Pods one step counts or removes at most. It limits the status to 20 kB of UIDs.
pub(super) const STEP_PODS_MAX: usize = 500;

/// The counts of finished Pods, and the UIDs of those that are not counted yet.
#[derive(Clone, Debug)]
pub(super) struct PodTracking {
    pub(super) succeeded: i32,
    pub(super) failed: i32,
    pub(super) uncounted: UncountedTerminatedPods,
}

impl PodTracking {
    /// Reads the status, and counts the uncounted Pods that no longer have the finalizer.
    pub(super) fn from_status(status: &JobStatus, pods: &[PodView]) -> Self {
        let tracked: HashSet<&str> =
            pods.iter().filter(|pod| pod.is_tracked).map(|pod| pod.uid.as_str()).collect();
        let mut uncounted = status.uncounted_terminated_pods.clone().unwrap_or_default();
        let remove_counted = |uids: &mut Vec<String>| {
            let before = uids.len();
            uids.retain(|uid| tracked.contains(uid.as_str()));
            i32::try_from(before - uids.len()).unwrap_or(i32::MAX)
        };
        PodTracking {
            succeeded: status.succeeded.saturating_add(remove_counted(&mut uncounted.succeeded)),
            failed: status.failed.saturating_add(remove_counted(&mut uncounted.failed)),
            uncounted,
        }
    }

    /// Returns the UIDs of the uncounted Pods as sets.
    pub(super) fn uncounted_uids(&self) -> UncountedUids {
        let to_set = |uids: &[String]| uids.iter().cloned().collect();
        UncountedUids {
            succeeded: to_set(&self.uncounted.succeeded),
            failed: to_set(&self.uncounted.failed),
        }
    }

    /// Adds the UID of a Pod whose finalizer is removed next. If `has_job_failed`, every Pod that
    /// did not succeed counts as failed.
    pub(super) fn add_uncounted(
        &mut self,
        params: &JobParams<'_>,
        recorded: &UncountedUids,
        pod: &PodView,
        has_job_failed: bool,
    ) {
        if recorded.contains(pod) {
            return;
        }
        if pod.phase == PodPhase::Succeeded {
            if !params.is_indexed {
                self.uncounted.succeeded.push(pod.uid.clone());
            }
            return;
        }
        let is_failure = params.has_failed(pod) || has_job_failed;
        if is_failure && params.is_countable(pod) && params.is_counted_failure(pod) {
            self.uncounted.failed.push(pod.uid.clone());
        }
    }
}

/// The UIDs of finished Pods that are in the status and not counted yet.
#[derive(Clone, Debug)]
pub(super) struct UncountedUids {
    succeeded: HashSet<String>,
    failed: HashSet<String>,
}

impl UncountedUids {
    /// Whether the status has the UID of a Pod. A Pod that is recorded as failed stays failed, even
    /// if it succeeds afterwards.
    pub(super) fn contains(&self, pod: &PodView) -> bool {
        self.succeeded.contains(&pod.uid) || self.failed.contains(&pod.uid)
    }
}
