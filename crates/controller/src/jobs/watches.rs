//! Watches into the cache.

use std::collections::HashSet;
use std::sync::Arc;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::Controller;
use super::known::{KnownJob, KnownPod};
use crate::context::Context;
use crate::watching::{Listed, Watcher, follow, resource};

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
        let listed = Listed::new();
        let jobs = resource("batch/v1", "Job", "jobs");
        let pods = resource("v1", "Pod", "pods");
        let (us, client) = (|| self.clone(), || context.client.clone());
        tasks.spawn(follow::<KnownJob, _>(client(), jobs, us(), listed.clone(), stop.clone()));
        listed.wait_for(1).await;
        tasks.spawn(follow::<KnownPod, _>(client(), pods, us(), listed.clone(), stop.clone()));
        listed.wait_for(2).await;
    }
}

impl Watcher<KnownJob> for Controller {
    fn put(&self, job: KnownJob) {
        self.change(|cache| cache.put_job(job));
    }

    fn remove(&self, job: KnownJob) {
        self.change(|cache| cache.remove_job(&job.uid));
    }

    fn keep_only(&self, uids: &HashSet<String>) {
        self.change(|cache| cache.keep_jobs(uids));
    }
}

impl Watcher<KnownPod> for Controller {
    fn put(&self, pod: KnownPod) {
        self.change(|cache| cache.put_pod(pod));
    }

    fn remove(&self, pod: KnownPod) {
        self.change(|cache| cache.remove_pod(&pod.uid));
    }

    fn keep_only(&self, uids: &HashSet<String>) {
        self.change(|cache| cache.keep_pods(uids));
    }
}
