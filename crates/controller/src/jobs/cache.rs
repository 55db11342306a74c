//! Jobs and Pods as they are, as far as we know, and who belongs to whom.
//!
//! A decision must not be made on less than what we have done ourselves: a Pod that still has the
//! finalizer that we took, beside a Job in which it is counted, would be counted again. So the
//! server's answer to each of our writes is put in here at once, and what is older than what is held
//! is passed over: watches, which lag behind, catch up with our own writes and then go on. Unlike
//! Kubernetes' expectations, which only wait, that needs no time limit and no second look. It also
//! means that the echo of a write of ours is no news, and nobody looks at the Job because of it.
//!
//! An answer can also come later than the news that its object is gone, and must not bring it back.
//! Answers about objects that are not held are therefore dropped; but a Pod that was just created is
//! not held yet. It is marked as *unheard of* until a watch has shown it. Lists, which may be from
//! before it, do not remove it; and if no watch shows it for [`HEAR_WITHIN`], it is asked for.
//!
//! Each change says which keys to look at because of it; none costs more than those.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::Hash;

use jiff::{SignedDuration, Timestamp};
use punctual_api::Job;
use punctual_api::meta::LabelSelector;
use punctual_client::resource_version::is_newer;
use punctual_engine::job::{Backoff, PodView};

use super::known::{Controller, KnownJob, KnownPod, Uid};

/// A watch that has not shown a new Pod by then is slow indeed, or the Pod is gone.
const HEAR_WITHIN: SignedDuration = SignedDuration::from_secs(30);

/// What is looked at.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Key {
    /// A Job, or the Pods of a Job that is gone.
    Job(Uid),
    /// A Pod that is nobody's and carries the finalizer.
    Orphan(Uid),
}

/// Why some Pods are looked up together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Group {
    /// Pods that a Job controls.
    Of(Uid),
    /// Pods that nobody controls and that carry the UID of a Job.
    Labelled(Uid),
    /// All Pods of a namespace that nobody controls.
    Loose(String),
}

/// All Jobs and the Pods that are theirs or might be.
#[derive(Debug, Default)]
pub(super) struct Cache {
    jobs: HashMap<Uid, Held>,
    /// By namespace, the Jobs whose selector is somebody's own.
    by_hand: HashMap<String, BTreeSet<Uid>>,
    pods: HashMap<Uid, KnownPod>,
    /// Ordered, so that the same world gives the same decisions.
    groups: HashMap<Group, BTreeSet<Uid>>,
}

#[derive(Debug)]
struct Held {
    job: KnownJob,
    backoff: Backoff,
}

/// The Pods of a Job at one look.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pub(super) pods: Vec<PodView>,
    /// Its Pods that its selector does not take.
    pub(super) strangers: Vec<KnownPod>,
    /// Pods that nobody controls and that its selector takes.
    pub(super) orphans: Vec<KnownPod>,
    /// Pods that should have been heard of.
    pub(super) overdue: Vec<KnownPod>,
    /// When the next Pod should have been heard of.
    pub(super) overdue_at: Option<Timestamp>,
}

impl Cache {
    pub(super) fn job(&self, uid: &Uid) -> Option<(KnownJob, Backoff)> {
        self.jobs.get(uid).map(|held| (held.job.clone(), held.backoff.clone()))
    }

    pub(super) fn pod(&self, uid: &Uid) -> Option<&KnownPod> {
        self.pods.get(uid)
    }

    /// Keeps what is to be remembered of a Job's failures.
    pub(super) fn remember(&mut self, uid: &Uid, backoff: Backoff) {
        if let Some(held) = self.jobs.get_mut(uid) {
            held.backoff = backoff;
        }
    }

    /// A watch shows a Job.
    pub(super) fn put_job(&mut self, job: KnownJob) -> Vec<Key> {
        let held = self.jobs.get(&job.uid);
        if held.is_some_and(|held| !is_newer(&job.version, &held.job.version)) {
            return Vec::new();
        }
        let backoff = held.map(|held| held.backoff.clone()).unwrap_or_default();
        let uid = job.uid.clone();
        self.unlink_job(&uid);
        if job.selects_by_hand {
            self.by_hand.entry(job.namespace.clone()).or_default().insert(uid.clone());
        }
        self.jobs.insert(uid.clone(), Held { job, backoff });
        vec![Key::Job(uid)]
    }

