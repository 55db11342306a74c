//! The API calls of the CronJob controller: reads and status writes of CronJobs, creates and
//! deletes of Jobs.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use punctual_api::cronjob::CronJobStatus;
use punctual_api::slot_record::SlotRecord;
use punctual_api::well_known::{annotations, finalizers};
use punctual_api::{CronJob, CronJobKind, RunRequest, Time};
use punctual_client::resources::{JOBS, RUN_REQUESTS, SLOT_RECORDS};
use punctual_client::{ApiClient, ApiError, remove_finalizer_patch};
use punctual_engine::cronjob::{
    CreateError, CreateResult, GiveUpJob, JobKey, JobView, NeededRecords, RequestKey,
    RequestUpdate, SuspensionChange,
};
use punctual_queue::Failure;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::cached_job::{CachedJob, JobWithoutTemplate};
use super::key::CronJobName;
use super::status_storage::StatusStorage;

/// Reads and writes CronJobs and their Jobs.
pub(super) struct CronJobClient {
    api: ApiClient,
    /// Kinds of which the server drops status fields that Kubernetes does not define.
    pruned_kinds: Vec<CronJobKind>,
}

/// The fields of the response to a create.
#[derive(Deserialize)]
struct CreatedJob {
    metadata: CreatedMetadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CreatedMetadata {
    uid: String,
    resource_version: String,
    creation_timestamp: Option<Time>,
}

impl CronJobClient {
    pub(super) fn new(api: ApiClient, pruned_kinds: Vec<CronJobKind>) -> CronJobClient {
        CronJobClient { api, pruned_kinds }
    }

    /// How the server stores CronJobs of a kind.
    pub(super) fn storage(&self, kind: CronJobKind) -> StatusStorage {
        StatusStorage { kind, is_pruned: self.pruned_kinds.contains(&kind) }
    }

    /// Reads a CronJob; `None` if it does not exist.
    pub(super) async fn read(&self, name: &CronJobName) -> Result<Option<Arc<CronJob>>, ApiError> {
        let found = self.api.find(&name.path()).await?;
        Ok(found.map(|cron_job| self.storage(name.kind).decode(cron_job)))
    }

    /// Reads a Job; `None` if it does not exist.
    pub(super) async fn read_job(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Option<JobView>, ApiError> {
        let job = self.api.find::<JobWithoutTemplate>(&JOBS.object_path(namespace, name)).await?;
        Ok(job.map(|job| CachedJob::from(job).view))
    }

    /// Creates a Job. If the name is taken, reads the Job that has it.
    pub(super) async fn create_job(&self, namespace: &str, name: &str, text: String) -> Creation {
        match self.api.create::<CreatedJob>(&JOBS.collection_path(namespace), text).await {
            Ok(CreatedJob { metadata }) => {
                let CreatedMetadata { uid, resource_version, creation_timestamp } = metadata;
                let created_at = creation_timestamp.map(Time::timestamp);
                Creation::confirmed(CreateResult::Created { uid, resource_version, created_at })
            }
            Err(error) if error.is_conflict() => match self.read_job(namespace, name).await {
                Ok(Some(job)) => Creation::confirmed(CreateResult::AlreadyExists(Box::new(job))),
                // The Job was deleted in between, so the create can be retried.
                Ok(None) => Creation::failed(&error),
                Err(read_error) => {
                    Creation { is_unconfirmed: true, ..Creation::failed(&read_error) }
                }
            },
            Err(error) => Creation::failed(&error),
        }
    }

    /// Deletes a Job. Succeeds if the Job does not exist any more.
    pub(super) async fn delete_job(
        &self,
        namespace: &str,
        job: &JobKey,
        propagation: Propagation,
    ) -> Result<(), ApiError> {
        let path = JOBS.object_path(namespace, &job.name);
        let preconditions = match &job.resource_version {
            Some(version) => json!({"uid": job.uid, "resourceVersion": version}),
            None => json!({"uid": job.uid}),
        };
        let deleted =
            self.api.delete::<IgnoredAny>(&path, propagation.as_str(), &preconditions).await;
        self.api.none_if_deleted(deleted, &path, &job.uid).await.map(drop)
    }

    /// Removes our finalizer from a Job. Succeeds if the Job does not exist any more.
    pub(super) async fn remove_finalizer(
        &self,
        namespace: &str,
        name: &str,
        uid: &str,
    ) -> Result<(), ApiError> {
        let patch = remove_finalizer_patch(uid, finalizers::SLOT_RECORDED);
        let path = JOBS.object_path(namespace, name);
        let patched = self.api.patch::<IgnoredAny>(&path, &patch).await;
        self.api.none_if_deleted(patched, &path, uid).await.map(drop)
    }

    /// Sets the deadline of a Job, so that it fails. Fails with a conflict if the Job changed since it was read: a
    /// Pod may have started. Succeeds if the Job does not exist any more.
    pub(super) async fn give_up_job(
        &self,
        namespace: &str,
        job: &GiveUpJob,
    ) -> Result<(), ApiError> {
        let path = JOBS.object_path(namespace, &job.name);
        let patch = json!({
            "metadata": {"uid": job.uid, "resourceVersion": job.resource_version},
            "spec": {"activeDeadlineSeconds": job.deadline_seconds},
        });
        let patched = self.api.merge_patch::<IgnoredAny>(&path, &patch).await;
        self.api.none_if_deleted(patched, &path, &job.uid).await.map(drop)
    }

    /// Writes our annotations into a CronJob. Fails with a conflict if the CronJob changed since it was read.
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
        let written = self.api.merge_patch(&name.path(), &patch).await?;
        Ok(self.storage(name.kind).decode(written))
    }

