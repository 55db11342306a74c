//! The plan that a decision about a Job returns: the effects of one step, in the order in which
//! they must happen.

use jiff::Timestamp;
use punctual_api::Pod;
use punctual_api::job::JobStatus;

use super::backoff::Backoff;
use super::pod_view::PodView;
use super::reasons;
use crate::PendingEvent;

/// The effects of one step for a Job.
///
/// Execute them in this order, each group only after the previous one succeeded:
/// 1. `pods_to_create`. If one fails, call [`decide`] again with [`status_only`] and continue with
///    that plan.
/// 2. `status`, with the observed resource version of the Job as precondition.
/// 3. `finalizers_to_remove`. The status has the results of these Pods now.
/// 4. `pods_to_delete`. None of them has the finalizer now.
/// 5. `delete_job`, and `events`.
///
/// After a crash call [`decide`] again: no Pod is lost or counted twice. A plan that is not
/// [idle](Plan::is_idle) may be one of several steps: after its effects are observed, [`decide`]
/// returns the next one.
///
/// [`decide`]: super::decide
/// [`status_only`]: super::Observed::status_only
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Pods to create, lowest index first.
    pub pods_to_create: Vec<CreatePod>,
    /// The status to write, if it changes. Its counts include the Pods that the plan creates and
    /// deletes.
    pub status: Option<JobStatus>,
    /// Pods from which to remove the finalizer `batch.kubernetes.io/job-tracking`.
    pub finalizers_to_remove: Vec<PodKey>,
    /// Pods to delete.
    pub pods_to_delete: Vec<DeletePod>,
    /// The Job itself, if its time to live is over.
    pub delete_job: Option<DeleteJob>,
    /// Events to record, without those about single Pods.
    pub events: Vec<PendingEvent>,
    /// When to reconcile again if nothing changes before.
    pub wake_at: Option<Timestamp>,
    /// The value of [`Observed::backoff`](super::Observed::backoff) for the next call.
    pub backoff: Backoff,
}

impl Plan {
    /// Whether the plan has no effects.
    pub fn is_idle(&self) -> bool {
        self.pods_to_create.is_empty()
            && self.status.is_none()
            && self.finalizers_to_remove.is_empty()
            && self.pods_to_delete.is_empty()
            && self.delete_job.is_none()
    }
}

/// A Pod to create.
///
/// Its name depends only on the observed state. So if the response to a create is lost, the next
/// attempt finds the name taken by its own Pod. If a Pod of another owner has the name, remove
/// `metadata.name`: `metadata.generateName` is set too.
#[derive(Clone, Debug)]
pub struct CreatePod {
    /// The complete Pod.
    pub pod: Box<Pod>,
}

impl CreatePod {
    /// The event to record after the Pod is created.
    pub fn created_event(&self) -> PendingEvent {
        let message = format!("Created pod: {}", self.pod.metadata.name);
        PendingEvent::normal(reasons::SUCCESSFUL_CREATE, message)
    }

    /// The event to record if the create fails, unless the namespace is being deleted.
    pub fn create_failed_event(&self, error: &str) -> PendingEvent {
        PendingEvent::warning(reasons::FAILED_CREATE, format!("Error creating: {error}"))
    }
}

/// The name and UID of a Pod of the Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodKey {
    /// The name, in the Job's namespace.
    pub name: String,
    /// The UID, a precondition of the call.
    pub uid: String,
}

impl PodKey {
    pub(super) fn from_view(pod: &PodView) -> Self {
        PodKey { name: pod.name.clone(), uid: pod.uid.clone() }
    }
}

/// A Pod to delete, with the grace period of its spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeletePod {
    /// The Pod.
    pub key: PodKey,
}

impl DeletePod {
    /// The event to record after the Pod is deleted. Record none if it was deleted already.
    pub fn deleted_event(&self) -> PendingEvent {
        let message = format!("Deleted pod: {}", self.key.name);
        PendingEvent::normal(reasons::SUCCESSFUL_DELETE, message)
    }

    /// The event to record if the delete fails.
    pub fn delete_failed_event(&self, error: &str) -> PendingEvent {
        PendingEvent::warning(reasons::FAILED_DELETE, format!("Error deleting: {error}"))
    }
}

/// The Job to delete with foreground propagation, so that its Pods are deleted first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeleteJob {
    /// The UID, a precondition of the call.
    pub uid: String,
    /// The observed resource version, a precondition of the call: a user may have changed the time
    /// to live since.
    pub resource_version: String,
}
