//! The handle that everyone uses: clones share one store.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    pin::Pin,
    sync::{Arc, Mutex, OnceLock, PoisonError, RwLock},
    task::{Context, Poll},
    thread::{self, JoinHandle},
};

use arc_swap::ArcSwap;
use tokio::sync::{
    mpsc::{self, error::TrySendError},
    oneshot,
};

use crate::{
    Error, RedbLog, Snapshot, Watch, blocking,
    change::Entry,
    committer::{Answer, Committer, Published, Request},
    log::Log,
    news::{News, Teller},
    recovery,
    ring::RingBounds,
    transaction::{Committed, Limits, Transaction},
};

/// The bounds of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// How many transactions may wait for the committer.
    pub waiting_max: usize,
    /// How many changes are kept for watches.
    pub ring_changes_max: usize,
    /// How many bytes of changes are kept for watches.
    pub ring_bytes_max: usize,
    /// How large a transaction may be.
    pub limits: Limits,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            waiting_max: 1024,
            ring_changes_max: 16 << 10,
            ring_bytes_max: 32 << 20,
            limits: Limits::default(),
        }
    }
}

/// A store that is open. Clones are handles to the same store, and dropping the last one closes it.
#[derive(Clone)]
pub struct Store {
    shared: Arc<Shared>,
}

struct Shared {
    published: Arc<Published>,
    /// None only while the last handle is dropped.
    requests: Option<mpsc::Sender<Request>>,
    limits: Limits,
    committer: Mutex<Option<JoinHandle<()>>>,
}

impl Store {
    /// Opens the store in a file, or makes a new one, and locks it against other processes.
    /// Reads everything, so it takes time in proportion to the size of the file.
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Self, Error> {
        Self::start(Box::new(RedbLog::open(path.as_ref())?), options)
    }

    /// Starts the store on a log of your own, with a thread that writes to it.
    pub fn start(log: Box<dyn Log>, options: Options) -> Result<Self, Error> {
        let (store, committer) = Self::prepare(log, options)?;
        let thread = spawn(committer)?;
        *store.shared.committer.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        Ok(store)
    }

    /// As [`Store::start`], but nothing is written unless somebody polls the future, which ends when
    /// the store does. For those who must say when things happen, and whose log never waits.
    pub fn start_inline(
        log: Box<dyn Log>,
        options: Options,
    ) -> Result<(Self, impl Future<Output = ()> + Send), Error> {
        let (store, committer) = Self::prepare(log, options)?;
        Ok((store, committer.run()))
    }

    fn prepare(mut log: Box<dyn Log>, options: Options) -> Result<(Self, Committer), Error> {
        // A damaged file may make the database under us panic; that too is only a damaged file.
        let loaded = catch_unwind(AssertUnwindSafe(|| log.load()))
            .unwrap_or_else(|_| Err(damaged(&*log, "it cannot be read".into())))?;
        let bounds =
            RingBounds { changes_max: options.ring_changes_max, bytes_max: options.ring_bytes_max };
        let (state, ring) =
            recovery::recover(loaded, bounds).map_err(|detail| damaged(&*log, detail))?;
        let (sender, requests) = mpsc::channel(options.waiting_max.max(1));
        let published = Arc::new(Published {
            state: ArcSwap::from_pointee(state),
            ring: RwLock::new(ring),
            failure: OnceLock::new(),
            news: News::default(),
        });
        let committer = Committer {
            log,
            published: published.clone(),
            requests,
            news: Teller(published.clone()),
            usual: 1,
        };
        let shared = Shared {
            published,
            requests: Some(sender),
            limits: options.limits,
            committer: Mutex::new(None),
        };
        Ok((Self { shared: Arc::new(shared) }, committer))
    }

    /// The current value of a key.
    pub fn get(&self, key: &str) -> Option<Entry> {
        self.shared.published.state.load().get(key).cloned()
    }

    /// The revision of the newest change that is on the disk.
    pub fn revision(&self) -> u64 {
        self.shared.published.state.load().revision
    }

