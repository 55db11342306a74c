//! Counts objects by collection, incrementally from the changes of the store.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use punctual_api::pod::status::phase;
use punctual_api::quota::CountedObjects;
use punctual_store::{Change, Snapshot, Store, StoreEntry};
use serde::Deserialize;

use super::counted_prefix;
use crate::registry::resource_prefix;
use crate::resource::PODS;

/// How many objects a collection has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ObjectCount {
    all: i64,
    finished_pods: i64,
}

impl ObjectCount {
    /// Counts one object, or nothing if there is no entry.
    fn count_one(key: &str, entry: Option<&StoreEntry>) -> ObjectCount {
        let Some(entry) = entry else { return ObjectCount::default() };
        let is_finished = key.starts_with(&resource_prefix(&PODS)) && is_finished_pod(entry);
        ObjectCount { all: 1, finished_pods: i64::from(is_finished) }
    }

    /// Returns the difference that a change makes.
    pub(super) fn difference(change: &Change) -> ObjectCount {
        let current = ObjectCount::count_one(&change.key, change.current.as_ref());
        let previous = ObjectCount::count_one(&change.key, change.previous.as_ref());
        ObjectCount {
            all: current.all - previous.all,
            finished_pods: current.finished_pods - previous.finished_pods,
        }
    }

    pub(super) fn add(&mut self, other: ObjectCount) {
        self.all += other.all;
        self.finished_pods += other.finished_pods;
    }

    /// Returns how many of the objects a quota counts.
    pub(super) fn used(&self, counted: CountedObjects) -> i64 {
        if counted.excludes_finished { self.all - self.finished_pods } else { self.all }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PodWithPhase<'a> {
    #[serde(borrow)]
    status: StatusWithPhase<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct StatusWithPhase<'a> {
    phase: &'a str,
}

fn is_finished_pod(entry: &StoreEntry) -> bool {
    let pod: PodWithPhase<'_> = serde_json::from_slice(&entry.value).unwrap_or_default();
    [phase::SUCCEEDED, phase::FAILED].contains(&pod.status.phase)
}

/// The counts of all collections at a revision.
#[derive(Debug)]
pub(super) struct UsageCounts {
    pub(super) revision: u64,
    /// By the common prefix of the store keys of a collection.
    by_collection: HashMap<String, ObjectCount>,
}

impl UsageCounts {
    fn from_snapshot(snapshot: &Snapshot) -> UsageCounts {
        let mut counts =
            UsageCounts { revision: snapshot.revision(), by_collection: HashMap::new() };
        for (key, entry) in snapshot.prefix("/") {
            counts.add(key, ObjectCount::count_one(key, Some(entry)));
        }
        counts
    }

    /// Applies the changes since the last call, or counts again if they are compacted.
    fn advance(&mut self, store: &Store) {
        match store.changes_since(self.revision) {
            Ok((changes, revision)) => {
                for change in &changes {
                    self.add(&change.key, ObjectCount::difference(change));
                }
                self.revision = revision;
            }
            Err(_) => *self = UsageCounts::from_snapshot(&store.snapshot()),
        }
    }

    fn add(&mut self, key: &str, difference: ObjectCount) {
        if difference == ObjectCount::default() {
            return;
        }
        let collection = collection_of(key);
        let count = self.by_collection.entry(collection.to_owned()).or_default();
        count.add(difference);
        if *count == ObjectCount::default() {
            self.by_collection.remove(collection);
        }
    }

    /// Returns how many objects of a namespace a quota counts.
    pub(super) fn used(&self, counted: CountedObjects, namespace: &str) -> i64 {
        let count = self.by_collection.get(&counted_prefix(counted, namespace));
        count.copied().unwrap_or_default().used(counted)
    }
}

/// Returns the part of a store key up to the name of the object.
fn collection_of(key: &str) -> &str {
    key.rfind('/').and_then(|end| key.get(..=end)).unwrap_or_default()
}

/// Counts objects when a quota needs it. Counts all objects once, and then only changes.
#[derive(Debug, Default)]
pub(crate) struct UsageTracker {
    counts: Mutex<Option<UsageCounts>>,
}

impl UsageTracker {
    /// Brings the counts up to date and reads them.
    pub(super) fn read<T>(&self, store: &Store, read: impl FnOnce(&UsageCounts) -> T) -> T {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = counts.get_or_insert_with(|| UsageCounts::from_snapshot(&store.snapshot()));
        counts.advance(store);
        read(counts)
    }
}

#[cfg(test)]
mod tests {
    use punctual_store::{InMemoryLog, Op, Options, Precondition};

    use super::*;

    fn store() -> Store {
        let options = Options { history_changes_max: 4, ..Options::default() };
        Store::start(Box::new(InMemoryLog), options).unwrap()
    }

    fn put(store: &Store, key: &str, phase: &str) {
        let value = format!(r#"{{"spec":{{"phase":"Failed"}},"status":{{"phase":"{phase}"}}}}"#);
        store.write_blocking(Op::put(key, value, Precondition::Any)).unwrap();
    }

    fn used(tracker: &UsageTracker, store: &Store, key: &str) -> i64 {
        let counted = CountedObjects::parse(key).unwrap();
        tracker.read(store, |counts| counts.used(counted, "n"))
    }

    #[test]
    fn counts_follow_creates_updates_and_deletes() {
        let store = store();
        put(&store, "/pods/n/old", "Succeeded");
        let tracker = UsageTracker::default();
        assert_eq!((used(&tracker, &store, "pods"), used(&tracker, &store, "count/pods")), (0, 1));
        put(&store, "/pods/n/a", "Pending");
        put(&store, "/pods/other/a", "Pending");
        put(&store, "/jobs.batch/n/a", "Failed");
        assert_eq!((used(&tracker, &store, "pods"), used(&tracker, &store, "count/pods")), (1, 2));
        assert_eq!(used(&tracker, &store, "count/jobs.batch"), 1);
        put(&store, "/pods/n/a", "Failed");
        assert_eq!((used(&tracker, &store, "pods"), used(&tracker, &store, "count/pods")), (0, 2));
        store.write_blocking(Op::delete("/pods/n/a", Precondition::Any)).unwrap();
        assert_eq!((used(&tracker, &store, "pods"), used(&tracker, &store, "count/pods")), (0, 1));
    }

    #[test]
    fn counts_are_correct_after_the_changes_were_compacted() {
        let store = store();
        let tracker = UsageTracker::default();
        assert_eq!(used(&tracker, &store, "count/jobs.batch"), 0);
        for at in 0..20 {
            put(&store, &format!("/jobs.batch/n/{at}"), "");
        }
        assert_eq!(used(&tracker, &store, "count/jobs.batch"), 20);
    }
}
