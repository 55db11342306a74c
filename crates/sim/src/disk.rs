//! The disk: what it took stays, whoever dies. Every change that it takes is written down, so this is
//! the witness of what was.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use punctual_store::{Batch, Change, Error, Loaded, Log, Row};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::history::Happened;
use crate::scenario::{Fault, Millis, Moment};
use crate::stage::Stage;

const PODS: &str = "/pods/";
const JOBS: &str = "/jobs.batch/";
/// How long a server answers at most whose disk takes nothing.
const FOUND_OUT_AFTER: Millis = 1000;

/// A disk.
pub(crate) struct Disk {
    stage: Arc<Stage>,
    content: Mutex<Content>,
    /// How often the disk was written to in each trouble of the scenario.
    commits: Mutex<BTreeMap<usize, u32>>,
    /// Tells the node about Pods.
    pods: mpsc::UnboundedSender<Arc<Change>>,
}

#[derive(Default)]
struct Content {
    revision: u64,
    compacted: u64,
    rows: BTreeMap<u64, Row>,
}

impl Disk {
    pub(crate) fn new(stage: Arc<Stage>, pods: mpsc::UnboundedSender<Arc<Change>>) -> Arc<Disk> {
        Arc::new(Disk { stage, content: Mutex::default(), commits: Mutex::default(), pods })
    }

    /// The log of one life of the server, which ends when that does.
    pub(crate) fn log(self: &Arc<Disk>, death: CancellationToken) -> Box<dyn Log> {
        Box::new(SimLog { disk: self.clone(), death })
    }

    fn content(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, batch: &Batch<'_>) {
        let mut content = self.content();
        for change in batch.changes {
            let Change { key, revision, current, .. } = &**change;
            let row = Row { revision: *revision, key: key.clone(), current: current.clone() };
            content.rows.insert(*revision, row);
            let value = current.as_ref().map(|entry| entry.value.clone());
            let key = key.clone();
            if key.starts_with(PODS) {
                let _ = self.pods.send(change.clone());
            }
            self.stage.record(Happened::Written { revision: *revision, key, value });
        }
        batch.dropped.iter().for_each(|revision| drop(content.rows.remove(revision)));
        content.revision = batch.revision;
        content.compacted = batch.compacted;
    }

    /// What goes wrong with this commit.
    fn fate(&self, batch: &Batch<'_>) -> Option<Fault> {
        let now = self.stage.now();
        let is_create = batch.changes.iter().any(|change| is_new_job(change));
        let mut commits = self.commits.lock().unwrap_or_else(PoisonError::into_inner);
        for (place, trouble) in self.stage.scenario.troubles.iter().enumerate() {
            let due = match trouble.what {
                Fault::Crash(count, moment) if moment.counts(is_create) => count,
                Fault::DiskFull => 0,
                _ => continue,
            };
            if trouble.is_on(now) {
                let count = commits.entry(place).or_default();
                *count += 1;
                if *count > due {
                    return Some(trouble.what.clone());
                }
            }
        }
        None
    }
}

fn is_new_job(change: &Change) -> bool {
    change.previous.is_none() && change.key.starts_with(JOBS)
}

struct SimLog {
    disk: Arc<Disk>,
    /// The end of the server that writes here.
    death: CancellationToken,
}

impl SimLog {
    /// The server finds out that its store has failed, and ends. Until then it answers.
    fn end_soon(&self) {
        let (stage, death) = (self.disk.stage.clone(), self.death.clone());
        let at = stage.now() + stage.dice.between(0, FOUND_OUT_AFTER);
        tokio::spawn(async move {
            stage.until(at).await;
            death.cancel();
        });
    }

    fn failed(&self) -> Error {
        let source = io::Error::from(io::ErrorKind::StorageFull);
        Error::DiskFull { path: self.path().into(), source }
    }
}

impl Log for SimLog {
    fn path(&self) -> &Path {
        Path::new("/the/simulated/disk")
    }

    fn load(&mut self) -> Result<Loaded, Error> {
        let content = self.disk.content();
        let rows = content.rows.values().cloned().collect();
        Ok(Loaded { revision: content.revision, compacted: content.compacted, rows })
    }

    fn commit(&mut self, batch: &Batch<'_>) -> Result<(), Error> {
        if self.death.is_cancelled() {
            return Err(self.failed());
        }
        let fate = self.disk.fate(batch);
        if !matches!(fate, Some(Fault::Crash(_, Moment::Before) | Fault::DiskFull)) {
            self.disk.take(batch);
        }
        match fate {
            None => Ok(()),
            Some(Fault::DiskFull) => {
                self.end_soon();
                Err(self.failed())
            }
            Some(_) => {
                self.death.cancel();
                Err(self.failed())
            }
        }
    }

    fn shrink(&mut self) -> Result<(), Error> {
        Ok(())
    }
}
