//! The CronJob controller: it creates a Job for each slot (scheduled time) of a CronJob.
//!
//! * `reconcile` is the flow of one slot, from the snapshot to the clean-up.
//! * `index` caches CronJobs and Jobs, `key_state` holds the state between reconciles of a key, and
//!   `sync_gate` holds CronJobs back until their scope was listed.
//! * `watch_handlers` applies watch events to the index, `client` makes the API calls, `decision_log` logs.

mod cached_cron_job;
mod cached_job;
mod client;
mod decision_log;
mod index;
mod index_access;
mod key;
mod key_state;
mod late_create_window;
mod options;
mod orphaned_jobs;
mod reconcile;
mod request_index;
mod run_requests;
mod signals;
mod status_storage;
mod sync_gate;
mod watch_handlers;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::join_all;
use punctual_client::resources::{JOBS, RUN_REQUESTS, cron_jobs_of};
use punctual_client::{Clock, EventRecorder, SyncTracker, WatchScope, watch_resource};
use punctual_queue::{Backoff, Failure};
use tokio_util::sync::CancellationToken;

use self::client::CronJobClient;
use self::index::CronJobIndex;
use self::key::{CronJobName, ReconcileKey};
use self::late_create_window::LateCreateWindow;
pub use self::options::{ClusterOptions, CronJobOptions};
pub use self::signals::Signals;
use self::sync_gate::{PendingSync, Scope, ScopedKind, SyncGate, Synced, scopes};
use self::watch_handlers::{CronJobHandler, JobHandler, RunRequestHandler};
use crate::context::Context;
use crate::metrics::Metrics;
use crate::work_queue::{Priority, WorkQueue};

const COMPONENT: &str = "cronjob-controller";

/// Runs the CronJob controller until `stop` is cancelled.
pub async fn run_cron_jobs(context: Context, options: CronJobOptions, stop: CancellationToken) {
    let _reset = ResetOnDrop(context.clone());
    log_disabled_features(&options);
    // The recorder stops after the last reconcile has recorded its events.
    let stop_recording = CancellationToken::new();
    let (recorder, recording) = context.recorder(COMPONENT, stop_recording.clone());
    let backoff = Backoff::new(Duration::from_millis(10), Duration::from_secs(60));
    let queue = WorkQueue::new(Priority::High, "cronjob", backoff, &context);
    // The metrics may outlive this run, so they must not keep the queue alive.
    let weak_queue = Arc::downgrade(&queue);
    context.metrics.set_next_due_source(move || weak_queue.upgrade()?.next_wake());
    let late_create_window = options.cluster.late_create_window;
    let controller = Arc::new(CronJobController {
        index: Mutex::default(),
        sync_gate: SyncGate::default(),
        queue,
        client: CronJobClient::new(context.api_client(), options.cluster.pruned_kinds.clone()),
        recorder,
        clock: context.clock.clone(),
        metrics: context.metrics.clone(),
        scopes: scopes(&options),
        late_create_window: LateCreateWindow::new(late_create_window, context.clock.clone()),
        in_future: Mutex::default(),
        options,
    });
    let working = async {
        controller.clone().run_workers(stop.clone()).await;
        stop_recording.cancel();
    };
    // All watches run in this task, so that they do not occupy the other cores while slots are due.
    let watching = controller.watch(&context, &stop);
    tokio::join!(recording, working, watching);
}

fn log_disabled_features(options: &CronJobOptions) {
    let gates = options.gates.disabled().join(",");
    if !gates.is_empty() {
        tracing::warn!(
            gates,
            "feature gates are off; the fields of these features are kept and ignored"
        );
    }
}

/// Resets shared state that would be wrong after the controller ends, even if its work is cancelled.
struct ResetOnDrop(Context);

impl Drop for ResetOnDrop {
    fn drop(&mut self) {
        self.0.metrics.set_cron_jobs(0);
        self.0.metrics.set_future_schedules(0);
        self.0.burst_gate.set_burst(false);
    }
}

struct CronJobController {
    index: Mutex<CronJobIndex>,
    sync_gate: SyncGate,
    queue: Arc<WorkQueue<ReconcileKey>>,
    client: CronJobClient,
    recorder: EventRecorder,
    clock: Arc<dyn Clock>,
    metrics: Metrics,
    scopes: Vec<Scope>,
    late_create_window: LateCreateWindow,
    /// The CronJobs with a recorded time in the future.
    in_future: Mutex<HashSet<Arc<CronJobName>>>,
    options: CronJobOptions,
}

impl CronJobController {
    /// Watches CronJobs, Jobs and RunRequests in every scope.
    async fn watch(&self, context: &Context, stop: &CancellationToken) {
        let jobs = self.scopes.iter().map(|scope| self.watch_jobs(scope, context, stop));
        let cron_jobs = self.scopes.iter().flat_map(|scope| {
            let kinds = scope.kinds.iter();
            kinds.map(move |kind| self.watch_cron_jobs(scope, kind, context, stop))
        });
        let requests = self.scopes.iter().filter_map(|scope| {
            let synced = scope.requests.clone()?;
            Some(self.watch_requests(scope, synced, context, stop))
        });
        tokio::join!(join_all(cron_jobs), join_all(jobs), join_all(requests));
    }

