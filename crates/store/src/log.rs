//! The durable log behind the store, as a trait.
//!
//! The log has one row for every change that is still needed. Applying the rows in the order of their
//! revisions restores the state. A log keeps the newest row of every key, the rows of all changes
//! after the compacted revision, and the previous row of each key that changed there, because a watch
//! event needs the old value. So its size is bounded by the state and the change history.

use std::{path::Path, sync::Arc};

use crate::{
    Archive, Error, FileLocation,
    archive::ArchiveOp,
    change::{Change, StoreEntry},
};

/// A change in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRow {
    /// The revision of the change, which is the key of the row.
    pub revision: u64,
    /// The changed key.
    pub key: Arc<str>,
    /// The written value; `None` for a delete.
    pub current: Option<StoreEntry>,
}

/// The contents of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogContents {
    /// The newest revision that was ever assigned.
    pub revision: u64,
    /// The log has all changes after this revision.
    pub compacted: u64,
    /// The rows in the order of their revisions.
    pub rows: Vec<LogRow>,
}

/// The changes of one commit.
#[derive(Clone, Copy, Debug)]
pub struct CommitBatch<'a> {
    /// The new changes in the order of their revisions.
    pub changes: &'a [Arc<Change>],
    /// The revisions of rows that are no longer needed.
    pub dropped: &'a [u64],
    /// The newest revision after the commit.
    pub revision: u64,
    /// The changes up to this revision are compacted after the commit.
    pub compacted: u64,
    /// The operations on the archive, in their order.
    pub archive_ops: &'a [ArchiveOp],
}

/// A durable log. The committer thread owns it, loads it once, and does not use it again after an
/// error.
pub trait Log: Send {
    /// The path of the log, for error messages.
    fn path(&self) -> &Path;

    /// Reads everything that was committed.
    fn load(&mut self) -> Result<LogContents, Error>;

    /// Writes the batch atomically. The batch must be on disk when this returns `Ok`.
    fn commit(&mut self, batch: &CommitBatch<'_>) -> Result<(), Error>;

    /// Returns unused space to the file system. May take long.
    fn shrink(&mut self) -> Result<(), Error>;

    /// Returns the archive that [`Log::commit`] writes. Without one, the store keeps the archive in memory
    /// until it is closed.
    fn archive(&self) -> Option<Archive> {
        None
    }

    /// Returns the files that must stay at their paths while the log is used.
    fn locations(&self) -> &[FileLocation] {
        &[]
    }
}

/// A log that stores nothing, for a store that lives only in memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct InMemoryLog;

impl Log for InMemoryLog {
    fn path(&self) -> &Path {
        Path::new("memory")
    }

    fn load(&mut self) -> Result<LogContents, Error> {
        Ok(LogContents::default())
    }

    fn commit(&mut self, _: &CommitBatch<'_>) -> Result<(), Error> {
        Ok(())
    }

    fn shrink(&mut self) -> Result<(), Error> {
        Ok(())
    }
}
