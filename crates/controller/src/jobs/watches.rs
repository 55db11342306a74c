//! Watches into the cache.

use std::collections::HashSet;
use std::sync::Arc;

use punctual_client::resources::{JOBS, PODS};
use punctual_client::{EventHandler, SyncTracker, watch_resource};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::Controller;
use super::known::{KnownJob, KnownPod};
use crate::context::Context;

impl Controller {
    /// Begins to watch, and returns once everything was listed.
    ///
    /// Pods are listed after Jobs: a Job that is older than its Pods is found out by the version in
    /// its status write, but nothing would show that a Pod is older than its Job.
    pub(super) async fn watch(
        self: &Arc<Self>,
        context: &Context,
        tasks: &mut JoinSet<()>,
        stop: &CancellationToken,
    ) {
        let listed = SyncTracker::new();
        let (us, client) = (|| self.clone(), || context.client.clone());
        tasks.spawn(watch_resource::<KnownJob, _>(
            client(),
            &JOBS,
            us(),
            listed.clone(),
            stop.clone(),
        ));
        listed.wait_for(1).await;
        tasks.spawn(watch_resource::<KnownPod, _>(
            client(),
            &PODS,
            us(),
            listed.clone(),
            stop.clone(),
        ));
        listed.wait_for(2).await;
    }
}

impl EventHandler<KnownJob> for Controller {
    fn apply(&self, job: KnownJob) {
        self.change(|cache| cache.put_job(job));
    }

    fn delete(&self, job: KnownJob) {
        self.change(|cache| cache.remove_job(&job.uid));
    }

    fn retain(&self, uids: &HashSet<String>) {
        self.change(|cache| cache.keep_jobs(uids));
    }
}

impl EventHandler<KnownPod> for Controller {
    fn apply(&self, pod: KnownPod) {
        self.change(|cache| cache.put_pod(pod));
    }

    fn delete(&self, pod: KnownPod) {
        self.change(|cache| cache.remove_pod(&pod.uid));
    }

    fn retain(&self, uids: &HashSet<String>) {
        self.change(|cache| cache.keep_pods(uids));
    }
}
