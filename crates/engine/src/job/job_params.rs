//! A Job's spec with defaults applied, and the rules that depend on it alone.

use punctual_api::Job;
use punctual_api::job::{INDEXED, JobSpec, NON_INDEXED};

use super::failure_policy::{self, FailureAction};
use super::pod_view::{PodPhase, PodView};
use super::reasons::UNKNOWN_COMPLETION_MODE;
use crate::PendingEvent;

/// The value of `spec.managedBy` that selects this controller.
const CONTROLLER_NAME: &str = "kubernetes.io/job-controller";

/// The default of `spec.backoffLimit`, as in kube-apiserver.
const BACKOFF_LIMIT: i32 = 6;

/// The parameters of a Job that this controller manages.
#[derive(Clone, Copy, Debug)]
pub(super) struct JobParams<'a> {
    pub(super) job: &'a Job,
    /// The maximum number of active Pods.
    pub(super) parallelism: u32,
    /// The number of successes that complete the Job; `None` for a work queue.
    pub(super) completions: Option<u32>,
    pub(super) is_indexed: bool,
}

impl<'a> JobParams<'a> {
    /// Reads the parameters. A Job with an unknown completion mode cannot be managed; the error is
    /// the event to record.
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
            parallelism: non_negative(spec.parallelism.unwrap_or(1)),
            completions: spec.completions.map(non_negative),
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

    /// The number of failures that the Job may have.
    pub(super) fn backoff_limit(&self) -> i64 {
        // With a limit per index, the Job as a whole has no limit unless the spec sets one.
        let default = if self.limit_per_index().is_some() { i32::MAX } else { BACKOFF_LIMIT };
        i64::from(self.spec().backoff_limit.unwrap_or(default))
    }

    /// The number of failures that one index may have.
    pub(super) fn limit_per_index(&self) -> Option<i32> {
        if self.is_indexed { self.spec().backoff_limit_per_index } else { None }
    }

    /// The number of indexes: all indexes are below it.
    pub(super) fn index_limit(&self) -> u32 {
        self.completions.unwrap_or(0)
    }

    /// Returns the index of a Pod if it is an index of the Job.
    pub(super) fn index_of(&self, pod: &PodView) -> Option<u32> {
        pod.index.filter(|index| self.is_indexed && *index < self.index_limit())
    }

    /// Whether the result of a Pod counts. In an Indexed Job, only Pods with a valid index count.
    pub(super) fn is_countable(&self, pod: &PodView) -> bool {
        !self.is_indexed || self.index_of(pod).is_some()
    }

    /// Whether a Pod that is being deleted is replaced only after it has finished. A pod failure
    /// policy implies this, because it needs the exit codes of the Pod.
    pub(super) fn replaces_only_failed(&self) -> bool {
        self.spec().pod_failure_policy.is_some()
            || self.spec().pod_replacement_policy.as_deref() == Some("Failed")
    }

    /// Whether a Pod counts as failed. A Pod that is being deleted counts as failed unless the Job
    /// waits for its result, because it may be removed before it reports one.
    pub(super) fn has_failed(&self, pod: &PodView) -> bool {
        pod.phase == PodPhase::Failed || pod.is_terminating() && !self.replaces_only_failed()
    }

    /// Returns the action of the pod failure policy for a failed Pod.
    pub(super) fn failure_action(&self, pod: &PodView) -> FailureAction {
        failure_policy::find_action(self.spec().pod_failure_policy.as_ref(), pod)
    }

    /// Whether the failure of a Pod counts.
    pub(super) fn is_counted_failure(&self, pod: &PodView) -> bool {
        self.failure_action(pod) != FailureAction::Ignore
    }
}

/// Whether `spec.managedBy` selects another controller.
pub(super) fn is_managed_externally(job: &Job) -> bool {
    job.spec.managed_by.as_deref().is_some_and(|name| name != CONTROLLER_NAME)
}

fn non_negative(number: i32) -> u32 {
    number.max(0).unsigned_abs()
}
