//! Applies watch events to the index of CronJobs, Jobs and RunRequests, and queues the CronJobs that they
//! affect.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use punctual_api::well_known::annotations::PROBE;
use punctual_api::{CronJob, RunRequest};
use punctual_client::EventHandler;

use super::CronJobController;
use super::cached_job::CachedJob;
use super::index::CronJobChange;
use super::key::{CronJobName, ReconcileKey};
use super::status_storage::StatusStorage;
use crate::competing_controller::StatusWriterTracker;

/// The namespace that a watch covers; `None` for all.
#[derive(Clone)]
struct WatchedNamespace(Option<String>);

impl WatchedNamespace {
    fn contains(&self, namespace: &str) -> bool {
        self.0.as_deref().is_none_or(|watched| watched == namespace)
    }
}

/// Handles the events of one kind of CronJob.
pub(super) struct CronJobHandler<'a> {
    controller: &'a CronJobController,
    namespace: WatchedNamespace,
    storage: StatusStorage,
    /// Detects competing controllers, for kinds that others may reconcile.
    tracker: Option<Mutex<StatusWriterTracker>>,
}

impl<'a> CronJobHandler<'a> {
    pub(super) fn new(
        controller: &'a CronJobController,
        namespace: Option<String>,
        storage: StatusStorage,
        now: Timestamp,
    ) -> CronJobHandler<'a> {
        let tracker = storage.is_pruned.then(|| Mutex::new(StatusWriterTracker::new(now)));
        CronJobHandler { controller, namespace: WatchedNamespace(namespace), storage, tracker }
    }

    fn tracker(&self) -> Option<MutexGuard<'_, StatusWriterTracker>> {
        Some(self.tracker.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn name(&self, cron_job: &CronJob) -> Arc<CronJobName> {
        CronJobName::new(self.storage.kind, &cron_job.metadata)
    }

    /// Whether this watch shows a CronJob.
    fn covers(&self, name: &CronJobName) -> bool {
        name.kind == self.storage.kind && self.namespace.contains(&name.namespace)
    }
}

impl EventHandler<CronJob> for CronJobHandler<'_> {
    fn apply(&self, cron_job: CronJob) {
        let competing = self.tracker().and_then(|mut tracker| tracker.observe(&cron_job));
        if let Some(competing) = competing {
            self.controller.options.cluster.signals.report_competing_controller(competing);
        }
        if self.tracker.is_some() && cron_job.metadata.annotation(PROBE).is_some() {
            return;
        }
        let name = self.name(&cron_job);
        let cron_job = self.storage.decode(cron_job);
        let CronJobController { queue, metrics, options, .. } = self.controller;
        let mut index = self.controller.index();
        let change = index.apply_watched(&name, &cron_job, options);
        if change == CronJobChange::None {
            return;
        }
        metrics.set_cron_jobs(index.len());
        let key = ReconcileKey::CronJob(name);
        if change == CronJobChange::SpecChanged {
            queue.forget_failures(&key);
        }
        queue.add(&key);
    }

    fn delete(&self, cron_job: CronJob) {
        let uid = &cron_job.metadata.uid;
        let mut index = self.controller.index();
        index.unmark_deleted(uid);
        self.controller.remove_cron_job(&mut index, &self.name(&cron_job), uid);
    }

    fn retain(&self, uids: &HashSet<String>) {
        if let Some(mut tracker) = self.tracker() {
            tracker.set_synced();
        }
        let mut index = self.controller.index();
        let is_listed = |uid: &str, name: &CronJobName| !self.covers(name) || uids.contains(uid);
        // A list without the CronJob is newer than its deletion.
        index.retain_deleted(is_listed);
        let deleted = index.find_cron_jobs(|uid, name| !is_listed(uid, name));
        for (uid, name) in &deleted {
            self.controller.remove_cron_job(&mut index, name, uid);
        }
        for key in index.orphaned_job_keys() {
            self.controller.queue.add(&key);
        }
    }
}

/// Handles the events of RunRequests.
pub(super) struct RunRequestHandler<'a> {
    controller: &'a CronJobController,
    namespace: WatchedNamespace,
}

impl<'a> RunRequestHandler<'a> {
    pub(super) fn new(
        controller: &'a CronJobController,
        namespace: Option<String>,
    ) -> RunRequestHandler<'a> {
        RunRequestHandler { controller, namespace: WatchedNamespace(namespace) }
    }
}

impl EventHandler<RunRequest> for RunRequestHandler<'_> {
    fn apply(&self, request: RunRequest) {
        self.controller.apply_request(request);
    }

    fn delete(&self, request: RunRequest) {
        let target = self.controller.index().requests.remove(&request.metadata.uid);
        if let Some(target) = target {
            self.controller.queue_target(target);
        }
    }

    fn retain(&self, uids: &HashSet<String>) {
        let covers = |namespace: &str| self.namespace.contains(namespace);
        let targets = self.controller.index().requests.retain(uids, covers);
        for target in targets {
            self.controller.queue_target(target);
        }
    }
}

/// Handles the events of Jobs.
pub(super) struct JobHandler<'a> {
    controller: &'a CronJobController,
    namespace: WatchedNamespace,
}

impl<'a> JobHandler<'a> {
    pub(super) fn new(
        controller: &'a CronJobController,
        namespace: Option<String>,
    ) -> JobHandler<'a> {
        JobHandler { controller, namespace: WatchedNamespace(namespace) }
    }

    /// Whether a Job belongs to a kind of CronJob that another controller reconciles.
    fn is_foreign(&self, job: &CachedJob) -> bool {
        let kinds = &self.controller.options.kinds;
        job.owner.as_ref().is_some_and(|owner| !kinds.contains(&owner.kind))
    }
}

impl EventHandler<CachedJob> for JobHandler<'_> {
    fn apply(&self, job: CachedJob) {
        if self.is_foreign(&job) {
            return self.delete(job);
        }
        let mut index = self.controller.index();
        if index.has_unstarted_job(&job.view)
            && let Some(after) = job.started_after()
        {
            self.controller.metrics.observe_job_start(after);
        }
        let affected = index.apply_job(&job);
        let orphaned = index.orphaned_job_key(&job.view.uid);
        for key in orphaned.iter().chain(&affected) {
            self.controller.queue.add(key);
        }
    }

    fn delete(&self, job: CachedJob) {
        let mut index = self.controller.index();
        if let Some(key) = index.remove_job(&job.view.uid) {
            self.controller.queue.add(&key);
        }
    }

    fn retain(&self, uids: &HashSet<String>) {
        let mut index = self.controller.index();
        let affected = index.retain_jobs(|uid, namespace| {
            !self.namespace.contains(namespace) || uids.contains(uid)
        });
        for key in &affected {
            self.controller.queue.add(key);
        }
    }
}
