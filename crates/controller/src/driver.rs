//! The loop of a controller: keys that are due go to workers, and come back when they failed.

use std::hash::Hash;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use jiff::Timestamp;
use punctual_queue::{Backoff, Failure, Popped, Queue};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;

/// The clock is looked at so often at least, since it may be set.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A queue and those who wait for it.
pub(crate) struct Driver<K> {
    queue: Mutex<Queue<K>>,
    news: Notify,
    clock: Arc<dyn Clock>,
}

impl<K: Clone + Eq + Hash + Send + Sync + 'static> Driver<K> {
    pub(crate) fn new(backoff: Backoff, clock: Arc<dyn Clock>) -> Arc<Driver<K>> {
        Arc::new(Driver { queue: Mutex::new(Queue::new(backoff)), news: Notify::new(), clock })
    }

    /// Something about a key changed.
    pub(crate) fn add(&self, key: &K) {
        let now = self.clock.now();
        self.queue().add(key, now);
        self.news.notify_one();
    }

    /// Look at a key then, if nothing happens before.
    pub(crate) fn wake(&self, key: &K, at: Timestamp) {
        self.queue().set_wake(key, Some(at));
        self.news.notify_one();
    }

    /// Works until told to stop; then lets what is being done finish.
    pub(crate) async fn run<W, F>(&self, workers: usize, work: W, stop: CancellationToken)
    where
        W: Fn(K) -> F,
        F: Future<Output = Result<(), Failure>> + Send + 'static,
    {
        let mut running: JoinSet<(K, Result<(), Failure>)> = JoinSet::new();
        while !stop.is_cancelled() {
            while running.len() < workers
                && let Some(popped) = self.pop()
            {
                let (key, task) = (popped.key.clone(), work(popped.key));
                // A worker that panics has failed, and harms nobody else.
                let task = AssertUnwindSafe(task).catch_unwind();
                running.spawn(async move { (key, task.await.unwrap_or(Err(Failure::default()))) });
            }
            let has_room = running.len() < workers;
            tokio::select! {
                () = stop.cancelled() => {}
                () = self.news.notified(), if has_room => {}
                () = tokio::time::sleep(self.rest()), if has_room => {}
                Some(Ok((key, result))) = running.join_next() => self.done(&key, result),
            }
        }
        while let Some(joined) = running.join_next().await {
            if let Ok((key, result)) = joined {
                self.done(&key, result);
            }
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue<K>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pop(&self) -> Option<Popped<K>> {
        let now = self.clock.now();
        self.queue().pop(now)
    }

    fn done(&self, key: &K, result: Result<(), Failure>) {
        let now = self.clock.now();
        self.queue().done(key, result, now);
    }

    /// How long there is nothing to do, as far as we know.
    fn rest(&self) -> Duration {
        let now = self.clock.now();
        let due = self.queue().next_due(now);
        let until = due.map(|due| due.duration_since(now));
        until.and_then(|until| until.try_into().ok()).unwrap_or(LOOK_EVERY).min(LOOK_EVERY)
    }
}
