//! Revisioned keys to bytes: durable, consistent, watchable. Knows nothing of what it keeps.
//!
//! ```text
//!  writers ──bounded channel──▶ committer thread ──one fsync a batch──▶ Log (redb)
//!                                      │
//!                      publishes, then answers the writers
//!                                      ▼
//!  readers ◀── Snapshot ── State (persistent map)      Ring (recent changes) ──▶ Watch
//! ```
//!
//! Every change takes the next revision; a revision is never given twice, not even after a crash.
//! A write is answered only after it is on the disk. Readers take the newest [`Snapshot`] and never
//! wait for writers. A [`Watch`] yields a gap-free run of the changes after a revision, straight out
//! of the shared ring: nothing is buffered for it, and one that falls behind the ring ends.
//!
//! After a commit has failed nobody knows what the disk holds, so the store takes no more writes;
//! reads go on, and opening the store again recovers. Deliberately not here: names, kinds, JSON,
//! clocks and retries.
//!
//! ```
//! use punctual_store::{Op, Options, Store};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! let store = Store::open(folder.path().join("store"), Options::default())?;
//! let created = store.write_blocking(Op::create("/jobs/a", "first"))?;
//! assert_eq!(created.revision, 1);
//!
//! // Of two writers who saw the same revision, one is told what the other wrote.
//! store.write_blocking(Op::update("/jobs/a", "second", 1))?;
//! let late = store.write_blocking(Op::update("/jobs/a", "other", 1)).unwrap_err();
//! let current = late.conflict().and_then(|conflict| conflict.current.clone());
//! assert_eq!(current.map(|entry| entry.modified), Some(2));
//!
//! // A list, and everything after it.
//! let list = store.snapshot();
//! assert_eq!(list.prefix("/jobs/").count(), 1);
//! let mut watch = store.watch("/jobs/", list.revision())?;
//! store.write_blocking(Op::create("/jobs/b", "third"))?;
//! assert_eq!(watch.next_blocking()?.map(|change| change.revision), Some(3));
//! # Ok(())
//! # }
//! ```

mod blocking;
mod change;
mod committer;
mod draft;
mod error;
mod lock;
mod log;
mod news;
mod recovery;
mod redb_log;
mod ring;
mod state;
mod store;
mod transaction;
mod watch;

pub use change::{Change, ChangeKind, Entry};
pub use error::Error;
pub use log::{Batch, Forgetful, Loaded, Log, Row};
pub use redb_log::RedbLog;
pub use state::Snapshot;
pub use store::{Options, Pending, Store};
pub use transaction::{Committed, Condition, Conflict, Limits, Op, Transaction};
pub use watch::Watch;
