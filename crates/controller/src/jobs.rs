//! The Job controller: it watches Jobs and Pods into a cache, asks `punctual_engine::job` for a plan for one Job at a
//! time, and executes the plan.
//!
//! This module makes no decisions about a Job that runs. Two things happen without the engine: Pods are adopted and
//! released by the selector of a Job (`claims`), and the finalizer is removed from Pods whose Job was
//! deleted (`orphaned_pods`).

mod cache;
mod cached_objects;
mod claims;
mod create_pods;
mod execute;
mod orphaned_pods;
mod watch;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use punctual_api::Job;
use punctual_api::meta::ObjectReference;
use punctual_client::resources::{JOBS, PODS};
use punctual_client::{ApiClient, Clock, EventRecorder};
use punctual_engine::PendingEvent;
use punctual_engine::job::{Backoff, Observed, Plan, PodView, decide};
use punctual_queue::{Backoff as RetryBackoff, Failure};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::cache::{JobCache, ReconcileKey};
use self::cached_objects::{CachedJob, CachedPod, PodOwner, ResponseObject, Uid};
use crate::context::Context;
use crate::metrics::{Metrics, UnreadableKind};
use crate::tasks::wait_for_panic;
use crate::work_queue::{Priority, WorkQueue};

/// The component name in Events.
const COMPONENT: &str = "job-controller";

/// The value of `spec.managedBy` of Jobs that this controller reconciles.
const MANAGED_BY: &str = "kubernetes.io/job-controller";

/// The maximum number of API calls at a time for one Job.
const CONCURRENT_CALLS_MAX: usize = 32;

/// Runs the Job controller until `stop` is cancelled.
pub async fn run_jobs(context: Context, workers: usize, stop: CancellationToken) {
    // The recorder stops after the last reconcile has recorded its events.
    let stop_recording = CancellationToken::new();
    let (recorder, recording) = context.recorder(COMPONENT, stop_recording.clone());
    let controller = Arc::new(JobController {
        api: context.api_client(),
        recorder,
        cache: Mutex::default(),
        queue: WorkQueue::new(Priority::Low, "job", RetryBackoff::default(), &context),
        clock: context.clock.clone(),
        metrics: context.metrics.clone(),
    });
    let mut tasks = JoinSet::new();
    tasks.spawn(recording);
    tokio::select! {
        biased;
        () = stop.cancelled() => {}
        () = controller.watch(&context, &mut tasks, &stop) => {
            let reconcile = |key| {
                let controller = controller.clone();
                async move { controller.reconcile(&key).await }
            };
            tokio::select! {
                biased;
                () = controller.queue.run(workers, reconcile, stop.clone()) => {}
                () = wait_for_panic(&mut tasks) => {}
            }
        }
    }
    stop_recording.cancel();
    // After a panic without a stop, the other watches would never end; dropping `tasks` aborts them.
    if !stop.is_cancelled() {
        return;
    }
    while tasks.join_next().await.is_some() {}
}

struct JobController {
    api: ApiClient,
    recorder: EventRecorder,
    cache: Mutex<JobCache>,
    queue: Arc<WorkQueue<ReconcileKey>>,
    clock: Arc<dyn Clock>,
    metrics: Metrics,
}

/// A Job and its Pods during one reconcile.
struct JobSnapshot {
    job: Job,
    uid: Uid,
    /// The JSON text that the server sent.
    text: Arc<str>,
    pods: Vec<PodView>,
    backoff: Backoff,
}

impl JobSnapshot {
    fn decide(&self, status_only: bool, now: Timestamp) -> Plan {
        let observed =
            Observed { job: &self.job, pods: &self.pods, backoff: &self.backoff, status_only };
        decide(&observed, now)
    }

    fn path(&self) -> String {
        JOBS.object_path(&self.job.metadata.namespace, &self.job.metadata.name)
    }

    fn pod_path(&self, name: &str) -> String {
        PODS.object_path(&self.job.metadata.namespace, name)
    }
}

