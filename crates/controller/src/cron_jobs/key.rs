//! Names of CronJobs, and the keys of the work queue.

use std::sync::Arc;

use punctual_api::{CronJobKind, ObjectMeta, RunRequest};
use punctual_client::resources::cron_jobs_of;

/// The kind, namespace and name of a CronJob.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct CronJobName {
    pub(super) kind: CronJobKind,
    pub(super) namespace: String,
    pub(super) name: String,
}

impl CronJobName {
    pub(super) fn new(kind: CronJobKind, metadata: &ObjectMeta) -> Arc<CronJobName> {
        let namespace = metadata.namespace.clone();
        let name = metadata.name.clone();
        Arc::new(CronJobName { kind, namespace, name })
    }

    /// The CronJob that a RunRequest is for; `None` if no CronJob has a kind of that name.
    pub(super) fn of_target(request: &RunRequest) -> Option<Arc<CronJobName>> {
        let kind = request.spec.target_kind()?;
        let namespace = request.metadata.namespace.clone();
        let name = request.spec.target.name.clone();
        Some(Arc::new(CronJobName { kind, namespace, name }))
    }

    /// The path of the CronJob in the API.
    pub(super) fn path(&self) -> String {
        cron_jobs_of(self.kind).object_path(&self.namespace, &self.name)
    }
}

/// A Job with our finalizer whose CronJob is not cached.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct OrphanedJob {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) uid: String,
    /// The CronJob that its owner reference names, if there is one.
    pub(super) owner: Option<OwnerCronJob>,
}

/// The CronJob that an owner reference names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct OwnerCronJob {
    pub(super) name: CronJobName,
    pub(super) uid: String,
}

/// A key of the CronJob controller's work queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum ReconcileKey {
    /// Reconcile a CronJob.
    CronJob(Arc<CronJobName>),
    /// Remove our finalizer from a Job if its CronJob was deleted.
    OrphanedJob(Arc<OrphanedJob>),
}
