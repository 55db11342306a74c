//! Everything that happened to the Jobs and to the Lease, as recorded by watches.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use crate::objects::{has_condition, items, name, slot, text, time, uid};

/// A Job from its creation to its end.
#[derive(Clone, Debug)]
pub(super) struct RecordedJob {
    pub(super) name: String,
    pub(super) uid: String,
    /// The UID of its owner.
    pub(super) owner: String,
    pub(super) slot: Timestamp,
    /// Its `creationTimestamp`, in whole seconds.
    pub(super) created: Timestamp,
    /// When it was first observed.
    pub(super) observed: ObservedAt,
    pub(super) end: Option<(ObservedAt, RecordedEnd)>,
    is_deleted: bool,
}

/// A position in the server's order of changes and the time when it was observed.
#[derive(Clone, Copy, Debug)]
pub(super) struct ObservedAt {
    pub(super) version: u64,
    pub(super) at: Timestamp,
}

/// How a Job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordedEnd {
    Complete,
    Failed,
    /// It was deleted before it finished.
    Deleted,
}

/// All Jobs that ever existed.
#[derive(Debug, Default)]
pub(super) struct RecordedJobs {
    by_uid: BTreeMap<String, RecordedJob>,
    /// The names of Jobs without an owner or a slot.
    pub(super) foreign: Vec<String>,
}

/// The holders of the Lease in order of time.
#[derive(Clone, Debug, Default)]
pub(super) struct LeaseTerms(pub(super) Vec<LeaseTerm>);

/// A holder and the time from which it held the Lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LeaseTerm {
    /// Empty if the Lease had no holder.
    pub(super) holder: String,
    pub(super) from: Timestamp,
}

/// A value that is updated by the events of a watch.
pub(super) trait WatchState {
    /// Applies an object that was created or changed.
    fn apply(&mut self, object: &Value, at: Timestamp);

    /// Applies a deletion. The object is in its last state.
    fn delete(&mut self, object: &Value, at: Timestamp);

    /// Applies a list of all objects after events may have been lost.
    fn replace(&mut self, objects: &[Value], now: ObservedAt);
}

fn version(object: &Value) -> u64 {
    text(object, "/metadata/resourceVersion").parse().unwrap_or_default()
}

fn result(job: &Value) -> Option<RecordedEnd> {
    if has_condition(job, "Complete") {
        Some(RecordedEnd::Complete)
    } else if has_condition(job, "Failed") {
        Some(RecordedEnd::Failed)
    } else {
        None
    }
}

impl RecordedJob {
    /// Returns `None` for a Job without an owner or a slot.
    fn new(job: &Value, at: Timestamp) -> Option<RecordedJob> {
        let owner = items(job, "/metadata/ownerReferences").first()?;
        Some(RecordedJob {
            name: name(job).to_owned(),
            uid: uid(job).to_owned(),
            owner: text(owner, "/uid").to_owned(),
            slot: slot(job)?,
            created: time(job, "/metadata/creationTimestamp")?,
            observed: ObservedAt { version: version(job), at },
            end: None,
            is_deleted: false,
        })
    }

    fn mark_deleted(&mut self, now: ObservedAt) {
        self.end = self.end.or(Some((now, RecordedEnd::Deleted)));
        self.is_deleted = true;
    }

    pub(super) fn has_ended_as(&self, expected: RecordedEnd) -> bool {
        self.end.is_some_and(|(_, end)| end == expected)
    }

    #[cfg(test)]
    pub(super) fn for_test(uid: &str, slot: Timestamp, observed: ObservedAt) -> RecordedJob {
        RecordedJob {
            name: format!("a-{}", slot.as_second()),
            uid: uid.to_owned(),
            owner: "u".to_owned(),
            slot,
            created: observed.at,
            observed,
            end: None,
            is_deleted: false,
        }
    }
}

impl RecordedJobs {
    pub(super) fn count(&self) -> usize {
        self.by_uid.len()
    }

    /// The Jobs of each owner in the order in which they were created.
    pub(super) fn by_owner(&self) -> BTreeMap<&str, Vec<&RecordedJob>> {
        let mut owners: BTreeMap<&str, Vec<&RecordedJob>> = BTreeMap::new();
        for job in self.by_uid.values() {
            owners.entry(&job.owner).or_default().push(job);
        }
        for jobs in owners.values_mut() {
            jobs.sort_by_key(|job| job.observed.version);
        }
        owners
    }
}

impl WatchState for RecordedJobs {
    fn apply(&mut self, job: &Value, at: Timestamp) {
        let uid = uid(job);
        if !self.by_uid.contains_key(uid) {
            match RecordedJob::new(job, at) {
                Some(recorded) => drop(self.by_uid.insert(uid.to_owned(), recorded)),
                None => self.foreign.push(name(job).to_owned()),
            }
        }
        let Some(recorded) = self.by_uid.get_mut(uid) else { return };
        if let (None, Some(end)) = (recorded.end, result(job)) {
            recorded.end = Some((ObservedAt { version: version(job), at }, end));
        }
    }

    fn delete(&mut self, job: &Value, at: Timestamp) {
        // The last state may contain a result that was not observed before.
        self.apply(job, at);
        if let Some(recorded) = self.by_uid.get_mut(uid(job)) {
            recorded.mark_deleted(ObservedAt { version: version(job), at });
        }
    }

    fn replace(&mut self, jobs: &[Value], now: ObservedAt) {
        for job in jobs {
            self.apply(job, now.at);
        }
        let exists = |wanted: &str| jobs.iter().any(|job| uid(job) == wanted);
        for recorded in self.by_uid.values_mut().filter(|job| !job.is_deleted) {
            if !exists(&recorded.uid) {
                recorded.mark_deleted(now);
            }
        }
    }
}

impl LeaseTerms {
    /// How often the holder changed.
    pub(super) fn changes(&self) -> usize {
        self.0.len().saturating_sub(1)
    }
}

impl WatchState for LeaseTerms {
    fn apply(&mut self, lease: &Value, at: Timestamp) {
        let holder = text(lease, "/spec/holderIdentity");
        if self.0.last().is_none_or(|last| last.holder != holder) {
            self.0.push(LeaseTerm { holder: holder.to_owned(), from: at });
        }
    }

    fn delete(&mut self, _lease: &Value, at: Timestamp) {
        self.0.push(LeaseTerm { holder: String::new(), from: at });
    }

    fn replace(&mut self, leases: &[Value], now: ObservedAt) {
        for lease in leases {
            self.apply(lease, now.at);
        }
    }
}

#[cfg(test)]
mod tests;
