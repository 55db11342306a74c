//! Removes the finalizer from Pods whose Job does not exist. Without this they could never be deleted.

use std::collections::HashMap;

use punctual_api::well_known::finalizers;
use punctual_client::resources::JOBS;
use punctual_queue::Failure;
use serde_json::json;

use super::JobController;
use super::cached_objects::{CachedPod, PodOwner, Uid};

impl JobController {
    /// Removes the finalizer from the Pods of a Job that is not cached. The Job is read first, because the watch of
    /// Jobs may lag behind the watch of Pods.
    pub(super) async fn reconcile_pods_of_deleted_job(&self, job: &Uid) -> Result<(), Failure> {
        let pods: Vec<CachedPod> = {
            let cache = self.cache();
            cache.pods_of(job).filter(|pod| pod.view.is_tracked).cloned().collect()
        };
        // Owner references with the same UID may have different names, because any client can write them.
        let mut exists_by_path: HashMap<String, bool> = HashMap::new();
        for pod in pods {
            let PodOwner::Job { uid, name } = &pod.owner else { continue };
            let path = JOBS.object_path(&pod.namespace, name);
            let exists = match exists_by_path.get(&path) {
                Some(exists) => *exists,
                None => self.api.exists(&path, uid).await?,
            };
            exists_by_path.insert(path, exists);
            if !exists {
                self.remove_finalizer_of_orphan(&pod).await?;
            }
        }
        Ok(())
    }

    /// Removes the finalizer from a Pod without a controller.
    pub(super) async fn reconcile_orphaned_pod(&self, uid: &Uid) -> Result<(), Failure> {
        let pod = self.cache().pod(uid).cloned();
        match pod {
            Some(pod) if pod.owner == PodOwner::None && pod.view.is_tracked => {
                self.remove_finalizer_of_orphan(&pod).await
            }
            _ => Ok(()),
        }
    }

    /// The version in the patch keeps the finalizer of a Pod that a Job has adopted in between.
    async fn remove_finalizer_of_orphan(&self, pod: &CachedPod) -> Result<(), Failure> {
        let patch = json!({"metadata": {
            "uid": &*pod.uid,
            "resourceVersion": pod.resource_version,
            "$deleteFromPrimitiveList/finalizers": [finalizers::JOB_TRACKING],
        }});
        self.patch_pod(pod, &patch).await
    }
}
