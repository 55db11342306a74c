//! The committer: collects waiting writes into a group, builds a batch, commits it with one fsync,
//! publishes it, and then replies to the writers (group commit).
//!
//! After a failed commit it rejects all writes and does not use the log again: only a restart can
//! find out what a failed fsync left on disk.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, OnceLock, PoisonError, RwLock},
    thread,
};

use arc_swap::ArcSwap;
use tokio::sync::{mpsc, oneshot};

use crate::{
    Error,
    archive::MemoryArchive,
    batch_builder::BatchBuilder,
    change::Change,
    change_history::ChangeHistory,
    log::{CommitBatch, Log},
    notifier::{ChangeSignal, Notifier},
    state::State,
    transaction::{Committed, Transaction},
};

/// A group is full when it has this many bytes of keys and values.
const GROUP_BYTES_MAX: usize = 8 << 20;
/// A group is full when it has this many transactions.
const GROUP_TRANSACTIONS_MAX: usize = 1024;
/// How often the committer yields to writers while a group is smaller than the last one.
const YIELDS_MAX: usize = 4;

/// The state that readers see. The state and the history change together under the lock of the history, so
/// a change that a watch has returned is also in the next snapshot.
pub(crate) struct Published {
    pub(crate) state: ArcSwap<State>,
    pub(crate) history: RwLock<ChangeHistory>,
    pub(crate) failure: OnceLock<Arc<Error>>,
    pub(crate) signal: ChangeSignal,
}

impl Published {
    /// Returns the state and all changes after a revision, oldest first.
    pub(crate) fn since(&self, requested: u64) -> Result<(Arc<State>, Vec<Arc<Change>>), Error> {
        let history = self.history.read().unwrap_or_else(PoisonError::into_inner);
        let state = self.state.load_full();
        if requested > state.revision {
            return Err(Error::FutureRevision { requested, revision: state.revision });
        }
        let compacted = history.compacted;
        let after = history.after(requested).ok_or(Error::Compacted { requested, compacted })?;
        Ok((state, after.cloned().collect()))
    }
}

pub(crate) type WriteResult = Result<Committed, Error>;

pub(crate) enum CommitterRequest {
    Write { transaction: Transaction, reply: oneshot::Sender<WriteResult> },
    Compact { through: u64, reply: oneshot::Sender<Result<(), Error>> },
    Close { reply: oneshot::Sender<Result<(), Error>> },
}

pub(crate) struct Committer {
    pub(crate) log: Box<dyn Log>,
    pub(crate) published: Arc<Published>,
    pub(crate) requests: mpsc::Receiver<CommitterRequest>,
    /// Notifies watches. It is dropped when the committer ends, which ends them.
    pub(crate) notifier: Notifier,
    /// The archive, if the log has none.
    pub(crate) memory_archive: Option<MemoryArchive>,
    /// The number of writes in the last group.
    pub(crate) last_group_len: usize,
}

/// The writes of one commit.
#[derive(Default)]
struct WriteGroup {
    writes: Vec<(Transaction, oneshot::Sender<WriteResult>)>,
    bytes: usize,
}

impl WriteGroup {
    fn add(&mut self, transaction: Transaction, reply: oneshot::Sender<WriteResult>) {
        self.bytes += transaction.bytes();
        self.writes.push((transaction, reply));
    }

    fn is_full(&self) -> bool {
        self.bytes >= GROUP_BYTES_MAX || self.writes.len() >= GROUP_TRANSACTIONS_MAX
    }
}

impl Committer {
    /// Runs until the store is closed or its last handle is dropped.
    pub(crate) async fn run(mut self) {
        let mut closers = Vec::new();
        let mut next = self.requests.recv().await;
        while let Some(request) = next.take() {
            match request {
                CommitterRequest::Write { transaction, reply } => {
                    next = self.commit_group(transaction, reply)
                }
                CommitterRequest::Compact { through, reply } => {
                    let _ = reply.send(self.compact(through));
                }
                CommitterRequest::Close { reply } => {
                    // Reject new requests, but finish the queued ones.
                    self.requests.close();
                    closers.push(reply);
                }
            }
            if next.is_none() {
                next = self.requests.recv().await;
            }
        }
        self.finish(closers);
    }

    /// Closes the file, and then replies to the close requests.
    fn finish(self, closers: Vec<oneshot::Sender<Result<(), Error>>>) {
        let failure = self.published.failure.get().cloned();
        drop(self.log);
        drop(self.notifier);
        for reply in closers {
            let _ = reply
                .send(failure.clone().map_or(Ok(()), |cause| Err(Error::WritesStopped(cause))));
        }
    }

    /// Commits this write together with the queued writes up to the first other request, which is
    /// returned.
    fn commit_group(
        &mut self,
        transaction: Transaction,
        reply: oneshot::Sender<WriteResult>,
    ) -> Option<CommitterRequest> {
        let mut group = WriteGroup::default();
        group.add(transaction, reply);
        let mut other = self.collect_writes(&mut group);
        for _ in 0..YIELDS_MAX {
            if other.is_some() || group.writes.len() >= self.last_group_len {
                break;
            }
            // The writers of the last group may write again at once; waiting saves a commit.
            thread::yield_now();
            other = self.collect_writes(&mut group);
        }
        self.last_group_len = group.writes.len();
        self.write_group(group);
        other
    }

