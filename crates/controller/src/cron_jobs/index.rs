//! CronJobs, their Jobs and the RunRequests for them as the watches show them, indexed by owner.
//!
//! The index makes no calls and no decisions. Each change returns the keys to requeue because of it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use jiff::Timestamp;
use punctual_api::{CronJob, CronJobKind, RunRequest};
use punctual_client::resource_version::{is_newer, is_older};
use punctual_engine::cronjob::{JobView, Timetable};

use super::cached_cron_job::CachedCronJob;
use super::cached_job::CachedJob;
use super::key::{CronJobName, ReconcileKey};
use super::key_state::{KeyState, LiveJobs};
use super::options::CronJobOptions;
use super::request_index::RequestIndex;

/// The cached objects.
#[derive(Default)]
pub(super) struct CronJobIndex {
    cron_jobs: HashMap<Arc<CronJobName>, IndexedCronJob>,
    /// Names of CronJobs by UID.
    names: HashMap<String, Arc<CronJobName>>,
    /// Jobs by the UID of their CronJob. Shared with the snapshots of running reconciles.
    jobs: HashMap<String, Arc<Vec<JobView>>>,
    /// Owners of Jobs by the UID of the Job. The owner of a Job can change.
    job_owners: HashMap<String, JobOwner>,
    pub(super) requests: RequestIndex,
    /// Jobs with our finalizer by UID.
    finalizer_jobs: HashMap<String, CachedJob>,
    /// Names by UID of CronJobs that a live read showed as deleted and the watch does not yet. Watch events about
    /// them are stale.
    deleted: HashMap<String, Arc<CronJobName>>,
}

struct IndexedCronJob {
    cached: Arc<CachedCronJob>,
    state: KeyState,
}

struct JobOwner {
    cron_job_uid: String,
    namespace: String,
}

/// How an event changed a CronJob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CronJobChange {
    /// The event is stale.
    None,
    /// Only metadata or status changed.
    Updated,
    /// The CronJob is new, was replaced, or has a new spec.
    SpecChanged,
}

/// The input of one decision. It stays consistent while the index changes.
pub(super) struct Snapshot {
    pub(super) cached: Arc<CachedCronJob>,
    jobs: Option<Arc<Vec<JobView>>>,
    pub(super) live: LiveJobs,
    /// The RunRequests for the CronJob, oldest first.
    pub(super) requests: Vec<Arc<RunRequest>>,
    older_object_of_same_name: Option<Arc<CachedCronJob>>,
}

impl Snapshot {
    /// The Jobs of the CronJob that the watch shows.
    pub(super) fn jobs(&self) -> &[JobView] {
        self.jobs.as_ref().map_or(&[], |jobs| jobs.as_slice())
    }

    /// The timetable of an older object of another kind with the same name that can start runs.
    pub(super) fn older_object_of_same_name(&self) -> Option<&Timetable> {
        self.older_object_of_same_name.as_ref()?.timetable_ref().ok()
    }
}

impl CronJobIndex {
    /// The number of CronJobs.
    pub(super) fn len(&self) -> usize {
        self.cron_jobs.len()
    }

    pub(super) fn get(&self, name: &CronJobName) -> Option<&Arc<CachedCronJob>> {
        self.cron_jobs.get(name).map(|entry| &entry.cached)
    }

    /// Whether a CronJob with this UID is cached.
    pub(super) fn contains_uid(&self, uid: &str) -> bool {
        self.names.contains_key(uid)
    }

    /// The state that the previous reconcile of a CronJob left.
    pub(super) fn key_state(&mut self, name: &CronJobName) -> Option<&mut KeyState> {
        self.cron_jobs.get_mut(name).map(|entry| &mut entry.state)
    }

    /// The cached state of a CronJob, combined with the Jobs that were read for this decision.
    pub(super) fn snapshot(
        &mut self,
        name: &CronJobName,
        live: &LiveJobs,
        now: Timestamp,
    ) -> Option<Snapshot> {
        let older_object_of_same_name = self.older_object_of_same_name(name);
        let requests = self.requests.of_target(name);
        let entry = self.cron_jobs.get_mut(name)?;
        let mut jobs = self.jobs.get(&entry.cached.uid).cloned();
        entry.state.add_deleted_jobs(&mut jobs, now);
        let cached_jobs = jobs.as_ref().map_or(&[][..], |jobs| jobs.as_slice());
        let live = entry.state.merge_live(live, cached_jobs);
        let cached = entry.cached.clone();
        Some(Snapshot { cached, jobs, live, requests, older_object_of_same_name })
    }

