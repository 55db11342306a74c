//! [`Store`], the handle with which callers read, write and watch. Clones share one store.

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
    Archive, BackupChunks, Damage, Error, FileLocation, RedbLog, Snapshot, ValueCodec, Watch,
    archive::MemoryArchive,
    block_on::block_on,
    change::{Change, StoreEntry},
    change_history::HistoryBounds,
    codec::Codec,
    committer::{Committer, CommitterRequest, Published, WriteResult},
    log::Log,
    notifier::{ChangeSignal, Notifier},
    recovery, repair,
    transaction::{Committed, Transaction, TransactionLimits},
};

/// The bounds of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The maximum number of transactions in the queue of the committer.
    pub queue_max: usize,
    /// The maximum number of changes in the change history.
    pub history_changes_max: usize,
    /// The maximum bytes of changes in the change history.
    pub history_bytes_max: usize,
    /// The size limits of a transaction.
    pub limits: TransactionLimits,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            queue_max: 1024,
            history_changes_max: 16 << 10,
            history_bytes_max: 32 << 20,
            limits: TransactionLimits::default(),
        }
    }
}

/// A handle of an open store. Clones share the store, and dropping the last one closes it.
#[derive(Clone)]
pub struct Store {
    shared: Arc<Shared>,
}

struct Shared {
    published: Arc<Published>,
    /// `None` only while the last handle is dropped.
    requests: Option<mpsc::Sender<CommitterRequest>>,
    limits: TransactionLimits,
    committer: Mutex<Option<JoinHandle<()>>>,
    damage: Damage,
    locations: Vec<FileLocation>,
    codec: Codec,
    archive: Archive,
}

impl Store {
    /// Opens the store in a file, or creates it, and locks it against other processes. Reads the
    /// whole file, so the time depends on its size.
    ///
    /// If only values of known keys are damaged, it removes these keys, keeps the damaged file under
    /// another name, and reports them in [`Store::damage`]. Other damage is an error.
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Self, Error> {
        Self::open_with_codec(path, options, None)
    }

    /// Opens the store in a file whose values have a codec. Rewrites the file if the stored form of
    /// a value is not current.
    pub fn open_with_codec(
        path: impl AsRef<Path>,
        options: Options,
        codec: Option<Arc<dyn ValueCodec>>,
    ) -> Result<Self, Error> {
        let path = path.as_ref();
        let error = match Self::open_undamaged(path, options, &codec) {
            Err(error @ Error::Corrupted { .. }) => error,
            opened => return opened,
        };
        let salvage = repair::repair(path)?.ok_or(error)?;
        let mut store = Self::open_undamaged(path, options, &codec)?;
        if let Some(shared) = Arc::get_mut(&mut store.shared) {
            shared.damage = salvage.damage;
        }
        Ok(store)
    }

    fn open_undamaged(path: &Path, options: Options, codec: &Codec) -> Result<Self, Error> {
        if let Some(codec) = codec {
            repair::rewrite_values(path, &**codec)?;
        }
        let log = RedbLog::open_with_codec(path, codec.clone())?;
        let mut store = Self::start(Box::new(log), options)?;
        if let Some(shared) = Arc::get_mut(&mut store.shared) {
            shared.codec = codec.clone();
        }
        Ok(store)
    }

    /// Returns a backup of the current revision and of the archive. Its values have the stored form. Its
    /// chunks are read from the file if there is an archive.
    pub fn backup(&self) -> BackupChunks {
        BackupChunks::new(self.snapshot(), self.shared.codec.clone())
            .with_archive(self.shared.archive.clone())
    }

    /// Returns the damage that was found and repaired when the store was opened.
    pub fn damage(&self) -> &Damage {
        &self.shared.damage
    }

    /// Returns the archive. What a transaction moves from a value to the archive is never missing from
    /// both if a reader takes its snapshot before it reads the archive.
    pub fn archive(&self) -> &Archive {
        &self.shared.archive
    }

    /// Starts the store on a given log, with a committer thread.
    pub fn start(log: Box<dyn Log>, options: Options) -> Result<Self, Error> {
        let (store, committer) = Self::prepare(log, options)?;
        let thread = spawn(committer)?;
        *store.shared.committer.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        Ok(store)
    }

