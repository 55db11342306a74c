//! Executes a plan in the order that [`Plan`] requires. Objects that changed or were deleted in between
//! are no failure: the watch will show them, and the Job is reconciled again.

use std::collections::BTreeMap;

use futures::{StreamExt as _, stream};
use punctual_api::job::JobStatus;
use punctual_api::well_known::finalizers;
use punctual_client::{ApiError, remove_finalizer_patch};
use punctual_engine::job::{DeleteJob, DeletePod, Plan, PodKey};
use punctual_queue::Failure;
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use super::cached_objects::{CachedJob, CachedPod, ResponseObject};
use super::{CONCURRENT_CALLS_MAX, JobController, JobSnapshot};

impl JobController {
    /// Executes everything in a plan except the creates, which must be done before.
    pub(super) async fn execute(&self, snapshot: &JobSnapshot, plan: &Plan) -> Result<(), Failure> {
        if let Some(status) = &plan.status {
            self.write_status(snapshot, status).await?;
        }
        let pods_result = self.remove_finalizers_and_delete_pods(snapshot, plan).await;
        // The events report the status, which is written even if the calls for
        // Pods failed.
        for event in &plan.events {
            self.record_event(&snapshot.job, event);
        }
        pods_result?;
        match &plan.delete_job {
            Some(delete) => self.delete_job(snapshot, delete).await,
            None => Ok(()),
        }
    }

    /// Removes finalizers from Pods, and deletes Pods.
    async fn remove_finalizers_and_delete_pods(
        &self,
        snapshot: &JobSnapshot,
        plan: &Plan,
    ) -> Result<(), Failure> {
        let pods = plan.finalizers_to_remove.iter();
        run_all(pods.map(|pod| self.remove_pod_finalizer(snapshot, pod))).await?;
        let pods = plan.pods_to_delete.iter();
        run_all(pods.map(|pod| self.delete_pod(snapshot, pod))).await
    }

    /// Writes the status if the Job still has the version of the snapshot. Otherwise it reads the Job to
    /// update the cache, and fails: the other steps of the plan require the status to be written, and the
    /// retry makes a new plan.
    async fn write_status(
        &self,
        snapshot: &JobSnapshot,
        status: &JobStatus,
    ) -> Result<(), Failure> {
        let text = replace_status(&snapshot.text, status).map_err(|error| {
            let metadata = &snapshot.job.metadata;
            tracing::error!(
                namespace = metadata.namespace,
                job = metadata.name,
                %error,
                "could not serialize the status of a Job; retrying with backoff"
            );
            Failure::default()
        })?;
        let path = snapshot.path();
        match self.api.replace(&format!("{path}/status"), text).await {
            Ok(response) => {
                self.apply_job_response(response);
                Ok(())
            }
            Err(error) if error.is_stale() => self.read_and_retry(&path).await,
            Err(error) => Err(error.into()),
        }
    }

    async fn remove_pod_finalizer(
        &self,
        snapshot: &JobSnapshot,
        pod: &PodKey,
    ) -> Result<(), Failure> {
        let patch = remove_finalizer_patch(&pod.uid, finalizers::JOB_TRACKING);
        let path = snapshot.pod_path(&pod.name);
        let response = self.api.patch(&path, &patch).await;
        self.apply_if_exists(response, &path, &pod.uid).await?;
        Ok(())
    }

    async fn delete_pod(&self, snapshot: &JobSnapshot, delete: &DeletePod) -> Result<(), Failure> {
        let preconditions = json!({"uid": delete.key.uid});
        let path = snapshot.pod_path(&delete.key.name);
        let response = self.api.delete(&path, "Background", &preconditions).await;
        match self.apply_if_exists(response, &path, &delete.key.uid).await {
            Ok(true) => self.record_event(&snapshot.job, &delete.deleted_event()),
            Ok(false) => {}
            Err(error) => {
                self.record_event(&snapshot.job, &delete.delete_failed_event(error.message()));
                return Err(error.into());
            }
        }
        Ok(())
    }

    async fn delete_job(&self, snapshot: &JobSnapshot, delete: &DeleteJob) -> Result<(), Failure> {
        let preconditions = json!({"uid": delete.uid, "resourceVersion": delete.resource_version});
        let path = snapshot.path();
        match self.api.delete(&path, "Foreground", &preconditions).await {
            Ok(response) => {
                self.apply_job_response(response);
                Ok(())
            }
            Err(error) if error.is_stale() => self.read_and_retry(&path).await,
            Err(error) => Err(error.into()),
        }
    }

    /// Reads a Job whose cached version is stale, and fails so that the reconcile is retried.
    async fn read_and_retry(&self, path: &str) -> Result<(), Failure> {
        if let Some(response) = self.api.find(path).await? {
            self.apply_job_response(response);
        }
        Err(Failure::default())
    }

    fn apply_job_response(&self, ResponseObject(job): ResponseObject<CachedJob>) {
        if let Some(job) = job {
            self.update_cache(|cache| cache.apply_job_response(job));
        }
    }

    pub(super) fn apply_pod_response(&self, ResponseObject(pod): ResponseObject<CachedPod>) {
        if let Some(pod) = pod {
            self.update_cache(|cache| cache.apply_pod_response(pod));
        }
    }

    /// Applies the Pod of a response to the cache. Returns whether the Pod existed.
    async fn apply_if_exists(
        &self,
        response: Result<ResponseObject<CachedPod>, ApiError>,
        path: &str,
        uid: &str,
    ) -> Result<bool, ApiError> {
        match self.api.none_if_deleted(response, path, uid).await? {
            Some(response) => {
                self.apply_pod_response(response);
                Ok(true)
            }
            None => Ok(false),
        }
    }
}

/// Runs all futures, a few at a time, even if some fail. Returns the failure with the longest retry delay.
async fn run_all<F>(futures: impl Iterator<Item = F>) -> Result<(), Failure>
where
    F: Future<Output = Result<(), Failure>>,
{
    let futures: Vec<F> = futures.collect();
    let results: Vec<Result<(), Failure>> =
        stream::iter(futures).buffer_unordered(CONCURRENT_CALLS_MAX).collect().await;
    let failures = results.into_iter().filter_map(Result::err);
    failures.max_by_key(|failure| failure.retry_after).map_or(Ok(()), Err)
}

/// Replaces the status in the JSON text of a Job. All other fields keep their exact text.
fn replace_status(text: &str, status: &JobStatus) -> Result<String, serde_json::Error> {
    let mut fields: BTreeMap<String, Box<RawValue>> = serde_json::from_str(text)?;
    fields.insert("status".to_owned(), to_raw_value(status)?);
    serde_json::to_string(&fields)
}
