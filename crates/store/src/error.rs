//! The errors of the store. Their messages tell the operator what to do.

use std::{io, path::PathBuf, sync::Arc};

use crate::{codec::CodecError, transaction::Conflict};

/// An error of the store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Another process has locked the store. Stop that process or use another directory.
    #[error("{path} is in use by {}; stop it or use another data directory", format_process(.process))]
    Locked {
        /// The file of the store.
        path: PathBuf,
        /// The ID of the process that has the lock, if known.
        process: Option<u32>,
    },
    /// The file or its directory is not writable. Check the owner, the permissions and the mount.
    #[error("{path} cannot be written; check its owner, its permissions and how it is mounted")]
    ReadOnly {
        /// The file that is not writable.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
    /// The disk is full. Free some space and restart; no acknowledged write is lost.
    #[error("no space left for {path}; free some and restart (no acknowledged write is lost)")]
    DiskFull {
        /// The file that could not grow.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
    /// The file or its directory was deleted or replaced while the store was open. Nothing more is
    /// written. Put it back and restart.
    #[error("{path} was deleted or replaced while it was in use; put it back and restart")]
    Replaced {
        /// The file that is not at its path any more.
        path: PathBuf,
    },
    /// The file is corrupted, and none of it is served. Restore a backup or salvage the file.
    #[error("{path} is corrupted: {detail}; restore a backup, or salvage what is undamaged")]
    Corrupted {
        /// The corrupted file.
        path: PathBuf,
        /// What is wrong with the file.
        detail: String,
    },
    /// A newer version of the program wrote the file.
    #[error("{path} has format {found}, this program supports {supported}; use a newer program")]
    UnsupportedFormat {
        /// The file.
        path: PathBuf,
        /// The format of the file.
        found: u64,
        /// The format that this program reads and writes.
        supported: u64,
    },
    /// An operation on the file failed.
    #[error("could not {action} {path}")]
    Io {
        /// The operation, as a verb.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
    /// A stored value cannot be decoded, or a value cannot be encoded.
    #[error("{path}: {source}")]
    Codec {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: CodecError,
    },
    /// A precondition of the transaction failed, and the transaction changed nothing. Read the
    /// current value and decide again.
    #[error("{0}")]
    Conflict(Box<Conflict>),
    /// The condition of the transaction failed, or the changes that it needs are compacted. The transaction
    /// changed nothing. Read the current state and decide again.
    #[error("the condition of the transaction failed; read the current state and decide again")]
    ConditionFailed,
    /// The transaction exceeds the limits or uses a key twice. Correct the caller.
    #[error("the transaction is invalid: {0}")]
    InvalidTransaction(String),
    /// The queue of writes is full. Retry later, or call `write`, which waits.
    #[error("the queue of writes is full; retry later")]
    QueueFull,
    /// The commit of this write failed. After a restart the store has all of the write or nothing.
    #[error("the commit of this write failed and the write may be lost; restart to recover")]
    CommitFailed(#[source] Arc<Error>),
    /// An earlier commit failed, so this write was not attempted. Restart to recover.
    #[error("writes are rejected because a commit failed; restart to recover")]
    WritesStopped(#[source] Arc<Error>),
    /// The store was closed first.
    #[error("the store is closed")]
    Closed,
    /// The changes after this revision are compacted. List again and watch from there.
    #[error("the changes after revision {requested} are compacted up to {compacted}; list again")]
    Compacted {
        /// The requested revision.
        requested: u64,
        /// The oldest revision that can be requested.
        compacted: u64,
    },
    /// The revision is newer than the store: it is from another store or from before a restore.
    #[error("revision {requested} is newer than the store, which is at {revision}; list again")]
    FutureRevision {
        /// The requested revision.
        requested: u64,
        /// The revision of the store.
        revision: u64,
    },
}

fn format_process(process: &Option<u32>) -> String {
    process.map_or("another process".into(), |id| format!("process {id}"))
}

impl Error {
    /// Returns the failed precondition and the current value, if the error is a conflict.
    pub fn conflict(&self) -> Option<&Conflict> {
        match self {
            Self::Conflict(conflict) => Some(conflict),
            _ => None,
        }
    }
}