    /// The server answers with a Job.
    pub(super) fn answer_job(&mut self, job: KnownJob) -> Vec<Key> {
        if self.jobs.contains_key(&job.uid) { self.put_job(job) } else { Vec::new() }
    }

    /// A Job is gone. Its Pods, if it has any left, are looked at.
    pub(super) fn remove_job(&mut self, uid: &Uid) -> Vec<Key> {
        self.unlink_job(uid).map(|_| Key::Job(uid.clone())).into_iter().collect()
    }

    /// All Jobs but these are gone.
    pub(super) fn keep_jobs(&mut self, uids: &HashSet<String>) -> Vec<Key> {
        let gone = self.jobs.keys().filter(|uid| !uids.contains(&***uid));
        let gone: BTreeSet<Uid> = gone.cloned().collect();
        gone.iter().flat_map(|uid| self.remove_job(uid)).collect()
    }

    /// A watch shows a Pod.
    pub(super) fn put_pod(&mut self, pod: KnownPod) -> Vec<Key> {
        let Some(held) = self.pods.get_mut(&pod.uid) else {
            return self.link_pod(pod);
        };
        held.unheard_since = None;
        if is_newer(&pod.version, &held.version) { self.link_pod(pod) } else { Vec::new() }
    }

    /// A Pod was asked for because no watch had shown it. One that is gone by now stays gone.
    pub(super) fn hear_of(&mut self, pod: KnownPod) -> Vec<Key> {
        if self.pods.contains_key(&pod.uid) { self.put_pod(pod) } else { Vec::new() }
    }

    /// The server answers with a Pod.
    pub(super) fn answer_pod(&mut self, pod: KnownPod) -> Vec<Key> {
        match self.pods.get(&pod.uid) {
            Some(held) if is_newer(&pod.version, &held.version) => {
                let unheard_since = held.unheard_since;
                self.link_pod(KnownPod { unheard_since, ..pod })
            }
            _ => Vec::new(),
        }
    }

    /// The server answers with a Pod that was just created.
    pub(super) fn answer_new_pod(&mut self, pod: KnownPod, now: Timestamp) -> Vec<Key> {
        if self.pods.contains_key(&pod.uid) {
            return self.answer_pod(pod);
        }
        self.link_pod(KnownPod { unheard_since: Some(now), ..pod })
    }

    /// A Pod is gone.
    pub(super) fn remove_pod(&mut self, uid: &Uid) -> Vec<Key> {
        self.unlink_pod(uid).map(|pod| self.concerned_by(&pod)).unwrap_or_default()
    }

    /// All Pods but these are gone, and those that may be newer than the list.
    pub(super) fn keep_pods(&mut self, uids: &HashSet<String>) -> Vec<Key> {
        let is_gone = |pod: &&KnownPod| pod.unheard_since.is_none() && !uids.contains(&*pod.uid);
        let gone = self.pods.values().filter(is_gone).map(|pod| pod.uid.clone());
        let gone: BTreeSet<Uid> = gone.collect();
        gone.iter().flat_map(|uid| self.remove_pod(uid)).collect()
    }

    /// The Pods that have a Job of this UID as their controller.
    pub(super) fn pods_of(&self, job: &Uid) -> impl Iterator<Item = &KnownPod> {
        self.members(Group::Of(job.clone()))
    }

    /// What there is for a Job.
    pub(super) fn gather(&self, job: &Job, now: Timestamp) -> Gathered {
        let mut gathered = Gathered::default();
        let uid = Uid::from(job.metadata.uid.as_str());
        let selector = job.spec.selector.as_ref();
        let takes = |pod: &KnownPod| selector.is_some_and(|selector| selector.matches(&pod.labels));
        // A UID can be written into a Pod anywhere; a Job's own are where it is.
        let is_near = |pod: &&KnownPod| pod.namespace == job.metadata.namespace;
        for pod in self.pods_of(&uid).filter(is_near) {
            gathered.pods.push(pod.view.clone());
            if !takes(pod) {
                gathered.strangers.push(pod.clone());
            }
            gathered.wait_for(pod, now);
        }
        let orphans = self.members(self.orphans_for(&uid, selector, &job.metadata.namespace));
        let may_come = |pod: &&KnownPod| !pod.view.is_deleting && takes(pod);
        gathered.orphans = orphans.filter(is_near).filter(may_come).cloned().collect();
        gathered
    }

