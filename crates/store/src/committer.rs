//! The one that writes: it takes what is waiting, tries it on a draft, makes the draft
//! durable with one commit, publishes it, and only then answers.
//!
//! After a commit has failed it goes on answering, but only with refusals. The log is not
//! asked again: what a failed fsync left on the disk is known only to a fresh start.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, OnceLock, PoisonError, RwLock},
    thread,
};

use arc_swap::ArcSwap;
use tokio::sync::{mpsc, oneshot};

use crate::{
    Error,
    change::Change,
    draft::Draft,
    log::{Batch, Log},
    news::{News, Teller},
    ring::Ring,
    state::State,
    transaction::{Committed, Transaction},
};

/// A batch is closed when it has this many bytes of keys and values, or this many transactions.
const BATCH_BYTES_MAX: usize = 8 << 20;
const BATCH_TRANSACTIONS_MAX: usize = 1024;
/// How often others are let go first while a batch is smaller than the last one.
const PATIENCE: usize = 4;

/// What readers see. State and ring change together under the ring's lock, so whoever saw a change
/// in a watch also finds it in a snapshot.
pub(crate) struct Published {
    pub(crate) state: ArcSwap<State>,
    pub(crate) ring: RwLock<Ring>,
    pub(crate) failure: OnceLock<Arc<Error>>,
    pub(crate) news: News,
}

impl Published {
    /// The state, and all changes since a revision, oldest first.
    pub(crate) fn since(&self, requested: u64) -> Result<(Arc<State>, Vec<Arc<Change>>), Error> {
        let ring = self.ring.read().unwrap_or_else(PoisonError::into_inner);
        let state = self.state.load_full();
        if requested > state.revision {
            return Err(Error::Future { requested, revision: state.revision });
        }
        let compacted = ring.compacted;
        let after = ring.after(requested).ok_or(Error::Compacted { requested, compacted })?;
        Ok((state, after.cloned().collect()))
    }
}

pub(crate) type Answer = Result<Committed, Error>;

pub(crate) enum Request {
    Write { transaction: Transaction, answer: oneshot::Sender<Answer> },
    Compact { through: u64, answer: oneshot::Sender<Result<(), Error>> },
    Close { answer: oneshot::Sender<Result<(), Error>> },
}

pub(crate) struct Committer {
    pub(crate) log: Box<dyn Log>,
    pub(crate) published: Arc<Published>,
    pub(crate) requests: mpsc::Receiver<Request>,
    /// Wakes the watches. Dropped when the committer ends, which ends them.
    pub(crate) news: Teller,
    /// How many writes the last batch had.
    pub(crate) usual: usize,
}

/// Transactions on their way into one commit.
#[derive(Default)]
struct Waiting {
    writes: Vec<(Transaction, oneshot::Sender<Answer>)>,
    bytes: usize,
}

impl Waiting {
    fn add(&mut self, transaction: Transaction, answer: oneshot::Sender<Answer>) {
        self.bytes += transaction.bytes();
        self.writes.push((transaction, answer));
    }

    fn is_full(&self) -> bool {
        self.bytes >= BATCH_BYTES_MAX || self.writes.len() >= BATCH_TRANSACTIONS_MAX
    }
}

impl Committer {
    /// Serves until everybody has let go of the store, or one has closed it.
    pub(crate) async fn run(mut self) {
        let mut closers = Vec::new();
        let mut next = self.requests.recv().await;
        while let Some(request) = next.take() {
            match request {
                Request::Write { transaction, answer } => next = self.serve(transaction, answer),
                Request::Compact { through, answer } => {
                    let _ = answer.send(self.compact(through));
                }
                Request::Close { answer } => {
                    // Nobody gets in any more; those already waiting are still served.
                    self.requests.close();
                    closers.push(answer);
                }
            }
            if next.is_none() {
                next = self.requests.recv().await;
            }
        }
        self.finish(closers);
    }

    /// Closes the file before anybody hears that it is closed.
    fn finish(self, closers: Vec<oneshot::Sender<Result<(), Error>>>) {
        let failure = self.published.failure.get().cloned();
        drop(self.log);
        drop(self.news);
        for answer in closers {
            let _ = answer.send(failure.clone().map_or(Ok(()), |why| Err(Error::Stopped(why))));
        }
    }

