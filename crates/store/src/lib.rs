//! A durable key-value store with revisions, snapshots and watches. Values are opaque bytes.
//!
//! ```text
//!  writers ──bounded channel──▶ committer thread ──one fsync per batch──▶ Log (redb)
//!                                      │
//!                    publishes the batch, then acknowledges the writers
//!                                      ▼
//!  readers ◀── Snapshot ── State (persistent map)      ChangeHistory ──▶ Watch
//! ```
//!
//! Every change gets the next revision; a revision is never assigned twice, not even after a crash.
//! A write is acknowledged only after it is on disk. Readers take the newest [`Snapshot`] and never
//! wait for writers. A [`Watch`] returns all changes after a revision without a gap. It reads them from
//! the shared change history: no changes are buffered for it, and a watch that falls behind the
//! history ends with an error.
//!
//! A transaction may also write to the [`Archive`]: ordered pairs that are on disk only, committed with
//! the other changes of the transaction.
//!
//! After a failed commit the contents of the disk are unknown, so the store rejects further writes.
//! Reads continue, and opening the store again recovers. Out of scope: names, kinds, JSON, clocks and
//! retries.
//!
//! ```
//! use punctual_store::{Op, Options, Store};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! let store = Store::open(directory.path().join("store"), Options::default())?;
//! let created = store.write_blocking(Op::create("/jobs/a", "first"))?;
//! assert_eq!(created.revision, 1);
//!
//! // Of two updates of the same revision one fails, and its error has the current value.
//! store.write_blocking(Op::update("/jobs/a", "second", 1))?;
//! let late = store.write_blocking(Op::update("/jobs/a", "other", 1)).unwrap_err();
//! let current = late.conflict().and_then(|conflict| conflict.current.clone());
//! assert_eq!(current.map(|entry| entry.modified), Some(2));
//!
//! // A list, and a watch of all changes after it.
//! let list = store.snapshot();
//! assert_eq!(list.prefix("/jobs/").count(), 1);
//! let mut watch = store.watch("/jobs/", list.revision())?;
//! store.write_blocking(Op::create("/jobs/b", "third"))?;
//! assert_eq!(watch.next_blocking()?.map(|change| change.revision), Some(3));
//! # Ok(())
//! # }
//! ```

mod archive;
mod backup;
mod batch_builder;
mod block_on;
mod change;
mod change_history;
mod codec;
mod commit_condition;
mod committer;
mod error;
mod file_location;
mod file_lock;
mod log;
mod notifier;
mod recovery;
mod redb_log;
mod repair;
mod salvage;
mod state;
mod store;
mod transaction;
mod watch;

pub use archive::{
    Archive, ArchiveContents, ArchiveOp, ArchiveRange, ArchiveReader, MemoryArchive,
};
pub use backup::{BackupChunks, BackupError, read_backup};
pub use change::{Change, ChangeKind, StoreEntry};
pub use codec::{CodecError, DecodedValue, ValueCodec};
pub use commit_condition::CommitCondition;
pub use error::Error;
pub use file_location::FileLocation;
pub use log::{CommitBatch, InMemoryLog, Log, LogContents, LogRow};
pub use redb_log::RedbLog;
pub use repair::{damaged_path, read_store, restore_backup, salvage_store};
pub use salvage::{Damage, LostRow, Salvage};
pub use state::Snapshot;
pub use store::{Options, PendingWrite, Store};
pub use transaction::{Committed, Conflict, Op, Precondition, Transaction, TransactionLimits};
pub use watch::Watch;
