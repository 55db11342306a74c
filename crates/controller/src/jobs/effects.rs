//! A plan is carried out, in the order that `Plan` demands. What is gone or has changed meanwhile is
//! no failure: the watch that is behind will show it, and the Job is looked at again then.

use std::collections::BTreeMap;

use futures::{StreamExt as _, stream};
use punctual_api::job::JobStatus;
use punctual_api::well_known::finalizers;
use punctual_client::{ApiError, remove_finalizer_patch};
use punctual_engine::job::{DeleteJob, DeletePod, Plan, PodKey};
use punctual_queue::Failure;
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use super::known::{Answer, KnownJob, KnownPod};
use super::{CALLS_MAX, Case, Controller};

impl Controller {
    /// Everything but the Pods to create, which are there by now.
    pub(super) async fn carry_out(&self, case: &Case, plan: &Plan) -> Result<(), Failure> {
        if let Some(status) = &plan.status {
            self.write_status(case, status).await?;
        }
        let done = self.let_go(case, plan).await;
        // They speak of the status, which is written, whatever became of the Pods.
        plan.events.iter().for_each(|note| self.tell(&case.job, note));
        done?;
        match &plan.delete_job {
            Some(delete) => self.delete_job(case, delete).await,
            None => Ok(()),
        }
    }

    async fn let_go(&self, case: &Case, plan: &Plan) -> Result<(), Failure> {
        each(plan.finalizers_to_remove.iter().map(|pod| self.release(case, pod))).await?;
        each(plan.pods_to_delete.iter().map(|pod| self.delete_pod(case, pod))).await
    }

    /// Writes the status over the version that was seen. A Job that has changed since is decided
    /// about anew.
    async fn write_status(&self, case: &Case, status: &JobStatus) -> Result<(), Failure> {
        let Some(text) = with_status(&case.text, status) else {
            return Err(Failure::default());
        };
        let path = case.path();
        match self.calls.replace(&format!("{path}/status"), text).await {
            Ok(answer) => {
                self.keep_job(answer);
                Ok(())
            }
            // What follows in the plan may only follow a status that is written.
            Err(refused) if refused.is_stale() => self.read_again(&path).await,
            Err(refused) => Err(refused.into()),
        }
    }

    async fn release(&self, case: &Case, pod: &PodKey) -> Result<(), Failure> {
        let patch = remove_finalizer_patch(&pod.uid, finalizers::JOB_TRACKING);
        let path = case.pod_path(&pod.name);
        let answer = self.calls.patch(&path, &patch).await;
        self.keep_if_there(answer, &path, &pod.uid).await.map(drop).map_err(Failure::from)
    }

    async fn delete_pod(&self, case: &Case, delete: &DeletePod) -> Result<(), Failure> {
        let only = json!({"uid": delete.key.uid});
        let path = case.pod_path(&delete.key.name);
        let answer = self.calls.delete(&path, "Background", &only).await;
        match self.keep_if_there(answer, &path, &delete.key.uid).await {
            Ok(true) => self.tell(&case.job, &delete.deleted_event()),
            Ok(false) => {}
            Err(refused) => {
                self.tell(&case.job, &delete.delete_failed_event(refused.message()));
                return Err(refused.into());
            }
        }
        Ok(())
    }

    async fn delete_job(&self, case: &Case, delete: &DeleteJob) -> Result<(), Failure> {
        let only = json!({"uid": delete.uid, "resourceVersion": delete.resource_version});
        let path = case.path();
        match self.calls.delete(&path, "Foreground", &only).await {
            Ok(answer) => {
                self.keep_job(answer);
                Ok(())
            }
            Err(refused) if refused.is_stale() => self.read_again(&path).await,
            Err(refused) => Err(refused.into()),
        }
    }

    /// Reads a Job of which we have had an old version. The look at it has failed, and is repeated.
    async fn read_again(&self, path: &str) -> Result<(), Failure> {
        self.calls.find(path).await?.into_iter().for_each(|answer| self.keep_job(answer));
        Err(Failure::default())
    }

    fn keep_job(&self, Answer(job): Answer<KnownJob>) {
        self.change(|cache| job.map(|job| cache.answer_job(job)).unwrap_or_default());
    }

    pub(super) fn keep_pod(&self, Answer(pod): Answer<KnownPod>) {
        self.change(|cache| pod.map(|pod| cache.answer_pod(pod)).unwrap_or_default());
    }

    /// Keeps the Pod of an answer; whether there still was such a Pod.
    async fn keep_if_there(
        &self,
        answer: Result<Answer<KnownPod>, ApiError>,
        path: &str,
        uid: &str,
    ) -> Result<bool, ApiError> {
        let answer = self.calls.none_if_deleted(answer, path, uid).await?;
        Ok(answer.map(|answer| self.keep_pod(answer)).is_some())
    }
}

/// Does all of it, a few at a time, even if some fail.
async fn each<F>(work: impl Iterator<Item = F>) -> Result<(), Failure>
where
    F: Future<Output = Result<(), Failure>>,
{
    let work: Vec<F> = work.collect();
    let results: Vec<Result<(), Failure>> =
        stream::iter(work).buffer_unordered(CALLS_MAX).collect().await;
    let failures = results.into_iter().filter_map(Result::err);
    failures.max_by_key(|failure| failure.retry_after).map_or(Ok(()), Err)
}

/// The text of a Job with another status. Everything else stays to the letter.
fn with_status(text: &str, status: &JobStatus) -> Option<String> {
    let mut fields: BTreeMap<String, Box<RawValue>> = serde_json::from_str(text).ok()?;
    fields.insert("status".to_owned(), to_raw_value(status).ok()?);
    serde_json::to_string(&fields).ok()
}
