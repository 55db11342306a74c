//! The fields of a Job that the CronJob controller caches.

use std::sync::Arc;

use punctual_api::job::JobStatus;
use punctual_api::{CronJobKind, Job, ObjectMeta};
use punctual_client::CachedFields;
use punctual_engine::cronjob::JobView;
use serde::Deserialize;

use super::key::{CronJobName, OrphanedJob, OwnerCronJob};

/// A Job of a CronJob.
#[derive(Clone, Debug)]
pub(super) struct CachedJob {
    pub(super) namespace: String,
    /// The CronJob that its controller reference names.
    pub(super) owner: Option<CronJobName>,
    pub(super) view: JobView,
}

impl CachedJob {
    fn new(job: &Job) -> CachedJob {
        let owner = job.metadata.controller().and_then(|owner| {
            let kind = CronJobKind::from_gvk(&owner.api_version, &owner.kind)?;
            let namespace = job.metadata.namespace.clone();
            Some(CronJobName { kind, namespace, name: owner.name.clone() })
        });
        CachedJob { namespace: job.metadata.namespace.clone(), owner, view: JobView::from_job(job) }
    }

    pub(super) fn to_orphaned_job(&self) -> Arc<OrphanedJob> {
        let owner = self.owner.clone().map(|name| {
            let uid = self.view.controller_uid.clone();
            OwnerCronJob { name, uid }
        });
        Arc::new(OrphanedJob {
            namespace: self.namespace.clone(),
            name: self.view.name.clone(),
            uid: self.view.uid.clone(),
            owner,
        })
    }
}

/// The parts of a Job that are parsed. The Pod template is skipped.
#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
pub(super) struct JobWithoutSpec {
    metadata: ObjectMeta,
    status: JobStatus,
}

impl From<JobWithoutSpec> for CachedJob {
    fn from(job: JobWithoutSpec) -> CachedJob {
        let JobWithoutSpec { metadata, status } = job;
        CachedJob::new(&Job { metadata, status, ..Job::default() })
    }
}

impl CachedFields for CachedJob {
    fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str::<JobWithoutSpec>(text).map(CachedJob::from)
    }
}
