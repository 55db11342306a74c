//! The Job controller: Jobs and Pods are watched into a cache, `punctual_engine::job` decides about
//! one Job at a time, and its plan is carried out.
//!
//! Nothing here decides anything about a Job that runs. What is done without asking the engine:
//! Pods are adopted and released by a Job's selector (`claims`), and the finalizer is taken from Pods
//! whose Job is gone (`strays`).

mod cache;
mod claims;
mod creation;
mod effects;
mod known;
mod strays;
mod watches;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use punctual_api::Job;
use punctual_api::meta::ObjectReference;
use punctual_client::resources::{JOBS, PODS};
use punctual_client::{ApiClient, Clock, EventRecorder};
use punctual_engine::PendingEvent;
use punctual_engine::job::{Backoff, Observed, Plan, PodView, decide};
use punctual_queue::{Backoff as Delays, Failure};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::cache::{Cache, Key};
use self::known::{Answer, KnownJob, KnownPod, Uid};
use crate::context::Context;
use crate::tasks::first_panic;
use crate::work_queue::{Priority, WorkQueue};

/// Who we are in events.
const COMPONENT: &str = "job-controller";

/// What a Job says in `spec.managedBy` that is ours.
const MANAGER: &str = "kubernetes.io/job-controller";

/// How many calls are made at a time for one Job.
const CALLS_MAX: usize = 32;

/// Looks after Jobs until told to stop.
pub async fn run_jobs(context: Context, workers: usize, stop: CancellationToken) {
    // Events are written until the last note was taken.
    let silence = CancellationToken::new();
    let (recorder, recording) = context.recorder(COMPONENT, silence.clone());
    let controller = Arc::new(Controller {
        calls: context.calls(),
        recorder,
        cache: Mutex::default(),
        queue: WorkQueue::new(Priority::Low, "job", Delays::default(), &context),
        clock: context.clock.clone(),
    });
    let mut tasks = JoinSet::new();
    tasks.spawn(recording);
    tokio::select! {
        biased;
        () = stop.cancelled() => {}
        () = controller.watch(&context, &mut tasks, &stop) => {
            let work = |key| {
                let controller = controller.clone();
                async move { controller.look_at(&key).await }
            };
            tokio::select! {
                biased;
                () = controller.queue.run(workers, work, stop.clone()) => {}
                () = first_panic(&mut tasks) => {}
            }
        }
    }
    silence.cancel();
    // Those that watch end with the token, or by what is no longer theirs to end.
    if !stop.is_cancelled() {
        return;
    }
    while tasks.join_next().await.is_some() {}
}

struct Controller {
    calls: ApiClient,
    recorder: EventRecorder,
    cache: Mutex<Cache>,
    queue: Arc<WorkQueue<Key>>,
    clock: Arc<dyn Clock>,
}

/// A Job at one look.
struct Case {
    job: Job,
    uid: Uid,
    /// As the server gave it.
    text: Arc<str>,
    pods: Vec<PodView>,
    backoff: Backoff,
}

impl Case {
    fn decide(&self, status_only: bool, now: Timestamp) -> Plan {
        let (job, pods, backoff) = (&self.job, self.pods.as_slice(), &self.backoff);
        decide(&Observed { job, pods, backoff, status_only }, now)
    }

    fn path(&self) -> String {
        JOBS.object_path(&self.job.metadata.namespace, &self.job.metadata.name)
    }

    fn pod_path(&self, name: &str) -> String {
        PODS.object_path(&self.job.metadata.namespace, name)
    }
}

impl Controller {
    fn cache(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the cache, and queues whom that concerns.
    fn change(&self, how: impl FnOnce(&mut Cache) -> Vec<Key>) {
        let concerned = how(&mut self.cache());
        concerned.iter().for_each(|key| self.queue.add(key));
    }

    async fn look_at(&self, key: &Key) -> Result<(), Failure> {
        match key {
            Key::Orphan(uid) => self.free_orphan(uid).await,
            Key::Job(uid) => {
                let known = self.cache().job(uid);
                match known {
                    Some((job, backoff)) => self.look_at_job(job, backoff).await,
                    None => {
                        self.queue.set_wake(key, None);
                        self.free_strays(uid).await
                    }
                }
            }
        }
    }

    async fn look_at_job(&self, known: KnownJob, backoff: Backoff) -> Result<(), Failure> {
        let Some(job) = known.read_text() else {
            return Ok(());
        };
        let now = self.clock.now();
        let gathered = self.cache().gather(&job, now);
        if !gathered.overdue.is_empty() {
            return self.ask_for(&gathered.overdue).await;
        }
        if self.claim(&job, &gathered).await? {
            // The answers have queued the Job once more.
            return Ok(());
        }
        let (uid, text) = (known.uid, known.text);
        let case = Case { job, uid, text, pods: gathered.pods, backoff };
        let plan = case.decide(false, now);
        let wake_at = plan.wake_at.into_iter().chain(gathered.overdue_at).min();
        self.queue.set_wake(&Key::Job(case.uid.clone()), wake_at);
        self.cache().remember(&case.uid, plan.backoff.clone());
        match self.create_pods(&case, &plan.pods_to_create).await {
            Ok(()) => self.carry_out(&case, &plan).await,
            Err(unmade) => {
                let pods = self.cache().gather(&case.job, now).pods;
                let case = Case { pods, ..case };
                self.carry_out(&case, &case.decide(true, now)).await?;
                unmade.into_result()
            }
        }
    }

    /// Asks for Pods that we made and never heard of again.
    async fn ask_for(&self, pods: &[KnownPod]) -> Result<(), Failure> {
        for pod in pods {
            let path = PODS.object_path(&pod.namespace, &pod.view.name);
            match self.calls.find::<Answer<KnownPod>>(&path).await? {
                Some(Answer(Some(found))) if found.uid == pod.uid => {
                    self.change(|cache| cache.hear_of(found));
                }
                _ => self.change(|cache| cache.remove_pod(&pod.uid)),
            }
        }
        let jobs = pods.iter().filter_map(|pod| match &pod.controller {
            known::Controller::Job { uid, .. } => Some(Key::Job(uid.clone())),
            _ => None,
        });
        jobs.for_each(|key| self.queue.add(&key));
        Ok(())
    }

    fn tell(&self, job: &Job, note: &PendingEvent) {
        let about = ObjectReference {
            api_version: "batch/v1".to_owned(),
            kind: "Job".to_owned(),
            namespace: job.metadata.namespace.clone(),
            name: job.metadata.name.clone(),
            uid: job.metadata.uid.clone(),
            resource_version: job.metadata.resource_version.clone(),
            ..ObjectReference::default()
        };
        self.recorder.record(&about, note);
    }
}
