//! The part of the cache that one watch fills: a kind, everywhere or in one namespace.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use punctual_api::well_known::annotations::PROBE;
use punctual_api::{CronJob, CronJobKind};
use punctual_client::EventHandler;

use super::super::CronJobOptions;
use super::super::seen::{CronJobName, JobSeen, Key};
use super::super::signals::Signals;
use super::super::storage::Storage;
use super::{Cache, Kept, Memory, State};
use crate::competing_controller::StatusWriterTracker;

/// Where a watch looks, and what it fills.
#[derive(Clone)]
pub(crate) struct Scope<'a> {
    cache: &'a Cache,
    config: &'a CronJobOptions,
    /// The only namespace, if it is not all of them.
    namespace: Option<String>,
}

impl<'a> Scope<'a> {
    pub(crate) fn new(
        cache: &'a Cache,
        config: &'a CronJobOptions,
        namespace: Option<String>,
    ) -> Self {
        Scope { cache, config, namespace }
    }

    /// The CronJobs of a kind.
    pub(crate) fn cron_jobs(self, storage: Storage, now: Timestamp) -> CronJobsIn<'a> {
        let past = storage.is_pruned.then(|| Mutex::new(StatusWriterTracker::new(now)));
        let signals = self.config.cluster.signals.clone();
        CronJobsIn { scope: self, storage, past, signals }
    }

    /// The Jobs.
    pub(crate) fn jobs(self) -> JobsIn<'a> {
        JobsIn { scope: self }
    }

    fn has(&self, namespace: &str) -> bool {
        self.namespace.as_deref().is_none_or(|only| only == namespace)
    }

    fn looks_after(&self, flavor: CronJobKind) -> bool {
        self.config.kinds.contains(&flavor)
    }
}

/// CronJobs of one kind in the cache.
pub(crate) struct CronJobsIn<'a> {
    scope: Scope<'a>,
    storage: Storage,
    /// What others wrote, where there may be others.
    past: Option<Mutex<StatusWriterTracker>>,
    signals: Signals,
}

impl CronJobsIn<'_> {
    fn past(&self) -> Option<MutexGuard<'_, StatusWriterTracker>> {
        Some(self.past.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn name(&self, cron_job: &CronJob) -> Arc<CronJobName> {
        CronJobName::of(self.storage.flavor, &cron_job.metadata)
    }

    /// Whether this watch would show it.
    fn shows(&self, name: &CronJobName) -> bool {
        name.flavor == self.storage.flavor && self.scope.has(&name.namespace)
    }
}

impl EventHandler<CronJob> for CronJobsIn<'_> {
    fn apply(&self, cron_job: CronJob) {
        if let Some(rival) = self.past().and_then(|mut past| past.observe(&cron_job)) {
            self.signals.report_competing_controller(rival);
        }
        if self.past.is_some() && cron_job.metadata.annotation(PROBE).is_some() {
            return;
        }
        let (name, cache) = (self.name(&cron_job), self.scope.cache);
        let key = Key::CronJob(name.clone());
        let mut state = cache.state();
        if state.buried.contains_key(&cron_job.metadata.uid) {
            return;
        }
        // Another of the same name has nothing to do with what failed before, either.
        let generation = |state: &State| {
            let known = state.cron_jobs.get(&name);
            known.map(|(kept, _)| (kept.uid.clone(), kept.generation))
        };
        let before = generation(&state);
        if !state.put(name.clone(), &self.storage.read(cron_job), &cache.zone) {
            return;
        }
        cache.metrics.set_cron_jobs(state.cron_jobs.len());
        if before != generation(&state) {
            cache.queue.forget_failures(&key);
        }
        cache.queue.add(&key);
    }

    fn delete(&self, cron_job: CronJob) {
        let (cache, uid) = (self.scope.cache, &cron_job.metadata.uid);
        cache.state().buried.remove(uid);
        cache.forget(&self.name(&cron_job), uid);
    }

    fn retain(&self, uids: &HashSet<String>) {
        if let Some(mut past) = self.past() {
            past.set_synced();
        }
        let cache = self.scope.cache;
        let is_gone = |(name, (kept, _)): &(&Arc<CronJobName>, &(Arc<Kept>, Memory))| {
            self.shows(name) && !uids.contains(&kept.uid)
        };
        let gone: BTreeMap<String, Arc<CronJobName>> = {
            let mut state = cache.state();
            // A list without it is newer than its end.
            state.buried.retain(|uid, name| !self.shows(name) || uids.contains(uid));
            let gone = state.cron_jobs.iter().filter(is_gone);
            gone.map(|(name, (kept, _))| (kept.uid.clone(), name.clone())).collect()
        };
        gone.iter().for_each(|(uid, name)| cache.forget(name, uid));
        let state = cache.state();
        let held: BTreeSet<&String> = state.held.keys().collect();
        held.into_iter().for_each(|job| cache.wake_held(&state, job));
    }
}

/// Jobs in the cache.
pub(crate) struct JobsIn<'a> {
    scope: Scope<'a>,
}

impl EventHandler<JobSeen> for JobsIn<'_> {
    fn apply(&self, seen: JobSeen) {
        // Those of kinds that another looks after are that one's.
        if seen.owner.as_ref().is_some_and(|owner| !self.scope.looks_after(owner.flavor)) {
            return self.delete(seen);
        }
        let cache = self.scope.cache;
        let mut state = cache.state();
        let concerned = state.put_job(&seen);
        cache.wake_held(&state, &seen.view.uid);
        concerned.iter().for_each(|key| cache.queue.add(key));
    }

    fn delete(&self, seen: JobSeen) {
        let cache = self.scope.cache;
        let concerned = cache.state().remove_job(&seen.view.uid);
        concerned.iter().for_each(|key| cache.queue.add(key));
    }

    fn retain(&self, uids: &HashSet<String>) {
        let is_gone =
            |uid: &String, namespace: &str| self.scope.has(namespace) && !uids.contains(uid);
        let cache = self.scope.cache;
        let mut state = cache.state();
        state.held.retain(|uid, seen| !is_gone(uid, &seen.namespace));
        let gone = state.owners.iter().filter(|(uid, (_, namespace))| is_gone(uid, namespace));
        let gone: BTreeSet<String> = gone.map(|(uid, _)| uid.clone()).collect();
        let concerned = gone.iter().filter_map(|uid| state.unlink_job(uid));
        concerned.for_each(|key| cache.queue.add(&key));
    }
}
