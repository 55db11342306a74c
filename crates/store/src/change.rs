//! [`StoreEntry`], the value of a key, and [`Change`], a change of it. Values are shared, never
//! copied.

use std::sync::Arc;

use bytes::Bytes;

use crate::archive::ArchiveOp;

/// The approximate memory that a change needs in addition to its key and values.
const OVERHEAD_BYTES: usize = 160;

/// The value of a key with its revisions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreEntry {
    /// The bytes. Clones share them.
    pub value: Bytes,
    /// The revision that created the key. A delete and a new create change it.
    pub created: u64,
    /// The revision that wrote this value.
    pub modified: u64,
}

/// One change of one key. All watches share it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The changed key.
    pub key: Arc<str>,
    /// The revision of the change.
    pub revision: u64,
    /// The new value; `None` after a delete.
    pub current: Option<StoreEntry>,
    /// The old value; `None` before a create.
    pub previous: Option<StoreEntry>,
    /// The archive operations of the transaction, if this is its first change. Empty in changes from
    /// before the store was opened.
    pub archive_ops: Arc<[ArchiveOp]>,
}

/// How a key changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// The key did not exist before.
    Created,
    /// The key had another value before.
    Updated,
    /// The key does not exist any more.
    Deleted,
}

impl Change {
    /// Returns how the key changed.
    pub fn kind(&self) -> ChangeKind {
        match (&self.current, &self.previous) {
            (None, _) => ChangeKind::Deleted,
            (Some(_), None) => ChangeKind::Created,
            (Some(_), Some(_)) => ChangeKind::Updated,
        }
    }

    /// Returns the approximate memory that the change keeps allocated.
    pub(crate) fn memory_bytes(&self) -> usize {
        let values = self.current.iter().chain(&self.previous).map(|entry| entry.value.len());
        let archived = self.archive_ops.iter().map(|op| OVERHEAD_BYTES / 2 + op.bytes());
        OVERHEAD_BYTES + self.key.len() + values.sum::<usize>() + archived.sum::<usize>()
    }

    /// Returns the rows of the log that are not needed after this change is compacted: the row of the
    /// value that it replaced, and its own row if it is a delete. So a row outlives every change that
    /// has it as previous value.
    pub(crate) fn superseded_rows(&self) -> impl Iterator<Item = u64> {
        let replaced = self.previous.as_ref().map(|entry| entry.modified);
        let delete = self.current.is_none().then_some(self.revision);
        replaced.into_iter().chain(delete)
    }
}