    /// Starts the store without a thread: the caller polls the returned future, which commits the
    /// writes and ends when the store is closed. For simulations, whose log must never block.
    pub fn start_inline(
        log: Box<dyn Log>,
        options: Options,
    ) -> Result<(Self, impl Future<Output = ()> + Send), Error> {
        let (store, committer) = Self::prepare(log, options)?;
        Ok((store, committer.run()))
    }

    fn prepare(mut log: Box<dyn Log>, options: Options) -> Result<(Self, Committer), Error> {
        // redb may panic if the file is corrupted. Report that as corruption.
        let loaded = catch_unwind(AssertUnwindSafe(|| log.load()))
            .unwrap_or_else(|_| Err(corrupted(&*log, "redb cannot read it".into())))?;
        let bounds = HistoryBounds {
            changes_max: options.history_changes_max,
            bytes_max: options.history_bytes_max,
        };
        let (state, history) = recovery::recover(loaded, bounds)
            .map_err(|error| corrupted(&*log, error.to_string()))?;
        let (sender, requests) = mpsc::channel(options.queue_max.max(1));
        let published = Arc::new(Published {
            state: ArcSwap::from_pointee(state),
            history: RwLock::new(history),
            failure: OnceLock::new(),
            signal: ChangeSignal::default(),
        });
        let locations = log.locations().to_vec();
        let log_archive = log.archive();
        let memory_archive = log_archive.is_none().then(MemoryArchive::default);
        let archive =
            log_archive.unwrap_or_else(|| memory_archive.clone().unwrap_or_default().into());
        let committer = Committer {
            log,
            published: published.clone(),
            requests,
            notifier: Notifier(published.clone()),
            memory_archive,
            last_group_len: 1,
        };
        let shared = Shared {
            published,
            requests: Some(sender),
            limits: options.limits,
            committer: Mutex::new(None),
            damage: Damage::default(),
            locations,
            codec: None,
            archive,
        };
        Ok((Self { shared: Arc::new(shared) }, committer))
    }

    /// Returns the current value of a key.
    pub fn get(&self, key: &str) -> Option<StoreEntry> {
        self.shared.published.state.load().get(key).cloned()
    }

    /// The revision of the newest change that is on disk.
    pub fn revision(&self) -> u64 {
        self.shared.published.state.load().revision
    }

