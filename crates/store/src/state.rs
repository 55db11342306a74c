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
    /// The number of keys by their first segment.
    counts: OrdMap<Arc<str>, usize>,
}

impl State {
    pub(crate) fn get(&self, key: &str) -> Option<&StoreEntry> {
        self.entries.get(key)
    }

    pub(crate) fn apply(&mut self, change: &Change) {
        self.revision = change.revision;
        self.set(&change.key, change.current.as_ref());
    }

    /// Undoes a change. Changes must be undone newest first.
    pub(crate) fn undo(&mut self, change: &Change) {
        self.revision = change.revision - 1;
        self.set(&change.key, change.previous.as_ref());
    }

    /// Sets or removes the value of a key.
    fn set(&mut self, key: &Arc<str>, entry: Option<&StoreEntry>) {
        let previous = match entry {
            Some(entry) => self.entries.insert(key.clone(), entry.clone()),
            None => self.entries.remove(&**key),
        };
        let segment = first_segment(key);
        let count = self.counts.get(segment).copied().unwrap_or_default();
        if previous.is_none() && entry.is_some() {
            self.counts.insert(segment.into(), count + 1);
        } else if previous.is_some() && entry.is_none() {
            self.counts.insert(segment.into(), count.saturating_sub(1));
        }
    }
}

/// Returns the first segment of a key, such as `pods` of `/pods/default/a`.
fn first_segment(key: &str) -> &str {
    key.split('/').nth(1).unwrap_or_default()
}

/// A consistent view of all keys at one revision. Creating and cloning it is cheap. It keeps its
/// values in memory.
#[derive(Clone)]
pub struct Snapshot {
    pub(crate) state: Arc<State>,
}

impl Snapshot {
    pub(crate) fn from_entries(revision: u64, entries: &[(Arc<str>, StoreEntry)]) -> Self {
        let mut state = State { revision, ..State::default() };
        for (key, entry) in entries {
            state.set(key, Some(entry));
        }
        Self { state: Arc::new(state) }
    }

    /// The revision of the newest change in the snapshot.
    pub fn revision(&self) -> u64 {
        self.state.revision
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.state.entries.len()
    }

    /// The number of keys with this first segment, such as `pods` of `/pods/default/a`.
    pub fn segment_len(&self, segment: &str) -> usize {
        self.state.counts.get(segment).copied().unwrap_or_default()
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