    /// Moves queued writes into the group until it is full.
    fn collect_writes(&mut self, group: &mut WriteGroup) -> Option<CommitterRequest> {
        while !group.is_full() {
            match self.requests.try_recv() {
                Ok(CommitterRequest::Write { transaction, reply }) => group.add(transaction, reply),
                Ok(request) => return Some(request),
                Err(_) => break,
            }
        }
        None
    }

    fn write_group(&mut self, group: WriteGroup) {
        if let Some(cause) = self.published.failure.get() {
            for (_, reply) in group.writes {
                let _ = reply.send(Err(Error::WritesStopped(cause.clone())));
            }
            return;
        }
        let mut batch = BatchBuilder::new(&self.published.state.load());
        let replies: Vec<_> = group
            .writes
            .into_iter()
            .map(|(transaction, reply)| (reply, self.apply(transaction, &mut batch)))
            .collect();
        // Conflicts wait for the commit too, because they may contain a value of this batch.
        let failure = self.commit(batch).err();
        for (reply, result) in replies {
            let result = match &failure {
                Some(cause) => Err(Error::CommitFailed(cause.clone())),
                _ => result,
            };
            // The writer may have stopped waiting for the reply.
            let _ = reply.send(result);
        }
    }

    /// Adds a transaction to the batch if its condition is met. The condition gets the published changes and
    /// those of the batch.
    fn apply(&self, mut transaction: Transaction, batch: &mut BatchBuilder) -> WriteResult {
        if let Some(condition) = transaction.condition.take() {
            let (_, mut changes) =
                self.published.since(condition.since).map_err(|_| Error::ConditionFailed)?;
            changes.extend(batch.changes.iter().cloned());
            if !(condition.is_met)(&changes) {
                return Err(Error::ConditionFailed);
            }
        }
        batch.apply(transaction)
    }

    fn commit(&mut self, batch: BatchBuilder) -> Result<(), Arc<Error>> {
        if batch.changes.is_empty() && batch.archive_ops.is_empty() {
            return Ok(());
        }
        let excess = self.read_history(|history| history.count_excess(&batch.changes));
        self.persist(&batch, excess)?;
        self.publish(batch, excess);
        Ok(())
    }

    /// Commits the batch and compacts the oldest changes, on disk only.
    fn persist(&mut self, batch: &BatchBuilder, excess: usize) -> Result<(), Arc<Error>> {
        let dropped = self.read_history(|history| history.superseded_rows(excess));
        let compacted = self.read_history(|history| history.compacted + excess as u64);
        let revision = batch.state.revision;
        let archive_ops = &*batch.archive_ops;
        let commit = CommitBatch {
            changes: &batch.changes,
            dropped: &dropped,
            revision,
            compacted,
            archive_ops,
        };
        self.use_log(|log| log.commit(&commit))?;
        // Before the changes are published, so that a value that moves to the archive is always in one of
        // both.
        if let Some(archive) = &self.memory_archive {
            archive.apply(archive_ops);
        }
        Ok(())
    }

    fn publish(&self, batch: BatchBuilder, excess: usize) {
        let mut history = self.published.history.write().unwrap_or_else(PoisonError::into_inner);
        history.compact(excess);
        for change in batch.changes {
            history.push(change);
        }
        // Store the state under the lock, so that a reader with the lock sees both consistently.
        self.published.state.store(Arc::new(batch.state));
        drop(history);
        self.notifier.notify();
    }

    fn compact(&mut self, through: u64) -> Result<(), Error> {
        if let Some(cause) = self.published.failure.get() {
            return Err(Error::WritesStopped(cause.clone()));
        }
        let excess = self.read_history(|history| history.count_through(through));
        let batch = BatchBuilder::new(&self.published.state.load());
        self.persist(&batch, excess).map_err(Error::CommitFailed)?;
        self.publish(batch, excess);
        self.use_log(|log| log.shrink()).map_err(Error::CommitFailed)
    }

    fn read_history<T>(&self, read: impl FnOnce(&ChangeHistory) -> T) -> T {
        read(&self.published.history.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Calls the log. After an error or a panic, all further writes are rejected.
    fn use_log(
        &mut self,
        call: impl FnOnce(&mut dyn Log) -> Result<(), Error>,
    ) -> Result<(), Arc<Error>> {
        let log = &mut *self.log;
        // The log is not used after a panic, so its inconsistent state is never observed.
        let result = catch_unwind(AssertUnwindSafe(|| call(log)));
        let result = result.unwrap_or_else(|_| {
            let detail = "the database under the store panicked".into();
            Err(Error::Corrupted { path: self.log.path().into(), detail })
        });
        result.map_err(|error| self.published.failure.get_or_init(|| Arc::new(error)).clone())
    }
}
