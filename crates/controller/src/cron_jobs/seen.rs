//! What is kept of the objects that are watched.

use std::sync::Arc;

use punctual_api::job::JobStatus;
use punctual_api::{CronJobKind, Job, ObjectMeta};
use punctual_client::CachedFields;
use punctual_engine::cronjob::JobView;
use serde::Deserialize;

/// The name of a CronJob.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct CronJobName {
    pub(super) flavor: CronJobKind,
    pub(super) namespace: String,
    pub(super) name: String,
}

impl CronJobName {
    pub(super) fn of(flavor: CronJobKind, meta: &ObjectMeta) -> Arc<CronJobName> {
        let (namespace, name) = (meta.namespace.clone(), meta.name.clone());
        Arc::new(CronJobName { flavor, namespace, name })
    }

    /// Where the object is.
    pub(super) fn path(&self) -> String {
        let CronJobName { flavor, namespace, name } = self;
        let (api, plural) = (flavor.api_version(), flavor.plural());
        format!("/apis/{api}/namespaces/{namespace}/{plural}/{name}")
    }
}

/// The name of a Job.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct JobName {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) uid: String,
    /// The CronJob that made it, if there is still a word of it, and that CronJob's UID.
    pub(super) owner: Option<(CronJobName, String)>,
}

/// What there is to look at.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Key {
    /// A CronJob.
    CronJob(Arc<CronJobName>),
    /// A Job with our finalizer, whose CronJob seems to be gone.
    Held(Arc<JobName>),
}

/// A Job in a watch.
#[derive(Clone, Debug)]
pub(super) struct JobSeen {
    pub(super) namespace: String,
    /// The CronJob that it says it belongs to.
    pub(super) owner: Option<CronJobName>,
    pub(super) view: JobView,
}

impl JobSeen {
    fn of(job: &Job) -> JobSeen {
        let owner = job.metadata.controller().and_then(|owner| {
            let flavor = CronJobKind::from_gvk(&owner.api_version, &owner.kind)?;
            let (namespace, name) = (job.metadata.namespace.clone(), owner.name.clone());
            Some(CronJobName { flavor, namespace, name })
        });
        JobSeen { namespace: job.metadata.namespace.clone(), owner, view: JobView::from_job(job) }
    }

    /// Its name, for the time after its CronJob.
    pub(super) fn name(&self) -> Arc<JobName> {
        let owner = self.owner.clone().map(|owner| (owner, self.view.controller_uid.clone()));
        Arc::new(JobName {
            namespace: self.namespace.clone(),
            name: self.view.name.clone(),
            uid: self.view.uid.clone(),
            owner,
        })
    }
}

/// The parts of a Job that matter here; its template is passed over unread.
#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
pub(super) struct SlimJob {
    metadata: ObjectMeta,
    status: JobStatus,
}

impl SlimJob {
    pub(super) fn seen(self) -> JobSeen {
        let SlimJob { metadata, status } = self;
        JobSeen::of(&Job { metadata, status, ..Job::default() })
    }
}

impl CachedFields for JobSeen {
    fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text).map(SlimJob::seen)
    }
}