    /// The object of another kind with the same namespace and name, if it is older and can start runs. Both
    /// kinds give their Jobs the same names.
    fn older_object_of_same_name(&self, name: &CronJobName) -> Option<Arc<CachedCronJob>> {
        let own = self.get(name)?;
        let others = CronJobKind::ALL.into_iter().filter(|kind| *kind != name.kind);
        let mut others = others.filter_map(|kind| {
            let other = CronJobName { kind, ..name.clone() };
            Some((kind, self.get(&other)?))
        });
        let is_older = |(kind, other): &(CronJobKind, &Arc<CachedCronJob>)| {
            other.can_start && (other.created_at, *kind) < (own.created_at, name.kind)
        };
        others.find(is_older).map(|(_, other)| other.clone())
    }

    /// Applies a CronJob from a watch, unless a live read has shown that it was deleted.
    pub(super) fn apply_watched(
        &mut self,
        name: &Arc<CronJobName>,
        cron_job: &CronJob,
        options: &CronJobOptions,
    ) -> CronJobChange {
        if self.deleted.contains_key(&cron_job.metadata.uid) {
            return CronJobChange::None;
        }
        self.apply(name, cron_job, options)
    }

    /// Applies a CronJob from a response to one of our calls. It is ignored if the CronJob is not cached: the watch
    /// may have shown already that it was deleted, and would not show that again.
    pub(super) fn apply_response(
        &mut self,
        name: &Arc<CronJobName>,
        cron_job: &CronJob,
        options: &CronJobOptions,
    ) {
        if self.cron_jobs.contains_key(name) {
            self.apply(name, cron_job, options);
        }
    }

    fn apply(
        &mut self,
        name: &Arc<CronJobName>,
        cron_job: &CronJob,
        options: &CronJobOptions,
    ) -> CronJobChange {
        let metadata = &cron_job.metadata;
        if let Some(IndexedCronJob { cached, .. }) = self.cron_jobs.get_mut(name) {
            if !is_newer(&metadata.resource_version, &cached.resource_version) {
                return CronJobChange::None;
            }
            if cached.uid == metadata.uid {
                let has_new_spec = cached.generation != metadata.generation;
                *cached = Arc::new(cached.updated(cron_job, options));
                return if has_new_spec {
                    CronJobChange::SpecChanged
                } else {
                    CronJobChange::Updated
                };
            }
            self.names.remove(&cached.uid);
        }
        self.names.insert(metadata.uid.clone(), name.clone());
        let cached = Arc::new(CachedCronJob::new(cron_job, options));
        let entry = IndexedCronJob { cached, state: KeyState::default() };
        self.cron_jobs.insert(name.clone(), entry);
        CronJobChange::SpecChanged
    }

    /// Removes a CronJob. Returns whether it was cached.
    pub(super) fn remove(&mut self, name: &CronJobName, uid: &str) -> bool {
        self.names.remove(uid);
        let is_cached = self.cron_jobs.get(name).is_some_and(|entry| entry.cached.uid == uid);
        if is_cached {
            self.cron_jobs.remove(name);
        }
        is_cached
    }

    /// Ignores watch events about a CronJob until the watch shows that it was deleted.
    pub(super) fn mark_deleted(&mut self, name: &Arc<CronJobName>, uid: &str) {
        if self.names.contains_key(uid) {
            self.deleted.insert(uid.to_owned(), name.clone());
        }
    }

    /// Ends [`CronJobIndex::mark_deleted`], because the watch shows that the CronJob was deleted.
    pub(super) fn unmark_deleted(&mut self, uid: &str) {
        self.deleted.remove(uid);
    }

    /// Ends [`CronJobIndex::mark_deleted`] for CronJobs for which `keep` returns false.
    pub(super) fn retain_deleted(&mut self, keep: impl Fn(&str, &CronJobName) -> bool) {
        self.deleted.retain(|uid, name| keep(uid, name));
    }

    /// CronJobs by UID for which `is_match` returns true. They are sorted so that simulations are
    /// deterministic.
    pub(super) fn find_cron_jobs(
        &self,
        is_match: impl Fn(&str, &CronJobName) -> bool,
    ) -> BTreeMap<String, Arc<CronJobName>> {
        let matches =
            self.cron_jobs.iter().filter(|(name, entry)| is_match(&entry.cached.uid, name));
        matches.map(|(name, entry)| (entry.cached.uid.clone(), name.clone())).collect()
    }

    /// Applies a Job.
    pub(super) fn apply_job(&mut self, job: &CachedJob) -> Vec<ReconcileKey> {
        let view = &job.view;
        if view.has_finalizer {
            self.finalizer_jobs.insert(view.uid.clone(), job.clone());
        } else {
            self.finalizer_jobs.remove(&view.uid);
        }
        let owner = job.owner.as_ref().map(|_| view.controller_uid.as_str());
        let old_owner = self.job_owners.get(&view.uid).map(|owner| owner.cron_job_uid.as_str());
        let mut affected = Vec::new();
        if old_owner != owner {
            affected.extend(self.unlink_job(&view.uid));
        }
        if let Some(owner) = owner
            && self.link_job(owner, job)
        {
            affected.extend(self.cron_job_key(owner));
        }
        affected
    }