impl JobController {
    fn cache(&self) -> MutexGuard<'_, JobCache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the cache, and queues the keys that the change returns.
    fn update_cache(&self, update: impl FnOnce(&mut JobCache) -> Vec<ReconcileKey>) {
        let affected = update(&mut self.cache());
        for key in &affected {
            self.queue.add(key);
        }
    }

    async fn reconcile(&self, key: &ReconcileKey) -> Result<(), Failure> {
        match key {
            ReconcileKey::OrphanedPod(uid) => self.reconcile_orphaned_pod(uid).await,
            ReconcileKey::Job(uid) => {
                let cached = self.cache().job(uid);
                match cached {
                    Some((job, backoff)) => self.reconcile_job(job, backoff).await,
                    None => {
                        self.queue.set_wake(key, None);
                        self.reconcile_pods_of_deleted_job(uid).await
                    }
                }
            }
        }
    }

    async fn reconcile_job(&self, cached: CachedJob, backoff: Backoff) -> Result<(), Failure> {
        let job = match cached.parse() {
            Ok(job) => job,
            Err(error) => {
                self.report_unreadable(&cached, &error);
                return Ok(());
            }
        };
        let now = self.clock.now();
        let gathered = self.cache().gather_pods(&job, now);
        if !gathered.overdue.is_empty() {
            return self.read_overdue_pods(&gathered.overdue).await;
        }
        if self.claim_pods(&job, &gathered).await? {
            // The responses have queued the Job again.
            return Ok(());
        }
        let CachedJob { uid, text, .. } = cached;
        let snapshot = JobSnapshot { job, uid, text, pods: gathered.pods, backoff };
        let plan = snapshot.decide(false, now);
        let wake_at = plan.wake_at.into_iter().chain(gathered.next_overdue_at).min();
        self.queue.set_wake(&ReconcileKey::Job(snapshot.uid.clone()), wake_at);
        self.cache().set_backoff(&snapshot.uid, plan.backoff.clone());
        match self.create_pods(&snapshot, &plan.pods_to_create).await {
            Ok(()) => self.execute(&snapshot, &plan).await,
            Err(failures) => {
                // The status must count the Pods that were created.
                let pods = self.cache().gather_pods(&snapshot.job, now).pods;
                let snapshot = JobSnapshot { pods, ..snapshot };
                self.execute(&snapshot, &snapshot.decide(true, now)).await?;
                failures.into_result()
            }
        }
    }

    /// A retry would parse the same text, so the Job is reconciled again only when it changes.
    fn report_unreadable(&self, cached: &CachedJob, error: &serde_json::Error) {
        self.metrics.count_unreadable(UnreadableKind::Job);
        tracing::error!(
            namespace = cached.namespace,
            uid = &*cached.uid,
            %error,
            "could not parse a Job, so it is not reconciled until it changes; correct or delete the Job"
        );
    }

    /// Reads Pods that we created and that the watch has not shown in time.
    async fn read_overdue_pods(&self, pods: &[CachedPod]) -> Result<(), Failure> {
        for pod in pods {
            let path = PODS.object_path(&pod.namespace, &pod.view.name);
            match self.api.find::<ResponseObject<CachedPod>>(&path).await? {
                Some(ResponseObject(Some(found))) if found.uid == pod.uid => {
                    self.update_cache(|cache| cache.apply_read_pod(found));
                }
                _ => self.update_cache(|cache| cache.remove_pod(&pod.uid)),
            }
        }
        for pod in pods {
            if let PodOwner::Job { uid, .. } = &pod.owner {
                self.queue.add(&ReconcileKey::Job(uid.clone()));
            }
        }
        Ok(())
    }

    fn record_event(&self, job: &Job, event: &PendingEvent) {
        let reference = ObjectReference {
            api_version: "batch/v1".to_owned(),
            kind: "Job".to_owned(),
            namespace: job.metadata.namespace.clone(),
            name: job.metadata.name.clone(),
            uid: job.metadata.uid.clone(),
            resource_version: job.metadata.resource_version.clone(),
            ..ObjectReference::default()
        };
        self.recorder.record(&reference, event);
    }
}
