//! What can be done about CronJobs and their Jobs: one call each.

use std::collections::BTreeMap;
use std::sync::Arc;

use punctual_api::cronjob::CronJobStatus;
use punctual_api::well_known::finalizers;
use punctual_api::{CronJob, CronJobKind};
use punctual_client::resources::JOBS;
use punctual_client::{ApiClient, ApiError, remove_finalizer_patch};
use punctual_engine::cronjob::{CreateError, CreateResult, JobKey, JobView};
use punctual_queue::Failure;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;

use super::seen::{CronJobName, SlimJob};
use super::storage::Storage;

/// The calls.
pub(super) struct Effects {
    calls: ApiClient,
    /// Kinds of which the server keeps no field that Kubernetes does not know.
    pruned: Vec<CronJobKind>,
}

/// What is read of a Job that was created.
#[derive(Deserialize)]
struct Made {
    metadata: MadeMeta,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MadeMeta {
    uid: String,
    resource_version: String,
}

impl Effects {
    pub(super) fn new(calls: ApiClient, pruned: Vec<CronJobKind>) -> Effects {
        Effects { calls, pruned }
    }

    /// How CronJobs of a kind are kept.
    pub(super) fn storage(&self, flavor: CronJobKind) -> Storage {
        Storage { flavor, is_pruned: self.pruned.contains(&flavor) }
    }

    /// The CronJob as it is; none if there is none.
    pub(super) async fn read(&self, name: &CronJobName) -> Result<Option<Arc<CronJob>>, ApiError> {
        let found = self.calls.find(&name.path()).await?;
        Ok(found.map(|cron_job| self.storage(name.flavor).read(cron_job)))
    }

    /// A Job as it is; none if there is none.
    pub(super) async fn read_job(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Option<JobView>, ApiError> {
        let job = self.calls.find::<SlimJob>(&JOBS.object_path(namespace, name)).await?;
        Ok(job.map(|job| job.seen().view))
    }

    /// Creates a Job.
    pub(super) async fn create_job(&self, namespace: &str, name: &str, text: String) -> Creation {
        match self.calls.create::<Made>(&JOBS.collection_path(namespace), text).await {
            Ok(Made { metadata: MadeMeta { uid, resource_version } }) => {
                Creation::known(CreateResult::Created { uid, resource_version })
            }
            Err(refused) if refused.is_conflict() => match self.read_job(namespace, name).await {
                Ok(Some(job)) => Creation::known(CreateResult::AlreadyExists(job)),
                // It was there, and is gone: try again.
                Ok(None) => Creation::refused(&refused),
                Err(unread) => Creation { is_doubtful: true, ..Creation::refused(&unread) },
            },
            Err(refused) => Creation::refused(&refused),
        }
    }

    /// Deletes a Job in the background. One that is gone, or is another by now, needs no deleting.
    pub(super) async fn delete_job(&self, namespace: &str, job: &JobKey) -> Result<(), ApiError> {
        let path = JOBS.object_path(namespace, &job.name);
        let mut only = json!({"uid": job.uid});
        if let (Some(version), Some(only)) = (&job.resource_version, only.as_object_mut()) {
            only.insert("resourceVersion".to_owned(), json!(version));
        }
        let deleted = self.calls.delete::<IgnoredAny>(&path, "Background", &only).await;
        self.calls.none_if_deleted(deleted, &path, &job.uid).await.map(drop)
    }

    /// Takes our finalizer from a Job.
    pub(super) async fn release(
        &self,
        namespace: &str,
        name: &str,
        uid: &str,
    ) -> Result<(), ApiError> {
        let patch = remove_finalizer_patch(uid, finalizers::SLOT_RECORDED);
        let path = JOBS.object_path(namespace, name);
        let released = self.calls.patch::<IgnoredAny>(&path, &patch).await;
        self.calls.none_if_deleted(released, &path, uid).await.map(drop)
    }

    /// Writes annotations of ours into the CronJob, if it is still the one that was seen.
    pub(super) async fn annotate(
        &self,
        name: &CronJobName,
        cron_job: &CronJob,
        annotations: &BTreeMap<&'static str, String>,
    ) -> Result<Arc<CronJob>, ApiError> {
        let patch = json!({"metadata": {
            "uid": cron_job.metadata.uid,
            "resourceVersion": cron_job.metadata.resource_version,
            "annotations": annotations,
        }});
        let written = self.calls.merge_patch(&name.path(), &patch).await?;
        Ok(self.storage(name.flavor).read(written))
    }

    /// Writes the status of a CronJob, if it is still the one that was seen.
    pub(super) async fn write_status(
        &self,
        name: &CronJobName,
        cron_job: &CronJob,
        status: CronJobStatus,
    ) -> Result<Arc<CronJob>, ApiError> {
        let changed = CronJob { status, ..cron_job.clone() };
        let text = serde_json::to_string(&changed);
        let text = text.map_err(|why| ApiError::UnknownOutcome(why.to_string()))?;
        let written = self.calls.replace(&format!("{}/status", name.path()), text).await?;
        Ok(self.storage(name.flavor).read(written))
    }
}

/// What came of a create.
pub(super) struct Creation {
    pub(super) attempt: CreateResult,
    /// Nobody knows whether the Job is there.
    pub(super) is_doubtful: bool,
    /// What kept it from being done, if something did.
    pub(super) failure: Failure,
}

impl Creation {
    fn known(attempt: CreateResult) -> Creation {
        Creation { attempt, is_doubtful: false, failure: Failure::default() }
    }

    fn refused(refused: &ApiError) -> Creation {
        let refusal = CreateError {
            message: refused.message().to_owned(),
            is_namespace_terminating: refused.is_namespace_terminating(),
        };
        Creation {
            attempt: CreateResult::Failed(refusal),
            is_doubtful: refused.is_unconfirmed(),
            failure: refused.to_failure(),
        }
    }

    /// A create that was not even tried.
    pub(super) fn impossible(why: String) -> Creation {
        let refusal = CreateError { message: why, is_namespace_terminating: false };
        Creation::known(CreateResult::Failed(refusal))
    }
}
