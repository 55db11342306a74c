//! Watches Jobs and Pods into the cache.

use std::collections::HashSet;
use std::sync::Arc;

use punctual_client::resources::{JOBS, PODS};
use punctual_client::{EventHandler, SyncTracker, watch_resource};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::JobController;
use super::cached_objects::{CachedJob, CachedPod};
use crate::context::Context;

impl JobController {
    /// Starts the watches, and returns when both kinds were listed.
    ///
    /// Pods are listed after Jobs. The version in a status write reveals a Job that is older than its Pods, but nothing
    /// would reveal Pods that are older than their Job.
    pub(super) async fn watch(
        self: &Arc<Self>,
        context: &Context,
        tasks: &mut JoinSet<()>,
        stop: &CancellationToken,
    ) {
        let synced = SyncTracker::new();
        tasks.spawn(watch_resource::<CachedJob, _>(
            context.client.clone(),
            &JOBS,
            self.clone(),
            synced.clone(),
            stop.clone(),
        ));
        synced.wait_for(1).await;
        tasks.spawn(watch_resource::<CachedPod, _>(
            context.client.clone(),
            &PODS,
            self.clone(),
            synced.clone(),
            stop.clone(),
        ));
        synced.wait_for(2).await;
    }
}

impl EventHandler<CachedJob> for JobController {
    fn apply(&self, job: CachedJob) {
        self.update_cache(|cache| cache.apply_job(job));
    }

    fn delete(&self, job: CachedJob) {
        self.update_cache(|cache| cache.remove_job(&job.uid));
    }

    fn retain(&self, uids: &HashSet<String>) {
        self.update_cache(|cache| cache.retain_jobs(uids));
    }
}

impl EventHandler<CachedPod> for JobController {
    fn apply(&self, pod: CachedPod) {
        self.update_cache(|cache| cache.apply_pod(pod));
    }

    fn delete(&self, pod: CachedPod) {
        self.update_cache(|cache| cache.remove_pod(&pod.uid));
    }

    fn retain(&self, uids: &HashSet<String>) {
        self.update_cache(|cache| cache.retain_pods(uids));
    }
}
