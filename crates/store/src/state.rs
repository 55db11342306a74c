//! All keys at one revision, as a persistent map: a snapshot is a pointer, and a writer copies only
//! the nodes that it changes.

use std::{ops::Bound, sync::Arc};

use imbl::OrdMap;

use crate::change::{Change, Entry};

/// The current value of every key.
#[derive(Clone, Default)]
pub(crate) struct State {
    pub(crate) revision: u64,
    entries: OrdMap<Arc<str>, Entry>,
}

impl State {
    pub(crate) fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.get(key)
    }

    pub(crate) fn apply(&mut self, change: &Change) {
        self.revision = change.revision;
        match &change.current {
            Some(entry) => self.entries.insert(change.key.clone(), entry.clone()),
            None => self.entries.remove(&*change.key),
        };
    }

    /// Takes a change back, the newest first.
    pub(crate) fn take_back(&mut self, change: &Change) {
        self.revision = change.revision - 1;
        match &change.previous {
            Some(entry) => self.entries.insert(change.key.clone(), entry.clone()),
            None => self.entries.remove(&*change.key),
        };
    }
}

/// A consistent view of all keys at one revision. Cheap to take and to clone; holding one keeps
/// the values that it shows in memory.
#[derive(Clone)]
pub struct Snapshot {
    pub(crate) state: Arc<State>,
}

impl Snapshot {
    /// The revision of the newest change in the view.
    pub fn revision(&self) -> u64 {
        self.state.revision
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.state.entries.len()
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.state.entries.is_empty()
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.state.get(key)
    }

    /// The keys that begin with the prefix, in order.
    pub fn prefix<'a>(
        &'a self,
        prefix: &'a str,
    ) -> impl Iterator<Item = (&'a Arc<str>, &'a Entry)> {
        self.scan(Bound::Included(prefix), prefix)
    }

    /// The keys that begin with the prefix and come after a key, in order. A page is the first so
    /// many of them; the next page comes after its last key, which need not exist any more.
    pub fn prefix_after<'a>(
        &'a self,
        prefix: &'a str,
        after: &'a str,
    ) -> impl Iterator<Item = (&'a Arc<str>, &'a Entry)> {
        let start = match after < prefix {
            true => Bound::Included(prefix),
            false => Bound::Excluded(after),
        };
        self.scan(start, prefix)
    }

    fn scan<'a>(
        &'a self,
        start: Bound<&'a str>,
        prefix: &'a str,
    ) -> impl Iterator<Item = (&'a Arc<str>, &'a Entry)> {
        let rest = self.state.entries.range::<_, str>((start, Bound::Unbounded));
        rest.take_while(move |(key, _)| key.starts_with(prefix))
    }
}
