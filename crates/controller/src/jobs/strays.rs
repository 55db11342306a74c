//! Pods that carry the finalizer and have no Job to take it from them: they would stay for ever.

use std::collections::HashMap;

use punctual_api::well_known::finalizers;
use punctual_client::resources::JOBS;
use punctual_queue::Failure;
use serde_json::json;

use super::Controller;
use super::known::{Controller as Owner, KnownPod, Uid};

impl Controller {
    /// Takes the finalizer from the Pods of a Job that is not held, if it is really not there: the
    /// watch of Jobs may only be behind that of Pods.
    pub(super) async fn free_strays(&self, job: &Uid) -> Result<(), Failure> {
        let strays: Vec<KnownPod> = {
            let cache = self.cache();
            cache.pods_of(job).filter(|pod| pod.view.is_tracked).cloned().collect()
        };
        // Anybody can write an owner into a Pod, so that the Pods may name several.
        let mut asked: HashMap<String, bool> = HashMap::new();
        for pod in strays {
            let Owner::Job { uid, name } = &pod.controller else { continue };
            let path = JOBS.object_path(&pod.namespace, name);
            let is_gone = match asked.get(&path) {
                Some(is_gone) => *is_gone,
                None => !self.calls.exists(&path, uid).await?,
            };
            asked.insert(path, is_gone);
            if is_gone {
                self.free(&pod).await?;
            }
        }
        Ok(())
    }

    /// Takes the finalizer from a Pod that nobody controls. One that a Job adopts meanwhile keeps
    /// it, since its version is another then.
    pub(super) async fn free_orphan(&self, uid: &Uid) -> Result<(), Failure> {
        let pod = self.cache().pod(uid).cloned();
        match pod.filter(|pod| pod.controller == Owner::Nobody && pod.view.is_tracked) {
            Some(pod) => self.free(&pod).await,
            None => Ok(()),
        }
    }

    async fn free(&self, pod: &KnownPod) -> Result<(), Failure> {
        let patch = json!({"metadata": {
            "uid": &*pod.uid,
            "resourceVersion": pod.version,
            "$deleteFromPrimitiveList/finalizers": [finalizers::JOB_TRACKING],
        }});
        self.change_pod(pod, &patch).await
    }
}