    /// Whether a Job of a CronJob is cached.
    pub(super) fn has_job(&self, uid: &str) -> bool {
        self.job_owners.contains_key(uid)
    }

    /// Whether the cached version of a Job has no start time.
    pub(super) fn has_unstarted_job(&self, view: &JobView) -> bool {
        let jobs = self.jobs.get(&view.controller_uid);
        let cached = jobs.and_then(|jobs| jobs.iter().find(|job| job.uid == view.uid));
        cached.is_some_and(|job| job.started_at.is_none())
    }

    /// Removes a Job.
    pub(super) fn remove_job(&mut self, uid: &str) -> Option<ReconcileKey> {
        self.finalizer_jobs.remove(uid);
        self.unlink_job(uid)
    }

    /// Removes all Jobs for which `keep` returns false. `keep` gets the UID and the namespace.
    pub(super) fn retain_jobs(&mut self, keep: impl Fn(&str, &str) -> bool) -> Vec<ReconcileKey> {
        self.finalizer_jobs.retain(|uid, job| keep(uid, &job.namespace));
        let removed = self.job_owners.iter().filter(|(uid, owner)| !keep(uid, &owner.namespace));
        let removed: BTreeSet<String> = removed.map(|(uid, _)| uid.clone()).collect();
        removed.iter().filter_map(|uid| self.unlink_job(uid)).collect()
    }

    /// The key of a Job with our finalizer if its CronJob is not cached, so that no reconcile of the CronJob
    /// removes the finalizer.
    pub(super) fn orphaned_job_key(&self, job_uid: &str) -> Option<ReconcileKey> {
        let job = self.finalizer_jobs.get(job_uid)?;
        let is_orphaned = !self.contains_uid(&job.view.controller_uid);
        is_orphaned.then(|| ReconcileKey::OrphanedJob(job.to_orphaned_job()))
    }

    /// The keys of all orphaned Jobs of one CronJob.
    pub(super) fn orphaned_job_keys_of(&self, cron_job_uid: &str) -> Vec<ReconcileKey> {
        let jobs = self.jobs.get(cron_job_uid).into_iter().flat_map(|jobs| jobs.iter());
        let with_finalizer = jobs.filter(|job| job.has_finalizer);
        with_finalizer.filter_map(|job| self.orphaned_job_key(&job.uid)).collect()
    }

    /// The keys of all orphaned Jobs.
    pub(super) fn orphaned_job_keys(&self) -> Vec<ReconcileKey> {
        let uids: BTreeSet<&String> = self.finalizer_jobs.keys().collect();
        uids.into_iter().filter_map(|uid| self.orphaned_job_key(uid)).collect()
    }

    /// Adds a Job to its CronJob, or updates it. Returns whether anything but its version changed.
    fn link_job(&mut self, cron_job_uid: &str, job: &CachedJob) -> bool {
        let view = &job.view;
        let jobs = Arc::make_mut(self.jobs.entry(cron_job_uid.to_owned()).or_default());
        match jobs.iter_mut().find(|cached| cached.uid == view.uid) {
            Some(cached) if !is_older(&view.resource_version, &cached.resource_version) => {
                let old = std::mem::replace(cached, view.clone());
                // Whether a Pod has started matters only at the pending deadline, when the key is queued anyway.
                let unchanged = JobView {
                    resource_version: view.resource_version.clone(),
                    has_no_started_pod: view.has_no_started_pod,
                    ..old
                };
                *cached != unchanged
            }
            Some(_) => false,
            None => {
                // Most CronJobs have few Jobs, so growing by doubling would waste memory.
                jobs.reserve_exact(1);
                jobs.push(view.clone());
                let cron_job_uid = cron_job_uid.to_owned();
                let owner = JobOwner { cron_job_uid, namespace: job.namespace.clone() };
                self.job_owners.insert(view.uid.clone(), owner);
                true
            }
        }
    }

    /// Removes a Job from its CronJob.
    fn unlink_job(&mut self, uid: &str) -> Option<ReconcileKey> {
        let owner = self.job_owners.remove(uid)?.cron_job_uid;
        if let Some(entry) = self.names.get(&owner).and_then(|name| self.cron_jobs.get_mut(name)) {
            entry.state.remove_deleted(uid);
        }
        if let Some(jobs) = self.jobs.get_mut(&owner) {
            let jobs_of_owner = Arc::make_mut(jobs);
            jobs_of_owner.retain(|job| job.uid != uid);
            if jobs_of_owner.is_empty() {
                self.jobs.remove(&owner);
            }
        }
        self.cron_job_key(&owner)
    }

    fn cron_job_key(&self, uid: &str) -> Option<ReconcileKey> {
        self.names.get(uid).cloned().map(ReconcileKey::CronJob)
    }
}
