//! What a Job's spec asks, with the gaps filled and the numbers made usable.

use punctual_api::Job;
use punctual_api::job::{INDEXED, JobSpec, NON_INDEXED};

use super::failure_policy;
use super::pod_view::{PodPhase, PodView};
use super::reasons::UNKNOWN_COMPLETION_MODE;
use crate::PendingEvent;

/// The controller that a Job names when it names this one.
const CONTROLLER_NAME: &str = "kubernetes.io/job-controller";

/// Failures that a Job without a limit may have, as kube-apiserver fills it in.
const BACKOFF_LIMIT: i32 = 6;

/// A Job that can be managed, and what it asks.
#[derive(Clone, Copy, Debug)]
pub(super) struct JobParams<'a> {
    pub(super) job: &'a Job,
    /// How many Pods at most at a time.
    pub(super) parallelism: u32,
    /// How many must succeed; absent for a work queue.
    pub(super) completions: Option<u32>,
    pub(super) is_indexed: bool,
}

impl<'a> JobParams<'a> {
    /// Nothing can be done for a Job of a mode that is not known; that is the error.
    pub(super) fn from_job(job: &'a Job) -> Result<Self, PendingEvent> {
        let spec = &job.spec;
        let mode = spec.completion_mode.as_deref().unwrap_or(NON_INDEXED);
        let is_indexed = mode == INDEXED;
        if !is_indexed && mode != NON_INDEXED {
            let message = "Skipped Job sync because completion mode is unknown";
            return Err(PendingEvent::warning(UNKNOWN_COMPLETION_MODE, message));
        }
        if is_indexed && spec.completions.is_none() {
            let message = "Skipped Job sync because an Indexed Job needs completions";
            return Err(PendingEvent::warning(UNKNOWN_COMPLETION_MODE, message));
        }
        Ok(JobParams {
            job,
            parallelism: count(spec.parallelism.unwrap_or(1)),
            completions: spec.completions.map(count),
            is_indexed,
        })
    }

    fn spec(&self) -> &'a JobSpec {
        &self.job.spec
    }

    pub(super) fn is_deleting(&self) -> bool {
        self.job.metadata.deletion_timestamp.is_some()
    }

    pub(super) fn is_suspended(&self) -> bool {
        self.spec().is_suspended()
    }

    pub(super) fn backoff_limit(&self) -> i64 {
        // Where each index has a limit of its own, the Job as a whole has none unless it says so.
        let absent = if self.limit_per_index().is_some() { i32::MAX } else { BACKOFF_LIMIT };
        i64::from(self.spec().backoff_limit.unwrap_or(absent))
    }

    /// Failures that one index may have.
    pub(super) fn limit_per_index(&self) -> Option<i32> {
        self.spec().backoff_limit_per_index.filter(|_| self.is_indexed)
    }

    /// Indexes are below this.
    pub(super) fn index_limit(&self) -> u32 {
        self.completions.unwrap_or(0)
    }

    /// The index of a Pod, if the Job has such an index.
    pub(super) fn index_of(&self, pod: &PodView) -> Option<u32> {
        pod.index.filter(|index| self.is_indexed && *index < self.index_limit())
    }

    /// Whether what becomes of a Pod counts at all.
    pub(super) fn admits(&self, pod: &PodView) -> bool {
        !self.is_indexed || self.index_of(pod).is_some()
    }

    /// Whether a Pod that is being deleted is replaced only once it ended. A failure policy implies
    /// it: how a Pod ended is what the policy goes by.
    pub(super) fn replaces_only_failed(&self) -> bool {
        self.spec().pod_failure_policy.is_some()
            || self.spec().pod_replacement_policy.as_deref() == Some("Failed")
    }

    /// Whether a Pod is taken to have failed. One that is being deleted may never get to say so.
    pub(super) fn has_failed(&self, pod: &PodView) -> bool {
        pod.phase == PodPhase::Failed || pod.is_terminating() && !self.replaces_only_failed()
    }

    /// What the policy says of a failed Pod.
    pub(super) fn failure_of(&self, pod: &PodView) -> failure_policy::FailureAction {
        failure_policy::meaning(self.spec().pod_failure_policy.as_ref(), pod)
    }

    /// Whether the failure of a Pod counts.
    pub(super) fn counts_failure_of(&self, pod: &PodView) -> bool {
        self.failure_of(pod) != failure_policy::FailureAction::Ignore
    }
}

/// Whether another controller looks after a Job.
pub(super) fn is_managed_elsewhere(job: &Job) -> bool {
    job.spec.managed_by.as_deref().is_some_and(|name| name != CONTROLLER_NAME)
}

fn count(number: i32) -> u32 {
    number.max(0).unsigned_abs()
}
