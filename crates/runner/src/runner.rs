//! Watches the Pods of this node, runs them through a [`PodRuntime`] and reports their statuses.
//!
//! One task watches the Pods and keeps a worker (`pod_worker`) for each Pod that needs one. A worker
//! prepares and starts the Pod, follows it and writes its status. A Pod that has ended needs no worker;
//! the runtime keeps its data, with the logs, until its object is deleted.

mod pod_api;
mod pod_events;
mod pod_permits;
mod pod_status;
mod pod_watch;
mod pod_worker;
mod start_priority;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use jiff::Timestamp;
use punctual_api::Pod;
use punctual_api::event::EventSource;
use punctual_client::resources::PODS;
use punctual_client::{
    ApiClient, Clock, EventRecorder, SyncTracker, SystemClock, WatchScope, WatchSource,
    watch_resource,
};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use self::pod_api::PodApi;
use self::pod_permits::{PodPermit, PodPermits};
use self::pod_watch::{PodUpdate, PodWatchHandler};
use self::pod_worker::{DesiredPod, PodWorker, RETRY_DELAY, WorkerEnd, WorkerResult};
use self::start_priority::StartPriority;
use crate::pod_runtime::PodRuntime;

/// The component that reports Events.
const COMPONENT: &str = "punctual-runner";

/// The options of a [`Runner`].
#[derive(Clone)]
pub struct RunnerOptions {
    /// The API to read Pods from and to report them to.
    pub client: kube::Client,
    /// Where the watch of Pods comes from.
    pub watches: WatchSource,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The name of this node. The runner runs the Pods that are assigned to it.
    pub node_name: String,
    /// The maximum number of Pods that run at the same time.
    pub max_pods: usize,
    /// Called when a Pod has started.
    pub on_pod_started: Option<PodStartedHook>,
}

/// Called with the time between the first sight of a Pod and its start.
pub type PodStartedHook = Arc<dyn Fn(Duration) + Send + Sync>;

impl RunnerOptions {
    /// The system clock, and at most 110 Pods as in Kubernetes.
    pub fn new(client: kube::Client, node_name: &str) -> RunnerOptions {
        RunnerOptions {
            watches: client.clone().into(),
            client,
            clock: Arc::new(SystemClock),
            node_name: node_name.to_owned(),
            max_pods: 110,
            on_pod_started: None,
        }
    }
}

/// Dependencies that all workers share.
struct WorkerContext {
    api: PodApi,
    runtime: Arc<dyn PodRuntime>,
    recorder: EventRecorder,
    clock: Arc<dyn Clock>,
    permits: PodPermits,
    start_priority: StartPriority,
    on_pod_started: Option<PodStartedHook>,
}

/// Runs the Pods of one node.
pub struct Runner {
    context: Arc<WorkerContext>,
    watches: WatchSource,
    node_name: String,
    recording: Recording,
    pods: HashMap<String, TrackedPod>,
    workers: JoinSet<WorkerResult>,
    /// The permits of Pods that were found running and have no worker yet.
    claimed: HashMap<String, PodPermit>,
}

/// The future that writes Events, and the token that ends it.
struct Recording {
    work: futures::future::BoxFuture<'static, ()>,
    stop: CancellationToken,
}

/// A Pod whose object or data exists.
struct TrackedPod {
    desired: watch::Sender<DesiredPod>,
    has_worker: bool,
}

impl Runner {
    /// A runner that has found the Pods that run already.
    pub async fn new(options: RunnerOptions, runtime: Arc<dyn PodRuntime>) -> io::Result<Runner> {
        let api = ApiClient::new(options.client.clone(), Arc::new(()));
        let source =
            EventSource { component: COMPONENT.to_owned(), host: options.node_name.clone() };
        let stop = CancellationToken::new();
        let (recorder, work) =
            EventRecorder::new(api.clone(), options.clock.clone(), source, stop.clone());
        let context = WorkerContext {
            api: PodApi::new(options.client.clone(), api),
            runtime,
            recorder,
            clock: options.clock,
            permits: PodPermits::new(options.max_pods.max(1)),
            start_priority: StartPriority::default(),
            on_pod_started: options.on_pod_started,
        };
        let mut runner = Runner {
            context: Arc::new(context),
            watches: options.watches,
            node_name: options.node_name,
            recording: Recording { work: Box::pin(work), stop },
            pods: HashMap::new(),
            workers: JoinSet::new(),
            claimed: HashMap::new(),
        };
        runner.claim_permits().await?;
        Ok(runner)
    }

    /// Runs until `stop` is cancelled. The Pods keep running after that.
    pub async fn run(mut self, stop: CancellationToken) {
        let (handler, mut updates) = PodWatchHandler::new(&self.node_name);
        let scope = match &self.watches {
            WatchSource::Own(_) => WatchScope::from(&PODS)
                .with_field_selector(format!("spec.nodeName={}", self.node_name)),
            // The shared watch has the Pods of all nodes, and the handler selects those of this node.
            WatchSource::Shared(_) => WatchScope::from(&PODS),
        };
        let source = self.watches.clone();
        let watching = watch_resource(source, scope, &handler, SyncTracker::new(), stop.clone());
        let mut recording = std::mem::replace(&mut self.recording.work, Box::pin(async {}));
        tokio::select! {
            biased;
            () = watching => {}
            () = self.handle_updates(&mut updates) => {}
            () = &mut recording => {}
        }
        self.workers.shutdown().await;
        self.recording.stop.cancel();
        recording.await;
    }

    async fn handle_updates(&mut self, updates: &mut mpsc::UnboundedReceiver<PodUpdate>) {
        loop {
            tokio::select! {
                biased;
                Some(Ok(result)) = self.workers.join_next() => self.handle_result(result).await,
                Some(update) = updates.recv() => self.handle_update(update).await,
                else => return,
            }
        }
    }

