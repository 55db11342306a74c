//! The fields of a Job that the CronJob controller caches.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use punctual_api::job::{JobSpec, JobStatus};
use punctual_api::{CronJobKind, Job, ObjectMeta, Time};
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
    pub(super) created_at: Option<Timestamp>,
    pub(super) view: JobView,
}

impl CachedJob {
    fn new(job: &Job) -> CachedJob {
        let owner = job.metadata.controller().and_then(|owner| {
            let kind = CronJobKind::from_gvk(&owner.api_version, &owner.kind)?;
            let namespace = job.metadata.namespace.clone();
            Some(CronJobName { kind, namespace, name: owner.name.clone() })
        });
        CachedJob {
            namespace: job.metadata.namespace.clone(),
            owner,
            created_at: job.metadata.creation_timestamp.map(Time::timestamp),
            view: JobView::from_job(job),
        }
    }

    /// The time from its creation to its start, in whole seconds.
    pub(super) fn started_after(&self) -> Option<Duration> {
        let after = self.view.started_at?.duration_since(self.created_at?);
        Some(after.try_into().unwrap_or(Duration::ZERO))
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
pub(super) struct JobWithoutTemplate {
    metadata: ObjectMeta,
    spec: SpecWithoutTemplate,
    status: JobStatus,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct SpecWithoutTemplate {
    active_deadline_seconds: Option<i64>,
}

impl From<JobWithoutTemplate> for CachedJob {
    fn from(job: JobWithoutTemplate) -> CachedJob {
        let JobWithoutTemplate { metadata, spec, status } = job;
        let SpecWithoutTemplate { active_deadline_seconds } = spec;
        let spec = JobSpec { active_deadline_seconds, ..JobSpec::default() };
        CachedJob::new(&Job { metadata, spec, status, ..Job::default() })
    }
}

impl CachedFields for CachedJob {
    fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str::<JobWithoutTemplate>(text).map(CachedJob::from)
    }
}