    /// Serves this write together with all that wait behind it, up to the first other request,
    /// which is handed back.
    fn serve(
        &mut self,
        transaction: Transaction,
        answer: oneshot::Sender<Answer>,
    ) -> Option<Request> {
        let mut waiting = Waiting::default();
        waiting.add(transaction, answer);
        let mut other = self.gather(&mut waiting);
        for _ in 0..PATIENCE {
            if other.is_some() || waiting.writes.len() >= self.usual {
                break;
            }
            // Those answered last are about to write again; a moment now saves them a commit.
            thread::yield_now();
            other = self.gather(&mut waiting);
        }
        self.usual = waiting.writes.len();
        self.write(waiting);
        other
    }

    /// Takes what is in the queue, as far as it fits into the batch.
    fn gather(&mut self, waiting: &mut Waiting) -> Option<Request> {
        while !waiting.is_full() {
            match self.requests.try_recv() {
                Ok(Request::Write { transaction, answer }) => waiting.add(transaction, answer),
                Ok(request) => return Some(request),
                Err(_) => break,
            }
        }
        None
    }

    fn write(&mut self, waiting: Waiting) {
        if let Some(why) = self.published.failure.get() {
            for (_, answer) in waiting.writes {
                let _ = answer.send(Err(Error::Stopped(why.clone())));
            }
            return;
        }
        let mut draft = Draft::on(&self.published.state.load());
        let answers: Vec<_> = waiting
            .writes
            .into_iter()
            .map(|(transaction, answer)| (answer, draft.apply(transaction)))
            .collect();
        // Even a conflict waits for the commit: it may tell of a value of this very batch.
        let failure = self.commit(draft).err();
        for (answer, result) in answers {
            let result = match &failure {
                Some(why) => Err(Error::CommitFailed(why.clone())),
                _ => result,
            };
            // A writer that did not wait for its answer is no concern of ours.
            let _ = answer.send(result);
        }
    }

    fn commit(&mut self, draft: Draft) -> Result<(), Arc<Error>> {
        if draft.changes.is_empty() {
            return Ok(());
        }
        let leaving = self.ring(|ring| ring.leaving(&draft.changes));
        self.persist(&draft, leaving)?;
        self.publish(draft, leaving);
        Ok(())
    }

    /// Commits the draft and forgets the oldest changes of the ring, on the disk only.
    fn persist(&mut self, draft: &Draft, leaving: usize) -> Result<(), Arc<Error>> {
        let (dropped, compacted) =
            self.ring(|ring| (ring.superseded(leaving), ring.compacted + leaving as u64));
        let revision = draft.state.revision;
        let batch = Batch { changes: &draft.changes, dropped: &dropped, revision, compacted };
        self.guard(|log| log.commit(&batch))
    }

    fn publish(&self, draft: Draft, leaving: usize) {
        let mut ring = self.published.ring.write().unwrap_or_else(PoisonError::into_inner);
        ring.forget(leaving);
        draft.changes.into_iter().for_each(|change| ring.push(change));
        // Under the lock, so that whoever holds it sees a ring and a state that belong together.
        self.published.state.store(Arc::new(draft.state));
        drop(ring);
        self.news.tell();
    }

    fn compact(&mut self, through: u64) -> Result<(), Error> {
        if let Some(why) = self.published.failure.get() {
            return Err(Error::Stopped(why.clone()));
        }
        let leaving = self.ring(|ring| ring.through(through));
        let draft = Draft::on(&self.published.state.load());
        self.persist(&draft, leaving).map_err(Error::CommitFailed)?;
        self.publish(draft, leaving);
        self.guard(|log| log.shrink()).map_err(Error::CommitFailed)
    }

    fn ring<T>(&self, look: impl FnOnce(&Ring) -> T) -> T {
        look(&self.published.ring.read().unwrap_or_else(PoisonError::into_inner))
    }
    /// Does something to the log. A failure, even a panic, is the end of writing.
    fn guard(
        &mut self,
        act: impl FnOnce(&mut dyn Log) -> Result<(), Error>,
    ) -> Result<(), Arc<Error>> {
        let log = &mut *self.log;
        // The log is never used again after a panic, so what it left half done is not seen.
        let result = catch_unwind(AssertUnwindSafe(|| act(log)));
        let result = result.unwrap_or_else(|_| {
            let detail = "the database under the store panicked".into();
            Err(Error::Damaged { path: self.log.path().into(), detail })
        });
        result.map_err(|error| self.published.failure.get_or_init(|| Arc::new(error)).clone())
    }
}