    /// Reserves permits for Pods that run already, before any other Pod gets one.
    async fn claim_permits(&mut self) -> io::Result<()> {
        for uid in self.context.runtime.pod_uids().await? {
            if self.context.is_prepared(&uid).await && !self.context.has_ended(&uid).await {
                self.claimed.insert(uid, self.context.permits.claim());
            }
        }
        Ok(())
    }

    async fn handle_update(&mut self, update: PodUpdate) {
        match update {
            PodUpdate::Listed { pods, uids } => self.replace_all(pods, &uids).await,
            PodUpdate::Applied(pod) => self.set_pod(pod).await,
            PodUpdate::Deleted { uid } => self.delete_pod(&uid).await,
        }
    }

    /// Applies a complete list: all other Pods were deleted.
    async fn replace_all(&mut self, mut pods: Vec<Arc<Pod>>, uids: &HashSet<String>) {
        let tracked = self.pods.keys().cloned();
        let with_data = self.context.runtime.pod_uids().await.unwrap_or_default();
        // Sorted, so that a simulation with the same seed handles them in the same order.
        let known: BTreeSet<String> = tracked.chain(with_data).collect();
        for uid in known.iter().filter(|uid| !uids.contains(*uid)) {
            self.delete_pod(uid).await;
        }
        // Older Pods get their permits first.
        pods.sort_by_key(|pod| (created_at(pod), pod.metadata.name.clone()));
        for pod in pods {
            self.set_pod(pod).await;
        }
    }

    async fn set_pod(&mut self, pod: Arc<Pod>) {
        let uid = pod.metadata.uid.clone();
        let is_new = !self.pods.contains_key(&uid);
        let is_deleting = pod.metadata.deletion_timestamp.is_some();
        self.set_desired(&uid, DesiredPod::Present(pod));
        if is_new || is_deleting {
            self.ensure_worker(&uid).await;
        }
    }

    /// Stops and removes a Pod whose object was deleted.
    async fn delete_pod(&mut self, uid: &str) {
        self.set_desired(uid, DesiredPod::Deleted);
        self.ensure_worker(uid).await;
    }

    fn set_desired(&mut self, uid: &str, desired: DesiredPod) {
        match self.pods.get(uid) {
            Some(pod) => drop(pod.desired.send_replace(desired)),
            None => {
                let (desired, _) = watch::channel(desired);
                self.pods.insert(uid.to_owned(), TrackedPod { desired, has_worker: false });
            }
        }
    }

    /// Starts a worker for a Pod unless it has one.
    async fn ensure_worker(&mut self, uid: &str) {
        let Some(pod) = self.pods.get_mut(uid) else { return };
        if pod.has_worker || !self.context.runtime.is_valid_uid(uid) {
            return;
        }
        pod.has_worker = true;
        let desired = pod.desired.subscribe();
        let permit = match self.claimed.remove(uid) {
            Some(claimed) => Some(claimed),
            None => self.context.permit_for(uid, &desired).await,
        };
        let worker = PodWorker::new(self.context.clone(), uid.to_owned(), desired, permit);
        self.workers.spawn(run_worker(worker, uid.to_owned()));
    }

    /// Handles the end of a worker. Starts another one if the Pod changed in the meantime.
    async fn handle_result(&mut self, WorkerResult { uid, end }: WorkerResult) {
        let Some(pod) = self.pods.get_mut(&uid) else { return };
        pod.has_worker = false;
        let needs_worker = match end {
            WorkerEnd::Removed => {
                self.pods.remove(&uid);
                return;
            }
            WorkerEnd::Settled { resource_version } => {
                pod.desired.borrow().needs_worker(&resource_version)
            }
            WorkerEnd::Unfinished => true,
        };
        if needs_worker {
            self.ensure_worker(&uid).await;
        }
    }
}

impl WorkerContext {
    /// The permit of a Pod that runs, or the wait for one if it is to be started.
    async fn permit_for(
        &self,
        uid: &str,
        desired: &watch::Receiver<DesiredPod>,
    ) -> Option<PodPermit> {
        if self.is_prepared(uid).await {
            return (!self.has_ended(uid).await).then(|| self.permits.claim());
        }
        match &*desired.borrow() {
            DesiredPod::Present(pod) if !pod.status.is_terminal() => {
                Some(self.permits.enqueue(created_at(pod)))
            }
            _ => None,
        }
    }

    /// Whether a Pod was prepared. If this is unknown, the Pod may be running: true.
    async fn is_prepared(&self, uid: &str) -> bool {
        self.runtime.is_prepared(uid).await.unwrap_or(true)
    }

    /// Whether the state of a Pod is final.
    async fn has_ended(&self, uid: &str) -> bool {
        self.runtime.state(uid).await.ok().flatten().is_some_and(|state| state.phase.is_final())
    }
}

/// Runs a worker. If it panics, the caller starts another one, so that our bug does not abandon the Pod.
/// The delay is here, where it delays only this Pod.
async fn run_worker(worker: PodWorker, uid: String) -> WorkerResult {
    match AssertUnwindSafe(worker.run()).catch_unwind().await {
        Ok(end) => WorkerResult { uid, end },
        Err(_) => {
            tracing::error!(%uid, "the worker of a Pod panicked; restarting it");
            sleep(RETRY_DELAY).await;
            WorkerResult { uid, end: WorkerEnd::Unfinished }
        }
    }
}

fn created_at(pod: &Pod) -> Timestamp {
    pod.metadata.creation_timestamp.map_or(Timestamp::MAX, |time| time.timestamp())
}
