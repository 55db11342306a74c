//! The slot ledger: the records of all slots, served as the read-only resource `slotrecords`.
//!
//! The controller writes new records to `status.slots` of a CronJob. The server leaves only the newest
//! record and those of active runs in the stored status, and moves the others into the store's archive in
//! the same commit ([`settle`]). So a record is always in exactly one of two places, and memory does not
//! grow with the number of slots. Lists merge both places ([`query`]); watches are derived from the
//! changes of CronJobs ([`watch`]). A record is immutable once it is archived.
//!
//! | file | contents |
//! |---|---|
//! | `identity` | what identifies a record, and its place in the order of lists |
//! | `keys`, `encoding` | the keys and the binary form of records in the archive |
//! | `owner` | the CronJob of a record, which may no longer exist |
//! | `retention` | deletes old records |

mod encoding;
mod identity;
mod keys;
mod live;
mod object;
mod owner;
mod page;
mod query;
mod retention;
mod scan;
mod settle;
mod watch;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use punctual_api::Status;
use punctual_store::{Archive, ArchiveOp, Error, Snapshot, Store};
use tokio::sync::Notify;

pub(crate) use self::identity::OwnerId;
use self::identity::RecordPosition;
use self::live::LiveIndex;
pub(crate) use self::page::SlotRecordPage;
pub(crate) use self::query::RecordQuery;
pub(crate) use self::retention::prune;
pub(crate) use self::settle::{settle_deletion, settle_namespace_deletion, settle_update};
pub(crate) use self::watch::SlotRecordWatch;

use crate::resource::{CRON_JOBS, Resource, SCHEDULED_JOBS, SLOT_RECORDS, ServedResource};

/// The kinds that have records.
pub(crate) const OWNER_RESOURCES: [&Resource; 2] = [&CRON_JOBS, &SCHEDULED_JOBS];

/// How long archived slot records are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LedgerLimits {
    /// The maximum age of a slot.
    pub age_max: Duration,
    /// The maximum number of archived records of a CronJob.
    pub records_max: usize,
}

impl Default for LedgerLimits {
    fn default() -> Self {
        Self { age_max: Duration::from_secs(90 * 24 * 60 * 60), records_max: 10_000 }
    }
}

/// The state of the ledger besides the store.
#[derive(Debug)]
pub(crate) struct Ledger {
    /// Changes up to this revision lack their archive operations, so watches cannot start before it.
    first_revision: u64,
    /// The CronJobs with newly archived records, which may have too many. `None` if all may have.
    grown: Mutex<Option<BTreeSet<OwnerId>>>,
    /// Notified when a namespace was deleted.
    namespace_deleted: Notify,
    live: Mutex<LiveIndex>,
}

impl Ledger {
    /// `revision` is that of the store when it was opened.
    pub(crate) fn new(revision: u64) -> Ledger {
        Ledger {
            first_revision: revision,
            grown: Mutex::new(None),
            namespace_deleted: Notify::new(),
            live: Mutex::default(),
        }
    }

    /// Returns a snapshot and the records in its statuses, oldest slot first, with the keys of their CronJobs.
    fn live_records(
        &self,
        store: &Store,
        namespace: Option<&str>,
        cron_job: Option<&str>,
    ) -> (Snapshot, Vec<(RecordPosition, Arc<str>)>) {
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        let snapshot = live.update(store);
        (snapshot, live.select(namespace, cron_job))
    }

    /// Notes which CronJob has newly archived records. Must be called after they were committed, because a
    /// check may begin at any time.
    pub(crate) fn record_growth(&self, owner: OwnerId) {
        let mut grown = self.grown.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(grown) = grown.as_mut() {
            grown.insert(owner);
        }
    }

    /// Makes the next check begin at once, because a namespace was deleted.
    pub(crate) fn note_namespace_deletion(&self) {
        self.namespace_deleted.notify_one();
    }

    /// Returns the CronJobs with newly archived records since the last call; `None` for all.
    fn take_grown(&self) -> Option<BTreeSet<OwnerId>> {
        let mut grown = self.grown.lock().unwrap_or_else(PoisonError::into_inner);
        grown.replace(BTreeSet::new())
    }

    /// Makes the next check include all CronJobs, after one that failed.
    fn forget_grown(&self) {
        *self.grown.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Returns the CronJob whose records these operations archive.
pub(crate) fn archived_owner(ops: &[ArchiveOp]) -> Option<OwnerId> {
    keys::written_owner(ops)
}

/// The resource as it is served.
fn served() -> ServedResource {
    ServedResource { resource: &SLOT_RECORDS, group_version: SLOT_RECORDS.storage_version() }
}

/// Reads the archive on a thread that may block, if it is in a file.
pub(crate) async fn run_blocking<T: Send + 'static>(
    archive: &Archive,
    read: impl FnOnce() -> Result<T, Status> + Send + 'static,
) -> Result<T, Status> {
    if !archive.is_file() {
        return read();
    }
    let result = tokio::task::spawn_blocking(read).await;
    result.unwrap_or_else(|_| Err(Status::internal("reading the slot ledger failed")))
}

/// Converts an error of the archive.
fn archive_error(error: &Error) -> Status {
    tracing::error!(%error, "the slot ledger cannot be read; stop the server and run `punctual check`");
    Status::internal(&format!("the slot ledger cannot be read: {error}"))
}
