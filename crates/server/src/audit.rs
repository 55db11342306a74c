//! The audit log: one JSON line per request. Bodies and tokens are never written.
//!
//! No client can erase the log by a flood of requests. Requests without valid credentials have a file
//! of their own. The reads and the refused requests of a user are recorded up to a rate, and writes
//! always. Every field is bounded. What is left out is counted.

mod file;
mod record;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use tokio::time::Instant;

use self::file::{AuditFile, Rotation};
pub(crate) use self::record::{AuditRecord, Decision, RequestOrigin};
use crate::limits::TokenBucket;

/// Which requests are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditLevel {
    /// Requests of clients that change something, or that are refused.
    Writes,
    /// All requests of clients except health checks.
    Requests,
    /// All requests, including health checks and those of this process.
    All,
}

/// Maximum number of records that wait to be written.
const QUEUE_MAX: usize = 4096;
/// The rotation of the log.
const ROTATION: Rotation = Rotation { file_bytes_max: 32 << 20, files_max: 8 };
/// The rotation of the log of requests without valid credentials.
const UNAUTHENTICATED_ROTATION: Rotation = Rotation { file_bytes_max: 8 << 20, files_max: 2 };
/// How many reads and refused requests of a user are recorded per second, and at once.
const RATE_PER_USER: f64 = 100.0;
const BURST_PER_USER: f64 = 1_000.0;
/// Above this number of users those who have made no request lately are forgotten.
const USERS_MAX: usize = 1_000;

/// The label of a record that was not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct DropReason {
    reason: &'static str,
}

/// The number of records that were not written, by reason.
pub(crate) type DroppedRecords = Family<DropReason, Counter>;

/// An audit log, written by background threads. Clones share it.
#[derive(Clone)]
pub struct AuditLog {
    writer: Option<Arc<AuditWriter>>,
    dropped: DroppedRecords,
}

struct AuditWriter {
    level: AuditLevel,
    authenticated: SyncSender<AuditRecord>,
    unauthenticated: SyncSender<AuditRecord>,
    rates: Mutex<HashMap<String, TokenBucket>>,
}

impl AuditLog {
    /// Returns a log that discards all records.
    pub fn none() -> AuditLog {
        AuditLog { writer: None, dropped: Family::default() }
    }

    /// Opens a log file, which is rotated by size. Requests without valid credentials are written to
    /// a second file next to it, whose name has the suffix `-unauthenticated`.
    pub fn to_file(path: &Path, level: AuditLevel) -> std::io::Result<AuditLog> {
        let dropped = DroppedRecords::default();
        for reason in ["rate", "queue", "error"] {
            // A counter that exists from the start can be observed when it first increases.
            drop(dropped.get_or_create(&DropReason { reason }));
        }
        let writer = AuditWriter {
            level,
            authenticated: start_thread(path, ROTATION, &dropped)?,
            unauthenticated: start_thread(
                &unauthenticated_path(path),
                UNAUTHENTICATED_ROTATION,
                &dropped,
            )?,
            rates: Mutex::default(),
        };
        Ok(AuditLog { writer: Some(Arc::new(writer)), dropped })
    }

    /// Returns the number of records that were not written.
    pub(crate) fn dropped(&self) -> DroppedRecords {
        self.dropped.clone()
    }

    /// Queues a record if the level includes it. Requests never wait for the disk: if the queue is
    /// full, the record is counted and lost.
    pub(crate) fn record(&self, record: AuditRecord) {
        let Some(writer) = &self.writer else { return };
        if !record.is_included(writer.level) {
            return;
        }
        if !record.is_change() && !writer.is_within_rate(&record, Instant::now()) {
            count(&self.dropped, "rate");
            return;
        }
        let queue =
            if record.is_authenticated { &writer.authenticated } else { &writer.unauthenticated };
        if let Err(TrySendError::Full(_)) = queue.try_send(record.bounded()) {
            count(&self.dropped, "queue");
        }
    }
}

fn count(dropped: &DroppedRecords, reason: &'static str) {
    dropped.get_or_create(&DropReason { reason }).inc();
}

fn start_thread(
    path: &Path,
    rotation: Rotation,
    dropped: &DroppedRecords,
) -> std::io::Result<SyncSender<AuditRecord>> {
    let file = AuditFile::open(path.to_owned(), rotation).map_err(|error| {
        std::io::Error::new(error.kind(), format!("{}: {error}", path.display()))
    })?;
    let (queue, records) = sync_channel(QUEUE_MAX);
    let dropped = dropped.clone();
    let run = move || file.run(&records, &|| count(&dropped, "error"));
    thread::Builder::new().name("audit".to_owned()).spawn(run)?;
    Ok(queue)
}

/// Returns `audit-unauthenticated.log` for `audit.log`.
fn unauthenticated_path(path: &Path) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push("-unauthenticated");
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

impl AuditWriter {
    /// Whether a record is within the rate of its user.
    fn is_within_rate(&self, record: &AuditRecord, now: Instant) -> bool {
        let mut rates = self.rates.lock().unwrap_or_else(PoisonError::into_inner);
        if rates.len() >= USERS_MAX {
            rates.retain(|_, bucket| !bucket.is_full(now));
        }
        let user = if record.is_authenticated { record.user.as_str() } else { "" };
        if let Some(bucket) = rates.get_mut(user) {
            return bucket.try_take(now);
        }
        let mut bucket = TokenBucket::with_burst(RATE_PER_USER, BURST_PER_USER);
        let is_within_rate = bucket.try_take(now);
        rates.insert(user.to_owned(), bucket);
        is_within_rate
    }
}

#[cfg(test)]
mod tests;
