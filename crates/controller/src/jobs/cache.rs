//! The cache of Jobs and Pods, with indexes from Jobs to Pods.
//!
//! A decision must include the effects of our own earlier writes. For example, a Pod that still has the finalizer that we
//! removed, beside a Job whose status counts the Pod, would be counted again. So the response to
//! each of our writes is applied to the cache at once, and watch events that are older than the cached object are ignored.
//! Unlike the expectations of Kubernetes' controllers, this needs no timeout. The watch event of our own
//! write is not newer than the response, so it does not requeue the Job.
//!
//! A response may also arrive after the watch has shown that its object was deleted, and must not bring the object
//! back. So responses about objects that are not cached are dropped. The exception is a Pod that was just created:
//! it is marked as *unobserved* until a watch shows it. Lists, which may be older than the Pod, do not remove it. If
//! no watch shows it within [`OBSERVE_TIMEOUT`], it is read.
//!
//! Each change returns the keys to reconcile because of it, and costs no more than their number.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::Hash;

use jiff::{SignedDuration, Timestamp};
use punctual_api::Job;
use punctual_api::meta::LabelSelector;
use punctual_client::resource_version::is_newer;
use punctual_engine::job::{Backoff, PodView};

use super::cached_objects::{CachedJob, CachedPod, PodOwner, Uid};

/// How long a watch has to show a Pod that we created. After that the watch is slow or the Pod was deleted.
const OBSERVE_TIMEOUT: SignedDuration = SignedDuration::from_secs(30);

/// A key of the Job controller's work queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum ReconcileKey {
    /// A Job, or the Pods of a Job that was deleted.
    Job(Uid),
    /// A Pod with our finalizer and without a controller.
    OrphanedPod(Uid),
}

/// A set of Pods that is looked up together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum PodGroup {
    /// Pods whose controller is the Job with this UID.
    ControlledBy(Uid),
    /// Pods without a controller that are labelled with the UID of this Job.
    LabelledWith(Uid),
    /// Pods without a controller in this namespace.
    Uncontrolled(String),
}

/// All Jobs, and the Pods that belong to a Job or that a Job may adopt.
#[derive(Debug, Default)]
pub(super) struct JobCache {
    jobs: HashMap<Uid, IndexedJob>,
    /// Jobs with a custom selector by namespace.
    custom_selector_jobs: HashMap<String, BTreeSet<Uid>>,
    pods: HashMap<Uid, CachedPod>,
    /// Members are in a fixed order so that simulations are deterministic.
    groups: HashMap<PodGroup, BTreeSet<Uid>>,
}

#[derive(Debug)]
struct IndexedJob {
    job: CachedJob,
    backoff: Backoff,
    /// Whether the last create of a Pod failed, which is logged once.
    has_create_error: bool,
}

/// The Pods that matter for one reconcile of a Job.
#[derive(Debug, Default)]
pub(super) struct GatheredPods {
    /// The Pods that the Job controls.
    pub(super) pods: Vec<PodView>,
    /// Pods that the Job controls and that its selector does not match.
    pub(super) to_release: Vec<CachedPod>,
    /// Pods without a controller that the selector matches.
    pub(super) to_adopt: Vec<CachedPod>,
    /// Pods that we created and that no watch has shown in time.
    pub(super) overdue: Vec<CachedPod>,
    /// When the next unobserved Pod becomes overdue.
    pub(super) next_overdue_at: Option<Timestamp>,
}

impl JobCache {
    pub(super) fn job(&self, uid: &Uid) -> Option<(CachedJob, Backoff)> {
        self.jobs.get(uid).map(|indexed| (indexed.job.clone(), indexed.backoff.clone()))
    }

    pub(super) fn pod(&self, uid: &Uid) -> Option<&CachedPod> {
        self.pods.get(uid)
    }

    /// Stores the Pod backoff of a Job for its next reconcile.
    pub(super) fn set_backoff(&mut self, uid: &Uid, backoff: Backoff) {
        if let Some(indexed) = self.jobs.get_mut(uid) {
            indexed.backoff = backoff;
        }
    }

    /// Sets whether the last create of a Pod of a Job failed. Returns whether it is the first failure in a row.
    pub(super) fn set_create_error(&mut self, uid: &Uid, has_error: bool) -> bool {
        let Some(indexed) = self.jobs.get_mut(uid) else { return false };
        let had_error = std::mem::replace(&mut indexed.has_create_error, has_error);
        has_error && !had_error
    }

