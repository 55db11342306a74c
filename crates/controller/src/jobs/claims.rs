//! Adopts and releases Pods by the selector of a Job, as in Kubernetes v1.36 (`PodControllerRefManager`).
//!
//! A Job adopts Pods that its selector matches and that have no controller. It releases Pods that it controls and that its
//! selector does not match.

use punctual_api::Job;
use punctual_api::well_known::finalizers;
use punctual_client::resources::{JOBS, PODS};
use punctual_queue::Failure;
use serde_json::{Value, json};

use super::cache::GatheredPods;
use super::cached_objects::CachedPod;
use super::{JobController, MANAGED_BY};

impl JobController {
    /// Adopts and releases Pods. Returns whether there were any.
    pub(super) async fn claim_pods(
        &self,
        job: &Job,
        gathered: &GatheredPods,
    ) -> Result<bool, Failure> {
        let GatheredPods { to_release, to_adopt, .. } = gathered;
        if to_release.is_empty() && to_adopt.is_empty() || !may_claim(job) {
            return Ok(false);
        }
        for pod in to_release {
            self.patch_pod(pod, &release_patch(job, pod)).await?;
        }
        if !to_adopt.is_empty() && self.may_adopt(job).await? {
            for pod in to_adopt {
                self.patch_pod(pod, &adopt_patch(job, pod)).await?;
            }
        }
        Ok(true)
    }

    /// Reads the Job to check that it exists and is not being deleted. Otherwise the garbage collector would delete the
    /// adopted Pods.
    async fn may_adopt(&self, job: &Job) -> Result<bool, Failure> {
        let path = JOBS.object_path(&job.metadata.namespace, &job.metadata.name);
        let found = self.api.find::<Value>(&path).await?;
        Ok(found.is_some_and(|found| {
            found.pointer("/metadata/uid") == Some(&json!(job.metadata.uid))
                && found.pointer("/metadata/deletionTimestamp").is_none()
        }))
    }

    /// Patches the metadata of a Pod. Fails with a conflict if the Pod changed.
    pub(super) async fn patch_pod(&self, pod: &CachedPod, patch: &Value) -> Result<(), Failure> {
        let path = PODS.object_path(&pod.namespace, &pod.view.name);
        match self.api.patch(&path, patch).await {
            Ok(response) => {
                self.apply_pod_response(response);
                Ok(())
            }
            Err(error) if error.is_not_found() => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Whether a Job adopts and releases Pods: it is unfinished, not being deleted, and managed by this controller.
fn may_claim(job: &Job) -> bool {
    job.metadata.deletion_timestamp.is_none()
        && !job.status.is_finished()
        && job.spec.managed_by.as_deref().is_none_or(|name| name == MANAGED_BY)
}

fn adopt_patch(job: &Job, pod: &CachedPod) -> Value {
    json!({"metadata": {
        "uid": &*pod.uid,
        "resourceVersion": pod.resource_version,
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

fn release_patch(job: &Job, pod: &CachedPod) -> Value {
    json!({"metadata": {
        "uid": &*pod.uid,
        "resourceVersion": pod.resource_version,
        "ownerReferences": [{"$patch": "delete", "uid": job.metadata.uid}],
        "$deleteFromPrimitiveList/finalizers": [finalizers::JOB_TRACKING],
    }})
}
