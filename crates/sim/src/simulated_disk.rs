//! The disk of the server. Its content survives crashes, and it records every change that it stores.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use punctual_store::{
    Archive, Change, CommitBatch, Error, Log, LogContents, LogRow, MemoryArchive,
};
use punctual_testing::history::HistoryEvent;
use punctual_testing::scenario::{CrashPoint, Fault, Millis};
use tokio_util::sync::CancellationToken;

use crate::environment::SimulationEnv;

const JOBS: &str = "/jobs.batch/";
/// How long a server with a full disk answers at most.
const EXIT_AFTER_FAILURE: Millis = 1000;

/// A disk.
pub(crate) struct SimulatedDisk {
    env: Arc<SimulationEnv>,
    content: Mutex<DiskContent>,
    /// The number of commits in each fault window of the scenario.
    commits: Mutex<BTreeMap<usize, u32>>,
}

#[derive(Default)]
struct DiskContent {
    revision: u64,
    compacted: u64,
    rows: BTreeMap<u64, LogRow>,
    archive: MemoryArchive,
}

impl SimulatedDisk {
    pub(crate) fn new(env: Arc<SimulationEnv>) -> Arc<SimulatedDisk> {
        Arc::new(SimulatedDisk { env, content: Mutex::default(), commits: Mutex::default() })
    }

    /// The log for one start of the server. It fails once the server has crashed.
    pub(crate) fn log(self: &Arc<SimulatedDisk>, crashed: CancellationToken) -> Box<dyn Log> {
        Box::new(SimulatedLog { disk: self.clone(), crashed })
    }

    fn content(&self) -> MutexGuard<'_, DiskContent> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn store(&self, batch: &CommitBatch<'_>) {
        let mut content = self.content();
        for change in batch.changes {
            let Change { key, revision, current, .. } = &**change;
            let row = LogRow { revision: *revision, key: key.clone(), current: current.clone() };
            content.rows.insert(*revision, row);
            let value = current.as_ref().map(|entry| entry.value.clone());
            let key = key.clone();
            self.env.record(HistoryEvent::Written { revision: *revision, key, value });
        }
        for revision in batch.dropped {
            content.rows.remove(revision);
        }
        content.archive.apply(batch.archive_ops);
        content.revision = batch.revision;
        content.compacted = batch.compacted;
    }

    /// The fault of this commit, if it has one.
    fn commit_fault(&self, batch: &CommitBatch<'_>) -> Option<Fault> {
        let now = self.env.now();
        let is_create = batch.changes.iter().any(|change| is_new_job(change));
        let mut commits = self.commits.lock().unwrap_or_else(PoisonError::into_inner);
        for (index, window) in self.env.scenario.faults.iter().enumerate() {
            let skipped = match window.fault {
                Fault::CrashServer(count, crash_point) if crash_point.counts(is_create) => count,
                Fault::DiskFull => 0,
                _ => continue,
            };
            if window.contains(now) {
                let count = commits.entry(index).or_default();
                *count += 1;
                if *count > skipped {
                    return Some(window.fault.clone());
                }
            }
        }
        None
    }
}

fn is_new_job(change: &Change) -> bool {
    change.previous.is_none() && change.key.starts_with(JOBS)
}

struct SimulatedLog {
    disk: Arc<SimulatedDisk>,
    /// Cancelled when the server that writes here crashes.
    crashed: CancellationToken,
}

impl SimulatedLog {
    /// Ends the server soon: it notices the failure of its store, and answers until then.
    fn end_soon(&self) {
        let env = self.disk.env.clone();
        let crashed = self.crashed.clone();
        let at = env.now() + env.random.between(0, EXIT_AFTER_FAILURE);
        tokio::spawn(async move {
            env.sleep_until(at).await;
            crashed.cancel();
        });
    }

    fn disk_full(&self) -> Error {
        let source = io::Error::from(io::ErrorKind::StorageFull);
        Error::DiskFull { path: self.path().into(), source }
    }
}

impl Log for SimulatedLog {
    fn path(&self) -> &Path {
        Path::new("/the/simulated/disk")
    }

    fn load(&mut self) -> Result<LogContents, Error> {
        let content = self.disk.content();
        let rows = content.rows.values().cloned().collect();
        Ok(LogContents { revision: content.revision, compacted: content.compacted, rows })
    }

    fn commit(&mut self, batch: &CommitBatch<'_>) -> Result<(), Error> {
        if self.crashed.is_cancelled() {
            return Err(self.disk_full());
        }
        let fault = self.disk.commit_fault(batch);
        if !matches!(fault, Some(Fault::CrashServer(_, CrashPoint::Before) | Fault::DiskFull)) {
            self.disk.store(batch);
        }
        match fault {
            None => Ok(()),
            Some(Fault::DiskFull) => {
                self.end_soon();
                Err(self.disk_full())
            }
            Some(_) => {
                self.crashed.cancel();
                Err(self.disk_full())
            }
        }
    }

    fn archive(&self) -> Option<Archive> {
        Some(self.disk.content().archive.clone().into())
    }

    fn shrink(&mut self) -> Result<(), Error> {
        Ok(())
    }
}