    /// Applies a Job from a watch.
    pub(super) fn apply_job(&mut self, job: CachedJob) -> Vec<ReconcileKey> {
        let cached = self.jobs.get(&job.uid);
        let is_stale =
            |cached: &IndexedJob| !is_newer(&job.resource_version, &cached.job.resource_version);
        if cached.is_some_and(is_stale) {
            return Vec::new();
        }
        let backoff = cached.map(|cached| cached.backoff.clone()).unwrap_or_default();
        let has_create_error = cached.is_some_and(|cached| cached.has_create_error);
        let uid = job.uid.clone();
        self.unlink_job(&uid);
        if job.has_custom_selector {
            let jobs = self.custom_selector_jobs.entry(job.namespace.clone()).or_default();
            jobs.insert(uid.clone());
        }
        self.jobs.insert(uid.clone(), IndexedJob { job, backoff, has_create_error });
        vec![ReconcileKey::Job(uid)]
    }

    /// Applies a Job from a response.
    pub(super) fn apply_job_response(&mut self, job: CachedJob) -> Vec<ReconcileKey> {
        if self.jobs.contains_key(&job.uid) { self.apply_job(job) } else { Vec::new() }
    }

    /// Removes a Job.
    pub(super) fn remove_job(&mut self, uid: &Uid) -> Vec<ReconcileKey> {
        self.unlink_job(uid).map(|_| ReconcileKey::Job(uid.clone())).into_iter().collect()
    }

    /// Removes all Jobs that a list does not contain.
    pub(super) fn retain_jobs(&mut self, listed: &HashSet<String>) -> Vec<ReconcileKey> {
        let removed = self.jobs.keys().filter(|uid| !listed.contains(&***uid));
        let removed: BTreeSet<Uid> = removed.cloned().collect();
        removed.iter().flat_map(|uid| self.remove_job(uid)).collect()
    }

    /// Applies a Pod from a watch.
    pub(super) fn apply_pod(&mut self, pod: CachedPod) -> Vec<ReconcileKey> {
        let Some(cached) = self.pods.get_mut(&pod.uid) else {
            return self.link_pod(pod);
        };
        cached.unobserved_since = None;
        if is_newer(&pod.resource_version, &cached.resource_version) {
            self.link_pod(pod)
        } else {
            Vec::new()
        }
    }

    /// Applies an overdue Pod that was read. It stays removed if it was removed since.
    pub(super) fn apply_read_pod(&mut self, pod: CachedPod) -> Vec<ReconcileKey> {
        if self.pods.contains_key(&pod.uid) { self.apply_pod(pod) } else { Vec::new() }
    }

    /// Applies a Pod from a response.
    pub(super) fn apply_pod_response(&mut self, pod: CachedPod) -> Vec<ReconcileKey> {
        match self.pods.get(&pod.uid) {
            Some(cached) if is_newer(&pod.resource_version, &cached.resource_version) => {
                let unobserved_since = cached.unobserved_since;
                self.link_pod(CachedPod { unobserved_since, ..pod })
            }
            _ => Vec::new(),
        }
    }

    /// Applies a Pod from the response to its create.
    pub(super) fn apply_created_pod(
        &mut self,
        pod: CachedPod,
        now: Timestamp,
    ) -> Vec<ReconcileKey> {
        if self.pods.contains_key(&pod.uid) {
            return self.apply_pod_response(pod);
        }
        self.link_pod(CachedPod { unobserved_since: Some(now), ..pod })
    }

    /// Removes a Pod.
    pub(super) fn remove_pod(&mut self, uid: &Uid) -> Vec<ReconcileKey> {
        self.unlink_pod(uid).map(|pod| self.affected_by(&pod)).unwrap_or_default()
    }

    /// Removes all Pods that a list does not contain, except unobserved ones, which may be newer than the list.
    pub(super) fn retain_pods(&mut self, listed: &HashSet<String>) -> Vec<ReconcileKey> {
        let is_removed =
            |pod: &&CachedPod| pod.unobserved_since.is_none() && !listed.contains(&*pod.uid);
        let removed = self.pods.values().filter(is_removed).map(|pod| pod.uid.clone());
        let removed: BTreeSet<Uid> = removed.collect();
        removed.iter().flat_map(|uid| self.remove_pod(uid)).collect()
    }

    /// The Pods whose controller is the Job with this UID.
    pub(super) fn pods_of(&self, job: &Uid) -> impl Iterator<Item = &CachedPod> {
        self.members(PodGroup::ControlledBy(job.clone()))
    }

