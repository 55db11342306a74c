//! Which Pods are a Job's: those that its selector takes and nobody else controls become its own,
//! and those of its own that the selector does not take are let go, as in Kubernetes v1.36
//! (`PodControllerRefManager`).

use punctual_api::Job;
use punctual_api::well_known::finalizers;
use punctual_client::resources::{JOBS, PODS};
use punctual_queue::Failure;
use serde_json::{Value, json};

use super::cache::Gathered;
use super::known::KnownPod;
use super::{Controller, MANAGER};

impl Controller {
    /// Adopts and releases; whether there was anything to do.
    pub(super) async fn claim(&self, job: &Job, gathered: &Gathered) -> Result<bool, Failure> {
        let Gathered { strangers, orphans, .. } = gathered;
        if strangers.is_empty() && orphans.is_empty() || !may_claim(job) {
            return Ok(false);
        }
        for pod in strangers {
            self.change_pod(pod, &release(job, pod)).await?;
        }
        if !orphans.is_empty() && self.is_still_there(job).await? {
            for pod in orphans {
                self.change_pod(pod, &adoption(job, pod)).await?;
            }
        }
        Ok(true)
    }

    /// Whether a Job, asked for now, may adopt: a Pod that is given to one that goes would go too.
    async fn is_still_there(&self, job: &Job) -> Result<bool, Failure> {
        let path = JOBS.object_path(&job.metadata.namespace, &job.metadata.name);
        let found = self.calls.find::<Value>(&path).await?;
        Ok(found.is_some_and(|found| {
            found.pointer("/metadata/uid") == Some(&json!(job.metadata.uid))
                && found.pointer("/metadata/deletionTimestamp").is_none()
        }))
    }

    /// Changes the metadata of a Pod, if it is still as we know it.
    pub(super) async fn change_pod(&self, pod: &KnownPod, patch: &Value) -> Result<(), Failure> {
        let path = PODS.object_path(&pod.namespace, &pod.view.name);
        match self.calls.patch(&path, patch).await {
            Ok(answer) => {
                self.keep_pod(answer);
                Ok(())
            }
            Err(refused) if refused.is_not_found() => Ok(()),
            Err(refused) => Err(refused.into()),
        }
    }
}

/// Whether a Job takes Pods and lets them go: not when it has ended, goes, or is another's.
fn may_claim(job: &Job) -> bool {
    job.metadata.deletion_timestamp.is_none()
        && !job.status.is_finished()
        && job.spec.managed_by.as_deref().is_none_or(|name| name == MANAGER)
}

fn adoption(job: &Job, pod: &KnownPod) -> Value {
    json!({"metadata": {
        "uid": &*pod.uid,
        "resourceVersion": pod.version,
        "ownerReferences": [{
            "apiVersion": "batch/v1",
            "kind": "Job",
            "name": job.metadata.name,
            "uid": job.metadata.uid,
            "controller": true,
            "blockOwnerDeletion": true,
        }],
        "finalizers": [finalizers::JOB_TRACKING],
    }})
}

fn release(job: &Job, pod: &KnownPod) -> Value {
    json!({"metadata": {
        "uid": &*pod.uid,
        "resourceVersion": pod.version,
        "ownerReferences": [{"$patch": "delete", "uid": job.metadata.uid}],
        "$deleteFromPrimitiveList/finalizers": [finalizers::JOB_TRACKING],
    }})
}