    /// Resumes a CronJob, or removes the annotations about its last suspension. Fails with a conflict if the
    /// CronJob changed since it was read.
    pub(super) async fn change_suspension(
        &self,
        name: &CronJobName,
        cron_job: &CronJob,
        change: SuspensionChange,
    ) -> Result<Arc<CronJob>, ApiError> {
        let past = [
            annotations::SUSPENDED_UNTIL,
            annotations::SUSPENDED_REASON,
            annotations::SUSPENDED_BY,
        ];
        let mut removed: BTreeMap<&str, Value> = past.map(|key| (key, Value::Null)).into();
        let mut spec = json!({});
        match change {
            SuspensionChange::Resume => spec = json!({"suspend": false}),
            SuspensionChange::ClearAnnotations => {
                removed.insert(annotations::RESUME_MISSED, Value::Null);
            }
        }
        let patch = json!({
            "metadata": {
                "uid": cron_job.metadata.uid,
                "resourceVersion": cron_job.metadata.resource_version,
                "annotations": removed,
            },
            "spec": spec,
        });
        let written = self.api.merge_patch(&name.path(), &patch).await?;
        Ok(self.storage(name.kind).decode(written))
    }

    /// Writes the status of a CronJob. Fails with a conflict if the CronJob changed since it was read.
    pub(super) async fn write_status(
        &self,
        name: &CronJobName,
        cron_job: &CronJob,
        status: CronJobStatus,
    ) -> Result<Arc<CronJob>, ApiError> {
        let changed = CronJob { status, ..cron_job.clone() };
        let text = serde_json::to_string(&changed);
        let text = text.map_err(|error| ApiError::UnknownOutcome(error.to_string()))?;
        let written = self.api.replace(&format!("{}/status", name.path()), text).await?;
        Ok(self.storage(name.kind).decode(written))
    }
}

/// RunRequests and slot records.
impl CronJobClient {
    /// Reads a RunRequest; `None` if it does not exist.
    pub(super) async fn read_request(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Option<RunRequest>, ApiError> {
        self.api.find(&RUN_REQUESTS.object_path(namespace, name)).await
    }

    /// Writes the status of a RunRequest. Fails with a conflict if the request changed since it was read.
    pub(super) async fn write_request_status(
        &self,
        update: &RequestUpdate,
    ) -> Result<RunRequest, ApiError> {
        let RequestUpdate { request, status } = update;
        let metadata = &request.metadata;
        let mut changed = RunRequest { status: status.clone(), ..(**request).clone() };
        changed.api_version = RunRequest::API_VERSION.to_owned();
        changed.kind = RunRequest::KIND.to_owned();
        changed.metadata.managed_fields = None;
        let text = serde_json::to_string(&changed);
        let text = text.map_err(|error| ApiError::UnknownOutcome(error.to_string()))?;
        let path = RUN_REQUESTS.object_path(&metadata.namespace, &metadata.name);
        self.api.replace(&format!("{path}/status"), text).await
    }

    /// Deletes a RunRequest. Succeeds if it does not exist any more.
    pub(super) async fn delete_request(
        &self,
        namespace: &str,
        request: &RequestKey,
    ) -> Result<(), ApiError> {
        let path = RUN_REQUESTS.object_path(namespace, &request.name);
        let preconditions = json!({"uid": request.uid});
        let background = Propagation::Background.as_str();
        let deleted = self.api.delete::<IgnoredAny>(&path, background, &preconditions).await;
        self.api.none_if_deleted(deleted, &path, &request.uid).await.map(drop)
    }

    /// Reads the records of a CronJob that are about the slots of a query.
    pub(super) async fn read_records(
        &self,
        namespace: &str,
        cron_job_uid: &str,
        query: NeededRecords,
    ) -> Result<Vec<SlotRecord>, ApiError> {
        let from = Time::new(query.from);
        let selector = format!("cronJobUID={cron_job_uid}");
        let after = Time::new(add_seconds(query.from, -1));
        let before = Time::new(add_seconds(query.through, 1));
        let inside = format!("{selector},slotAfter={after},slotBefore={before}");
        let mut records = self.list_records(namespace, &inside, usize::MAX).await?;
        // A record of several slots may begin before the first one.
        let earlier = format!("{selector},request=,slotBefore={from}");
        records.extend(self.list_records(namespace, &earlier, 1).await?);
        Ok(records)
    }

    /// Reads at most `limit` records, page by page.
    async fn list_records(
        &self,
        namespace: &str,
        field_selector: &str,
        limit: usize,
    ) -> Result<Vec<SlotRecord>, ApiError> {
        let path = SLOT_RECORDS.collection_path(namespace);
        let page_size = limit.min(RECORDS_PAGE_SIZE);
        let query = format!("{path}?limit={page_size}&fieldSelector={field_selector}");
        let mut uri = query.clone();
        let mut records = Vec::new();
        loop {
            let page: RecordPage = self.api.get(&uri).await?;
            records.extend(page.items);
            match page.metadata.continue_token {
                Some(token) if !token.is_empty() && records.len() < limit => {
                    uri = format!("{query}&continue={token}");
                }
                _ => return Ok(records),
            }
        }
    }
}

/// How many slot records are read at a time.
const RECORDS_PAGE_SIZE: usize = 1_000;

/// A page of slot records.
#[derive(Deserialize)]
struct RecordPage {
    #[serde(default)]
    metadata: PageMetadata,
    items: Vec<SlotRecord>,
}

#[derive(Default, Deserialize)]
struct PageMetadata {
    #[serde(rename = "continue")]
    continue_token: Option<String>,
}

fn add_seconds(time: Timestamp, seconds: i64) -> Timestamp {
    time.saturating_add(SignedDuration::from_secs(seconds)).unwrap_or(time)
}

/// When a deleted Job is gone.
#[derive(Clone, Copy)]
pub(super) enum Propagation {
    /// At once; its Pods are deleted after that.
    Background,
    /// When its Pods are gone.
    Foreground,
}

impl Propagation {
    fn as_str(self) -> &'static str {
        match self {
            Propagation::Background => "Background",
            Propagation::Foreground => "Foreground",
        }
    }
}

/// The result of a create.
pub(super) struct Creation {
    pub(super) result: CreateResult,
    /// Whether it is unknown if the Job exists.
    pub(super) is_unconfirmed: bool,
    /// How to retry after an error.
    pub(super) failure: Failure,
}

impl Creation {
    fn confirmed(result: CreateResult) -> Creation {
        Creation { result, is_unconfirmed: false, failure: Failure::default() }
    }

    fn failed(error: &ApiError) -> Creation {
        let create_error = CreateError {
            message: error.message().to_owned(),
            is_namespace_terminating: error.is_namespace_terminating(),
        };
        Creation {
            result: CreateResult::Failed(create_error),
            is_unconfirmed: error.is_unconfirmed(),
            failure: error.to_failure(),
        }
    }

    /// A create that was not sent, because the Job could not be built.
    pub(super) fn not_sent(message: String) -> Creation {
        let create_error = CreateError { message, is_namespace_terminating: false };
        Creation::confirmed(CreateResult::Failed(create_error))
    }
}
