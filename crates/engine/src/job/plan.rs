//! What is to be done: values that a shell carries out without thinking.

use jiff::Timestamp;
use punctual_api::Pod;
use punctual_api::job::JobStatus;

use super::backoff::Backoff;
use super::pod_view::PodView;
use super::reasons;
use crate::PendingEvent;

/// The next step for a Job.
///
/// Carried out in this order, each part only after the one before it succeeded:
/// 1. `pods_to_create`. Where one fails, ask again with [`status_only`] and go on with that plan.
/// 2. `status`, against the version of the Job that was observed.
/// 3. `finalizers_to_remove`: what a Pod was counted as is in the status by now.
/// 4. `pods_to_delete`: none of them carries the finalizer by now.
/// 5. `delete_job`, and `events`.
///
/// A shell that dies in between starts over with [`decide`]: nothing is lost or counted twice.
/// A plan that is not [idle](Plan::is_idle) is one step of several: once its effects are
/// observed, [`decide`] yields the next.
///
/// [`decide`]: super::decide
/// [`status_only`]: super::Observed::status_only
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Pods to create, lowest index first.
    pub pods_to_create: Vec<CreatePod>,
    /// The status to write, if it is to change. It speaks of the Pods as they will be.
    pub status: Option<JobStatus>,
    /// Pods from which to take the finalizer `batch.kubernetes.io/job-tracking`.
    pub finalizers_to_remove: Vec<PodKey>,
    /// Pods to delete.
    pub pods_to_delete: Vec<DeletePod>,
    /// The Job itself, if its time is over.
    pub delete_job: Option<DeleteJob>,
    /// What to tell people, besides what becomes of each Pod.
    pub events: Vec<PendingEvent>,
    /// When to look again, if nothing happens before.
    pub wake_at: Option<Timestamp>,
    /// What to pass to the next call.
    pub backoff: Backoff,
}

impl Plan {
    /// Whether nothing is to be done now.
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
/// Its name follows from what was observed, so that a create whose answer was lost is met by its own
/// Pod. If a stranger has the name, drop `metadata.name`: `metadata.generateName` is set too.
#[derive(Clone, Debug)]
pub struct CreatePod {
    /// The Pod, complete.
    pub pod: Box<Pod>,
}

impl CreatePod {
    /// To tell once it was created.
    pub fn created_event(&self) -> PendingEvent {
        let message = format!("Created pod: {}", self.pod.metadata.name);
        PendingEvent::normal(reasons::SUCCESSFUL_CREATE, message)
    }

    /// To tell when it could not be created, unless its namespace is on its way out.
    pub fn create_failed_event(&self, why: &str) -> PendingEvent {
        PendingEvent::warning(reasons::FAILED_CREATE, format!("Error creating: {why}"))
    }
}

/// A Pod of the Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodKey {
    /// Its name, in the Job's namespace.
    pub name: String,
    /// Its identity: a namesake is another Pod.
    pub uid: String,
}

impl PodKey {
    pub(super) fn of(pod: &PodView) -> Self {
        PodKey { name: pod.name.clone(), uid: pod.uid.clone() }
    }
}

/// A Pod to delete, with the grace its spec has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeletePod {
    /// The Pod; its UID is the precondition.
    pub key: PodKey,
}

impl DeletePod {
    /// To tell once it was deleted; not if it was gone already.
    pub fn deleted_event(&self) -> PendingEvent {
        let message = format!("Deleted pod: {}", self.key.name);
        PendingEvent::normal(reasons::SUCCESSFUL_DELETE, message)
    }

    /// To tell when it could not be deleted.
    pub fn delete_failed_event(&self, why: &str) -> PendingEvent {
        PendingEvent::warning(reasons::FAILED_DELETE, format!("Error deleting: {why}"))
    }
}

/// The Job, to be deleted with its Pods first (foreground).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeleteJob {
    /// The Job's UID, as precondition.
    pub uid: String,
    /// The version that was observed, as precondition: its time to live may have been changed since.
    pub resource_version: String,
}
