//! What is kept under a key, and what happened to it. Values are shared, never copied.

use std::sync::Arc;

use bytes::Bytes;

/// What the bookkeeping of one change takes in memory beside its key and values, roughly.
const OVERHEAD_BYTES: usize = 160;

/// The value of a key and the revisions it came with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The bytes. Cloning shares them.
    pub value: Bytes,
    /// The revision that created the key, anew after each delete.
    pub created: u64,
    /// The revision that wrote this value.
    pub modified: u64,
}

/// One change of one key. Shared by everyone who watches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The changed key.
    pub key: Arc<str>,
    /// The revision of the change.
    pub revision: u64,
    /// What is there now; none after a delete.
    pub current: Option<Entry>,
    /// What was there before; none before a create.
    pub previous: Option<Entry>,
}

/// How a key changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// There was nothing before.
    Created,
    /// There was another value before.
    Updated,
    /// There is nothing now.
    Deleted,
}

impl Change {
    /// How the key changed.
    pub fn kind(&self) -> ChangeKind {
        match (&self.current, &self.previous) {
            (None, _) => ChangeKind::Deleted,
            (Some(_), None) => ChangeKind::Created,
            (Some(_), Some(_)) => ChangeKind::Updated,
        }
    }

    /// What the change keeps alive in memory, roughly.
    pub(crate) fn weight(&self) -> usize {
        let values = self.current.iter().chain(&self.previous).map(|entry| entry.value.len());
        OVERHEAD_BYTES + self.key.len() + values.sum::<usize>()
    }

    /// The rows of the log that nobody needs once this change is history: the value it replaced,
    /// and the mark of a delete. A row therefore outlives every change that shows it as previous.
    pub(crate) fn superseded(&self) -> impl Iterator<Item = u64> {
        let mark = self.current.is_none().then_some(self.revision);
        self.previous.as_ref().map(|entry| entry.modified).into_iter().chain(mark)
    }
}