    /// Returns the current snapshot of all keys.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { state: self.shared.published.state.load_full() }
    }

    /// Returns a snapshot at an earlier revision that is not compacted. Undoes every change since, so
    /// the time depends on their number.
    pub fn snapshot_at(&self, revision: u64) -> Result<Snapshot, Error> {
        let (mut state, since) = self.shared.published.since(revision)?;
        if !since.is_empty() {
            let earlier = Arc::make_mut(&mut state);
            for change in since.iter().rev() {
                earlier.undo(change);
            }
        }
        Ok(Snapshot { state })
    }

    /// Watches all changes under a prefix after a revision. To follow a list without a gap, watch
    /// from the revision of its snapshot.
    pub fn watch(&self, prefix: &str, from_revision: u64) -> Result<Watch, Error> {
        Watch::new(prefix.into(), from_revision, self.shared.published.clone())
    }

    /// Returns all changes after a revision, oldest first, and the revision of the newest change.
    pub fn changes_since(&self, revision: u64) -> Result<(Vec<Arc<Change>>, u64), Error> {
        let (state, changes) = self.shared.published.since(revision)?;
        Ok((changes, state.revision))
    }

    /// Commits a transaction. Waits while the queue is full.
    pub async fn write(&self, transaction: impl Into<Transaction>) -> Result<Committed, Error> {
        let transaction = self.check(transaction.into())?;
        let (reply, pending) = oneshot::channel();
        let request = CommitterRequest::Write { transaction, reply };
        self.requests()?.send(request).await.map_err(|_| Error::Closed)?;
        PendingWrite { reply: pending }.await
    }

    /// Commits a transaction on a thread without a runtime. See [`Store::write`].
    pub fn write_blocking(&self, transaction: impl Into<Transaction>) -> Result<Committed, Error> {
        block_on(self.write(transaction))
    }

    /// Queues a transaction without waiting, or fails with [`Error::QueueFull`]. Transactions are
    /// committed in the order of their submission.
    pub fn submit(&self, transaction: impl Into<Transaction>) -> Result<PendingWrite, Error> {
        let transaction = self.check(transaction.into())?;
        let (reply, pending) = oneshot::channel();
        match self.requests()?.try_send(CommitterRequest::Write { transaction, reply }) {
            Ok(()) => Ok(PendingWrite { reply: pending }),
            Err(TrySendError::Full(_)) => Err(Error::QueueFull),
            Err(TrySendError::Closed(_)) => Err(Error::Closed),
        }
    }

    /// Compacts the change history up to and including a revision, and returns unused space to the
    /// file system. Current values stay. It blocks writes, and it is rarely needed: the history
    /// compacts itself when it reaches its bounds.
    pub async fn compact(&self, through_revision: u64) -> Result<(), Error> {
        self.send_request(|reply| CommitterRequest::Compact { through: through_revision, reply })
            .await
    }

    /// Compacts on a thread without a runtime. See [`Store::compact`].
    pub fn compact_blocking(&self, through_revision: u64) -> Result<(), Error> {
        block_on(self.compact(through_revision))
    }

    /// Rejects new writes, commits the queued ones, and closes the file. Watches end; snapshots stay
    /// valid. Fails if an earlier commit failed.
    pub async fn close(&self) -> Result<(), Error> {
        match self.send_request(|reply| CommitterRequest::Close { reply }).await {
            Err(Error::Closed) => Ok(()),
            result => result,
        }
    }

    /// Closes the store on a thread without a runtime. See [`Store::close`].
    pub fn close_blocking(&self) -> Result<(), Error> {
        block_on(self.close())
    }

    /// Returns the error of the failed commit, if writes are rejected because of one.
    pub fn failure(&self) -> Option<Arc<Error>> {
        self.shared.published.failure.get().cloned()
    }

    /// Fails if the files of the store were deleted or replaced, so that the next write would fail.
    pub fn check_location(&self) -> Result<(), Error> {
        self.shared.locations.iter().try_for_each(FileLocation::check)
    }

    async fn send_request(
        &self,
        request: impl FnOnce(oneshot::Sender<Result<(), Error>>) -> CommitterRequest,
    ) -> Result<(), Error> {
        let (reply, pending) = oneshot::channel();
        self.requests()?.send(request(reply)).await.map_err(|_| Error::Closed)?;
        pending.await.unwrap_or(Err(Error::Closed))
    }

    fn check(&self, transaction: Transaction) -> Result<Transaction, Error> {
        transaction.check_limits(&self.shared.limits)?;
        Ok(transaction)
    }

    fn requests(&self) -> Result<&mpsc::Sender<CommitterRequest>, Error> {
        self.shared.requests.as_ref().ok_or(Error::Closed)
    }
}

fn spawn(committer: Committer) -> Result<JoinHandle<()>, Error> {
    let name = "store-committer";
    thread::Builder::new()
        .name(name.into())
        .spawn(move || block_on(committer.run()))
        .map_err(|source| Error::Io { action: "start the thread", path: name.into(), source })
}

fn corrupted(log: &dyn Log, detail: String) -> Error {
    Error::Corrupted { path: log.path().into(), detail }
}

impl Drop for Shared {
    /// Waits for the committer, so that the file is closed after the last handle is dropped.
    fn drop(&mut self) {
        self.requests = None;
        let thread = self.committer.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

/// A queued transaction. Await it, or call [`PendingWrite::wait`]. Dropping it does not cancel the
/// transaction.
#[must_use = "the transaction is on disk only after this is awaited"]
pub struct PendingWrite {
    reply: oneshot::Receiver<WriteResult>,
}

impl PendingWrite {
    /// Waits for the commit on a thread without a runtime.
    pub fn wait(self) -> Result<Committed, Error> {
        block_on(self)
    }
}

impl Future for PendingWrite {
    type Output = WriteResult;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<WriteResult> {
        let reply = Pin::new(&mut self.reply).poll(context);
        // The committer always replies unless it panicked.
        reply.map(|reply| {
            reply.unwrap_or_else(|_| Err(Error::CommitFailed(Arc::new(Error::Closed))))
        })
    }
}