    /// All keys as they are now.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { state: self.shared.published.state.load_full() }
    }

    /// All keys as they were at a revision that watches still know of. Costs a little for every
    /// change since.
    pub fn snapshot_at(&self, revision: u64) -> Result<Snapshot, Error> {
        let (mut state, since) = self.shared.published.since(revision)?;
        if !since.is_empty() {
            let then = Arc::make_mut(&mut state);
            since.iter().rev().for_each(|change| then.take_back(change));
        }
        Ok(Snapshot { state })
    }

    /// Every change under the prefix after the revision. To follow a list without a gap, watch from
    /// the revision of its snapshot.
    pub fn watch(&self, prefix: &str, from_revision: u64) -> Result<Watch, Error> {
        Watch::new(prefix.into(), from_revision, self.shared.published.clone())
    }

    /// Does the transaction; waits for a place in the queue if there is none.
    pub async fn write(&self, transaction: impl Into<Transaction>) -> Result<Committed, Error> {
        let transaction = self.checked(transaction.into())?;
        let (answer, pending) = oneshot::channel();
        let request = Request::Write { transaction, answer };
        self.requests()?.send(request).await.map_err(|_| Error::Closed)?;
        Pending { answer: pending }.await
    }

    /// As [`Store::write`], for a plain thread.
    pub fn write_blocking(&self, transaction: impl Into<Transaction>) -> Result<Committed, Error> {
        blocking::wait(self.write(transaction))
    }

    /// Puts the transaction into the queue without waiting, or says [`Error::Busy`]. Transactions
    /// are done in the order of their submission.
    pub fn submit(&self, transaction: impl Into<Transaction>) -> Result<Pending, Error> {
        let transaction = self.checked(transaction.into())?;
        let (answer, pending) = oneshot::channel();
        match self.requests()?.try_send(Request::Write { transaction, answer }) {
            Ok(()) => Ok(Pending { answer: pending }),
            Err(TrySendError::Full(_)) => Err(Error::Busy),
            Err(TrySendError::Closed(_)) => Err(Error::Closed),
        }
    }

    /// Forgets the changes up to and including a revision, though not what they left behind, and
    /// gives unused space back. Writes wait for it, so this is for quiet hours: the ring forgets by
    /// itself.
    pub async fn compact(&self, through_revision: u64) -> Result<(), Error> {
        self.ask(|answer| Request::Compact { through: through_revision, answer }).await
    }

    /// As [`Store::compact`], for a plain thread.
    pub fn compact_blocking(&self, through_revision: u64) -> Result<(), Error> {
        blocking::wait(self.compact(through_revision))
    }

    /// Takes no more writes, finishes those that wait, and closes the file. Watches end, snapshots
    /// stay. Says so if an earlier commit has failed.
    pub async fn close(&self) -> Result<(), Error> {
        match self.ask(|answer| Request::Close { answer }).await {
            Err(Error::Closed) => Ok(()),
            result => result,
        }
    }

    /// As [`Store::close`], for a plain thread.
    pub fn close_blocking(&self) -> Result<(), Error> {
        blocking::wait(self.close())
    }

    /// Why writes are refused, if a commit has failed.
    pub fn failure(&self) -> Option<Arc<Error>> {
        self.shared.published.failure.get().cloned()
    }

    async fn ask(
        &self,
        request: impl FnOnce(oneshot::Sender<Result<(), Error>>) -> Request,
    ) -> Result<(), Error> {
        let (answer, pending) = oneshot::channel();
        self.requests()?.send(request(answer)).await.map_err(|_| Error::Closed)?;
        pending.await.unwrap_or(Err(Error::Closed))
    }

    fn checked(&self, transaction: Transaction) -> Result<Transaction, Error> {
        transaction.fits(&self.shared.limits)?;
        Ok(transaction)
    }

    fn requests(&self) -> Result<&mpsc::Sender<Request>, Error> {
        self.shared.requests.as_ref().ok_or(Error::Closed)
    }
}

fn spawn(committer: Committer) -> Result<JoinHandle<()>, Error> {
    let name = "store-committer";
    thread::Builder::new()
        .name(name.into())
        .spawn(move || blocking::wait(committer.run()))
        .map_err(|source| Error::Io { doing: "start the thread", path: name.into(), source })
}

fn damaged(log: &dyn Log, detail: String) -> Error {
    Error::Damaged { path: log.path().into(), detail }
}

impl Drop for Shared {
    /// Waits for the committer, so that the file is closed when the last handle is gone.
    fn drop(&mut self) {
        self.requests = None;
        let thread = self.committer.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

/// A transaction on its way to the disk: await it, or wait for it on a plain thread. Dropping it
/// does not take the transaction back.
#[must_use = "the transaction is not on the disk before this is awaited"]
pub struct Pending {
    answer: oneshot::Receiver<Answer>,
}

impl Pending {
    /// Waits for the answer on a plain thread.
    pub fn wait(self) -> Result<Committed, Error> {
        blocking::wait(self)
    }
}

impl Future for Pending {
    type Output = Answer;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Answer> {
        let answer = Pin::new(&mut self.answer).poll(context);
        // The committer answers everyone, unless it died in the middle of something.
        answer.map(|answer| {
            answer.unwrap_or_else(|_| Err(Error::CommitFailed(Arc::new(Error::Closed))))
        })
    }
}
