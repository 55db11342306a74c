//! Starts the watches of Jobs and Pods, and applies their events to the cache.

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
    /// Pods are listed after Jobs. If the cached Job is too old, its status write fails with a conflict. If the cached
    /// Pods were too old, no write would fail.
    pub(super) async fn watch(
        self: &Arc<Self>,
        context: &Context,
        tasks: &mut JoinSet<()>,
        stop: &CancellationToken,
    ) {
        let synced = SyncTracker::new();
        tasks.spawn(watch_resource::<CachedJob, _>(
            context.watch_source(),
            &JOBS,
            self.clone(),
            synced.clone(),
            stop.clone(),
        ));
        synced.wait_for(1).await;
        tasks.spawn(watch_resource::<CachedPod, _>(
            context.watch_source(),
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
