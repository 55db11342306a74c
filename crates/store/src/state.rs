//! All keys at one revision, in a persistent map: a snapshot is a pointer, and a writer copies only
//! the nodes that it changes.

use std::{ops::Bound, sync::Arc};

use imbl::OrdMap;

use crate::change::{Change, StoreEntry};

/// The current value of every key.
#[derive(Clone, Default)]
pub(crate) struct State {
    pub(crate) revision: u64,
    entries: OrdMap<Arc<str>, StoreEntry>,
}

impl State {
    pub(crate) fn get(&self, key: &str) -> Option<&StoreEntry> {
        self.entries.get(key)
    }

    pub(crate) fn apply(&mut self, change: &Change) {
        self.revision = change.revision;
        match &change.current {
            Some(entry) => self.entries.insert(change.key.clone(), entry.clone()),
            None => self.entries.remove(&*change.key),
        };
    }

    /// Undoes a change. Changes must be undone newest first.
    pub(crate) fn undo(&mut self, change: &Change) {
        self.revision = change.revision - 1;
        match &change.previous {
            Some(entry) => self.entries.insert(change.key.clone(), entry.clone()),
            None => self.entries.remove(&*change.key),
        };
    }
}

/// A consistent view of all keys at one revision. Creating and cloning it is cheap. It keeps its
/// values in memory.
#[derive(Clone)]
pub struct Snapshot {
    pub(crate) state: Arc<State>,
}

impl Snapshot {
    /// The revision of the newest change in the snapshot.
    pub fn revision(&self) -> u64 {
        self.state.revision
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.state.entries.len()
    }

    /// Whether the snapshot has no keys.
    pub fn is_empty(&self) -> bool {
        self.state.entries.is_empty()
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<&StoreEntry> {
        self.state.get(key)
    }

    /// Returns the keys with a prefix, in order.
    pub fn prefix<'a>(
        &'a self,
        prefix: &'a str,
    ) -> impl Iterator<Item = (&'a Arc<str>, &'a StoreEntry)> {
        self.scan(Bound::Included(prefix), prefix)
    }

    /// Returns the keys with a prefix after the key `after`, in order. For pages, take the first keys
    /// and continue after the last one, which need not exist any more.
    pub fn prefix_after<'a>(
        &'a self,
        prefix: &'a str,
        after: &'a str,
    ) -> impl Iterator<Item = (&'a Arc<str>, &'a StoreEntry)> {
        if after < prefix {
            self.scan(Bound::Included(prefix), prefix)
        } else {
            self.scan(Bound::Excluded(after), prefix)
        }
    }

    fn scan<'a>(
        &'a self,
        start: Bound<&'a str>,
        prefix: &'a str,
    ) -> impl Iterator<Item = (&'a Arc<str>, &'a StoreEntry)> {
        let following = self.state.entries.range::<_, str>((start, Bound::Unbounded));
        following.take_while(move |(key, _)| key.starts_with(prefix))
    }
}