    /// Collects the Pods that matter for a Job.
    pub(super) fn gather_pods(&self, job: &Job, now: Timestamp) -> GatheredPods {
        let mut gathered = GatheredPods::default();
        let uid = Uid::from(job.metadata.uid.as_str());
        let selector = job.spec.selector.as_ref();
        let is_selected =
            |pod: &CachedPod| selector.is_some_and(|selector| selector.matches(&pod.labels));
        // Any client can write the UID of a Job into a Pod of another namespace.
        let is_in_namespace = |pod: &&CachedPod| pod.namespace == job.metadata.namespace;
        for pod in self.pods_of(&uid).filter(is_in_namespace) {
            gathered.pods.push(pod.view.clone());
            if !is_selected(pod) {
                gathered.to_release.push(pod.clone());
            }
            gathered.check_overdue(pod, now);
        }
        let group = self.adoptable_group(&uid, selector, &job.metadata.namespace);
        let is_adoptable = |pod: &&CachedPod| !pod.view.is_deleting && is_selected(pod);
        let adoptable = self.members(group).filter(is_in_namespace).filter(is_adoptable);
        gathered.to_adopt = adoptable.cloned().collect();
        gathered
    }

    /// The smallest group that contains all Pods that a Job may adopt.
    fn adoptable_group(
        &self,
        uid: &Uid,
        selector: Option<&LabelSelector>,
        namespace: &str,
    ) -> PodGroup {
        let is_custom = self.jobs.get(uid).is_some_and(|indexed| indexed.job.has_custom_selector);
        if selector.is_some() && is_custom {
            PodGroup::Uncontrolled(namespace.to_owned())
        } else {
            PodGroup::LabelledWith(uid.clone())
        }
    }

    fn members(&self, group: PodGroup) -> impl Iterator<Item = &CachedPod> {
        let uids = self.groups.get(&group).into_iter().flatten();
        uids.filter_map(|uid| self.pods.get(uid))
    }

    /// The keys to reconcile after a Pod was added, changed or removed.
    fn affected_by(&self, pod: &CachedPod) -> Vec<ReconcileKey> {
        match &pod.owner {
            PodOwner::Job { uid, .. } => vec![ReconcileKey::Job(uid.clone())],
            PodOwner::Other => Vec::new(),
            PodOwner::None => {
                let by_selector = self.custom_selector_jobs.get(&pod.namespace);
                let by_selector = by_selector.into_iter().flatten().cloned();
                let by_label = pod.labelled_job_uid().map(Uid::from);
                let by_label = by_label.filter(|uid| self.jobs.contains_key(uid));
                let orphan =
                    pod.view.is_tracked.then(|| ReconcileKey::OrphanedPod(pod.uid.clone()));
                by_selector.chain(by_label).map(ReconcileKey::Job).chain(orphan).collect()
            }
        }
    }

    fn link_pod(&mut self, pod: CachedPod) -> Vec<ReconcileKey> {
        let mut affected = self.affected_by(&pod);
        for key in self.remove_pod(&pod.uid) {
            if !affected.contains(&key) {
                affected.push(key);
            }
        }
        for group in groups_of(&pod) {
            self.groups.entry(group).or_default().insert(pod.uid.clone());
        }
        // On a large cluster most Pods belong to other controllers and never to a Job.
        if pod.owner != PodOwner::Other {
            self.pods.insert(pod.uid.clone(), pod);
        }
        affected
    }

    fn unlink_pod(&mut self, uid: &Uid) -> Option<CachedPod> {
        let pod = self.pods.remove(uid)?;
        for group in groups_of(&pod) {
            remove_member(&mut self.groups, group, uid);
        }
        Some(pod)
    }

    fn unlink_job(&mut self, uid: &Uid) -> Option<CachedJob> {
        let indexed = self.jobs.remove(uid)?;
        remove_member(&mut self.custom_selector_jobs, indexed.job.namespace.clone(), uid);
        Some(indexed.job)
    }
}

impl GatheredPods {
    fn check_overdue(&mut self, pod: &CachedPod, now: Timestamp) {
        let Some(since) = pod.unobserved_since else {
            return;
        };
        let overdue_at = since.saturating_add(OBSERVE_TIMEOUT).unwrap_or(now);
        if overdue_at <= now {
            self.overdue.push(pod.clone());
        } else {
            self.next_overdue_at = self.next_overdue_at.into_iter().chain([overdue_at]).min();
        }
    }
}

fn groups_of(pod: &CachedPod) -> Vec<PodGroup> {
    match &pod.owner {
        PodOwner::Job { uid, .. } => vec![PodGroup::ControlledBy(uid.clone())],
        PodOwner::Other => Vec::new(),
        PodOwner::None => {
            let labelled = pod.labelled_job_uid().map(|uid| PodGroup::LabelledWith(uid.into()));
            labelled.into_iter().chain([PodGroup::Uncontrolled(pod.namespace.clone())]).collect()
        }
    }
}

/// Removes a member from its set, and the set if it becomes empty.
fn remove_member<K: Eq + Hash>(sets: &mut HashMap<K, BTreeSet<Uid>>, key: K, uid: &Uid) {
    if let Entry::Occupied(mut set) = sets.entry(key) {
        set.get_mut().remove(uid);
        if set.get().is_empty() {
            set.remove();
        }
    }
}

#[cfg(test)]
mod tests;