    /// The group that has all Pods in it that a Job could adopt.
    fn orphans_for(&self, uid: &Uid, selector: Option<&LabelSelector>, namespace: &str) -> Group {
        let is_by_hand = self.jobs.get(uid).is_some_and(|held| held.job.selects_by_hand);
        match selector.is_some() && is_by_hand {
            true => Group::Loose(namespace.to_owned()),
            false => Group::Labelled(uid.clone()),
        }
    }

    fn members(&self, group: Group) -> impl Iterator<Item = &KnownPod> {
        let uids = self.groups.get(&group).into_iter().flatten();
        uids.filter_map(|uid| self.pods.get(uid))
    }

    /// Whom to look at because a Pod has come, changed or gone.
    fn concerned_by(&self, pod: &KnownPod) -> Vec<Key> {
        match &pod.controller {
            Controller::Job { uid, .. } => vec![Key::Job(uid.clone())],
            Controller::Other => Vec::new(),
            Controller::Nobody => {
                let by_hand = self.by_hand.get(&pod.namespace).into_iter().flatten().cloned();
                let by_label = pod.labelled_uid().map(Uid::from);
                let by_label = by_label.filter(|uid| self.jobs.contains_key(uid));
                let orphan = pod.view.is_tracked.then(|| Key::Orphan(pod.uid.clone()));
                by_hand.chain(by_label).map(Key::Job).chain(orphan).collect()
            }
        }
    }

    fn link_pod(&mut self, pod: KnownPod) -> Vec<Key> {
        let mut concerned = self.concerned_by(&pod);
        let before = self.remove_pod(&pod.uid);
        let also = before.into_iter().filter(|key| !concerned.contains(key)).collect::<Vec<Key>>();
        concerned.extend(also);
        for group in groups_of(&pod) {
            self.groups.entry(group).or_default().insert(pod.uid.clone());
        }
        // Most Pods of a big cluster are no Job's and never will be.
        if pod.controller != Controller::Other {
            self.pods.insert(pod.uid.clone(), pod);
        }
        concerned
    }

    fn unlink_pod(&mut self, uid: &Uid) -> Option<KnownPod> {
        let pod = self.pods.remove(uid)?;
        for group in groups_of(&pod) {
            leave(&mut self.groups, group, uid);
        }
        Some(pod)
    }

    fn unlink_job(&mut self, uid: &Uid) -> Option<KnownJob> {
        let held = self.jobs.remove(uid)?;
        leave(&mut self.by_hand, held.job.namespace.clone(), uid);
        Some(held.job)
    }
}

impl Gathered {
    fn wait_for(&mut self, pod: &KnownPod, now: Timestamp) {
        let Some(since) = pod.unheard_since else {
            return;
        };
        let at = since.saturating_add(HEAR_WITHIN).unwrap_or(now);
        match at <= now {
            true => self.overdue.push(pod.clone()),
            false => self.overdue_at = self.overdue_at.into_iter().chain([at]).min(),
        }
    }
}

fn groups_of(pod: &KnownPod) -> Vec<Group> {
    match &pod.controller {
        Controller::Job { uid, .. } => vec![Group::Of(uid.clone())],
        Controller::Other => Vec::new(),
        Controller::Nobody => {
            let labelled = pod.labelled_uid().map(|uid| Group::Labelled(uid.into()));
            labelled.into_iter().chain([Group::Loose(pod.namespace.clone())]).collect()
        }
    }
}

/// Takes a member out of its set, and the set away if it was the last.
fn leave<K: Eq + Hash>(sets: &mut HashMap<K, BTreeSet<Uid>>, key: K, uid: &Uid) {
    if let Entry::Occupied(mut set) = sets.entry(key) {
        set.get_mut().remove(uid);
        if set.get().is_empty() {
            set.remove();
        }
    }
}

#[cfg(test)]
mod tests;
