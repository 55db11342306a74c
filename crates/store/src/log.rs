//! The durable part behind the store, as a trait: a log of rows, one for every change that is still
//! needed.
//!
//! Applying the rows in the order of their revisions gives the state: the newest row of every key
//! is kept, and so are the rows of all changes after `compacted` and the values those replaced.
//! Nothing else is, so what the disk holds is bounded by the state and the ring.

use std::{path::Path, sync::Arc};

use crate::{
    Error,
    change::{Change, Entry},
};

/// A change as the log keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The revision of the change, the key of the row.
    pub revision: u64,
    /// The changed key.
    pub key: Arc<str>,
    /// What the change wrote, if it was not a delete.
    pub current: Option<Entry>,
}

/// Everything that a log holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// The newest revision that was ever given.
    pub revision: u64,
    /// All changes after this revision are there.
    pub compacted: u64,
    /// The rows in the order of their revisions.
    pub rows: Vec<Row>,
}

/// What is made durable at once.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// The new changes in the order of their revisions.
    pub changes: &'a [Arc<Change>],
    /// The revisions of rows that are no longer needed.
    pub dropped: &'a [u64],
    /// The newest revision after the batch.
    pub revision: u64,
    /// The changes up to here are forgotten after the batch.
    pub compacted: u64,
}

/// A durable log. One thread owns it; it is loaded once, and not used again after it has failed.
pub trait Log: Send {
    /// Where the log is, for the people who read an error.
    fn path(&self) -> &Path;

    /// Everything that was committed.
    fn load(&mut self) -> Result<Loaded, Error>;

    /// Makes the batch durable, all of it or nothing. Returning means that it is on the disk.
    fn commit(&mut self, batch: &Batch<'_>) -> Result<(), Error>;

    /// Gives unused space back to the system. May take a while.
    fn shrink(&mut self) -> Result<(), Error>;
}

/// A log that keeps nothing, for a store that may forget when it ends: its own memory is enough.
#[derive(Clone, Copy, Debug, Default)]
pub struct Forgetful;

impl Log for Forgetful {
    fn path(&self) -> &Path {
        Path::new("nowhere")
    }

    fn load(&mut self) -> Result<Loaded, Error> {
        Ok(Loaded::default())
    }

    fn commit(&mut self, _: &Batch<'_>) -> Result<(), Error> {
        Ok(())
    }

    fn shrink(&mut self) -> Result<(), Error> {
        Ok(())
    }
}