    async fn watch_jobs(&self, scope: &Scope, context: &Context, stop: &CancellationToken) {
        let target = WatchScope::new(&JOBS, scope.namespace.clone());
        let handler = JobHandler::new(self, scope.namespace.clone());
        let source = context.watch_source();
        watch_resource(source, target, &handler, scope.jobs.clone(), stop.clone()).await;
    }

    async fn watch_requests(
        &self,
        scope: &Scope,
        synced: SyncTracker,
        context: &Context,
        stop: &CancellationToken,
    ) {
        let target = WatchScope::new(&RUN_REQUESTS, scope.namespace.clone());
        let handler = RunRequestHandler::new(self, scope.namespace.clone());
        watch_resource(context.watch_source(), target, &handler, synced, stop.clone()).await;
    }

    async fn watch_cron_jobs(
        &self,
        scope: &Scope,
        kind: &ScopedKind,
        context: &Context,
        stop: &CancellationToken,
    ) {
        let target = WatchScope::new(cron_jobs_of(kind.kind), scope.namespace.clone());
        let storage = self.client.storage(kind.kind);
        let namespace = scope.namespace.clone();
        let handler = CronJobHandler::new(self, namespace, storage, self.clock.now());
        let source = context.watch_source();
        watch_resource(source, target, &handler, kind.cron_jobs.clone(), stop.clone()).await;
    }

    /// Reconciles keys until `stop` is cancelled. Starts when the first scope is synced.
    async fn run_workers(self: Arc<Self>, stop: CancellationToken) {
        let mut pending = PendingSync::new(&self.scopes, &self.metrics);
        let first = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            first = pending.next() => first,
        };
        self.open_sync_gate(&first);
        let _synced = self.options.cluster.signals.set_synced();
        let reconcile = |key| {
            let controller = self.clone();
            async move { controller.reconcile_key(&key).await }
        };
        let open_other_scopes = async {
            loop {
                let synced = pending.next().await;
                self.open_sync_gate(&synced);
            }
        };
        tokio::select! {
            biased;
            () = open_other_scopes => {}
            () = self.requeue_when_clock_is_set_back() => {}
            () = self.queue.run(self.options.workers.max(1), reconcile, stop) => {}
        }
    }

    /// Reconciles all CronJobs after the clock was set back, so that those whose recorded times lie in the future
    /// now report it.
    async fn requeue_when_clock_is_set_back(&self) {
        loop {
            self.queue.wait_for_clock_set_back().await;
            tracing::warn!("the clock was set back; reconciling all CronJobs");
            let cron_jobs = self.index().find_cron_jobs(|_, _| true);
            for name in cron_jobs.into_values() {
                self.queue.add(&ReconcileKey::CronJob(name));
            }
        }
    }

    async fn reconcile_key(&self, key: &ReconcileKey) -> Result<(), Failure> {
        match key {
            ReconcileKey::CronJob(name) if !self.options.kinds.contains(&name.kind) => {
                self.reconcile_requests_without_target(key, name).await
            }
            ReconcileKey::CronJob(name) => {
                if self.sync_gate.defer_if_unsynced(name) {
                    return Ok(());
                }
                self.reconcile(key, name).await
            }
            ReconcileKey::OrphanedJob(job) => self.reconcile_orphaned_job(job).await,
        }
    }

    /// Queues the CronJobs that waited for a scope.
    fn open_sync_gate(&self, synced: &Synced) {
        for name in self.sync_gate.open(synced) {
            self.queue.add(&ReconcileKey::CronJob(name));
        }
    }

    /// Sets whether a recorded time of a CronJob lies in the future.
    fn set_in_future(&self, name: &Arc<CronJobName>, is_in_future: bool) {
        let mut in_future = self.in_future.lock().unwrap_or_else(PoisonError::into_inner);
        if is_in_future {
            in_future.insert(name.clone());
        } else {
            in_future.remove(name);
        }
        self.metrics.set_future_schedules(in_future.len());
    }

    fn index(&self) -> MutexGuard<'_, CronJobIndex> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes a CronJob that was deleted, and queues its Jobs that still have our finalizer.
    fn remove_cron_job(&self, index: &mut CronJobIndex, name: &Arc<CronJobName>, uid: &str) {
        if index.remove(name, uid) {
            self.metrics.remove_cron_job(&name.namespace, &name.name);
            self.set_in_future(name, false);
            self.metrics.set_cron_jobs(index.len());
            let key = ReconcileKey::CronJob(name.clone());
            self.queue.remove(&key);
            if index.requests.has_target(name) {
                self.queue.add(&key);
            }
        }
        for key in index.orphaned_job_keys_of(uid) {
            self.queue.add(&key);
        }
    }
}
