//! What can go wrong, in words for the people who have to do something about it.

use std::{io, path::PathBuf, sync::Arc};

use crate::transaction::Conflict;

/// Everything that can go wrong with the store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Another process has the store. Stop that one, or choose another folder.
    #[error("{path} is in use by {}; stop it or use another data folder", holder(.process))]
    Locked {
        /// The file that is held.
        path: PathBuf,
        /// The process that holds it, if it could be read.
        process: Option<u32>,
    },
    /// The file or its folder may not be written. Check owner, permissions and mount.
    #[error("{path} cannot be written; check its owner, its permissions and how it is mounted")]
    ReadOnly {
        /// The file that cannot be written.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The disk is full. Free some space, then start again; nothing acknowledged is lost.
    #[error("no space left for {path}; free some and start again (nothing acknowledged is lost)")]
    DiskFull {
        /// The file that could not grow.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The file is not what was written, and nothing of it is served. Restore it from a backup.
    #[error("{path} is damaged: {detail}; restore it from a backup")]
    Damaged {
        /// The damaged file.
        path: PathBuf,
        /// What does not fit.
        detail: String,
    },
    /// The file was written by a version of the program that this one does not understand.
    #[error("{path} has format {found}, this program knows {known}; use a newer program")]
    Format {
        /// The file.
        path: PathBuf,
        /// The format of the file.
        found: u64,
        /// The format this program reads and writes.
        known: u64,
    },
    /// The system failed to do something to the file.
    #[error("could not {doing} {path}")]
    Io {
        /// The verb of what was tried.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A condition of the transaction does not hold, and nothing of it was done. Look at the
    /// current value and decide again.
    #[error("{0}")]
    Conflict(Box<Conflict>),
    /// The transaction can never be done as it is. Correct the caller.
    #[error("the transaction is not valid: {0}")]
    Invalid(String),
    /// More writes are waiting than the store takes. Try later, or wait in `write`.
    #[error("too many writes are waiting; try again later")]
    Busy,
    /// The commit of this very write failed: after a restart it is there as a whole or not at all.
    #[error("the write may be lost, its commit failed; restart to recover")]
    CommitFailed(#[source] Arc<Error>),
    /// An earlier commit failed, so this write was not tried. Restart to recover.
    #[error("no writes are taken since a commit failed; restart to recover")]
    Stopped(#[source] Arc<Error>),
    /// The store was closed before this could be done.
    #[error("the store is closed")]
    Closed,
    /// The changes after this revision are forgotten. List again, then watch from there.
    #[error("the changes after revision {requested} are forgotten up to {compacted}; list again")]
    Compacted {
        /// The revision that was asked for.
        requested: u64,
        /// The oldest revision that can be asked for.
        compacted: u64,
    },
    /// The revision is ahead of the store: it comes from another one, or from before a restore.
    #[error("revision {requested} is ahead of the store, which is at {revision}; list again")]
    Future {
        /// The revision that was asked for.
        requested: u64,
        /// The revision of the store.
        revision: u64,
    },
}

fn holder(process: &Option<u32>) -> String {
    process.map_or("another process".into(), |id| format!("process {id}"))
}

impl Error {
    /// The current state that a failed condition met, if that is what went wrong.
    pub fn conflict(&self) -> Option<&Conflict> {
        match self {
            Self::Conflict(conflict) => Some(conflict),
            _ => None,
        }
    }
}
