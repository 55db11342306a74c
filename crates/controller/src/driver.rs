//! The loop of a controller: keys that are due go to workers, and come back when they failed.

use std::hash::Hash;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures::FutureExt as _;
use jiff::Timestamp;
use punctual_queue::{Backoff, Failure, Popped, Queue, Stats};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::haste::Haste;
use crate::metrics::QueueTimes;
use crate::tools::Tools;

/// A queue and those who wait for it.
pub(crate) struct Driver<K> {
    queue: Mutex<Queue<K>>,
    news: Notify,
    clock: Arc<dyn Clock>,
    times: QueueTimes,
    haste: Haste,
    rank: Rank,
}

/// Who comes first when slots wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rank {
    /// Starts slots, and says when they wait.
    First,
    /// Makes way for those who start slots.
    Later,
}

impl<K: Clone + Eq + Hash + Send + Sync + 'static> Driver<K> {
    /// A queue with a name, under which its counters are shown.
    pub(crate) fn new(
        rank: Rank,
        name: &'static str,
        backoff: Backoff,
        tools: &Tools,
    ) -> Arc<Driver<K>> {
        Arc::new_cyclic(|itself: &Weak<Driver<K>>| {
            let itself = itself.clone();
            let stats = move || itself.upgrade().map(|driver| driver.stats());
            Driver {
                queue: Mutex::new(Queue::new(backoff)),
                news: Notify::new(),
                clock: tools.clock.clone(),
                times: tools.metrics.queue(name, stats),
                haste: tools.haste.clone(),
                rank,
            }
        })
    }

    /// Something about a key changed.
    pub(crate) fn add(&self, key: &K) {
        let now = self.clock.now();
        self.queue().add(key, now);
        self.news.notify_one();
    }

    /// Look at a key then, or not at all, if nothing happens before. To be said by who works on it.
    pub(crate) fn set_wake(&self, key: &K, at: Option<Timestamp>) {
        self.queue().set_wake(key, at);
        self.news.notify_one();
    }

    /// Leave a key alone for a while, and look at it then.
    pub(crate) fn let_rest(&self, key: &K, delay: Duration) {
        let now = self.clock.now();
        self.queue().rest(key, delay, now);
        self.news.notify_one();
    }

    /// A key is no more.
    pub(crate) fn remove(&self, key: &K) {
        self.queue().remove(key);
    }

    /// Somebody has changed what a key stands for, so its failures may be over.
    pub(crate) fn forget(&self, key: &K) {
        let now = self.clock.now();
        self.queue().forget(key, now);
        self.news.notify_one();
    }

    /// Whether others are due, so that what is not urgent may wait.
    pub(crate) fn is_pressed(&self) -> bool {
        let now = self.clock.now();
        self.queue().is_pressed(now)
    }

    /// When the first key wakes by itself.
    pub(crate) fn next_wake(&self) -> Option<Timestamp> {
        self.queue().next_wake()
    }

    /// Works until told to stop; then lets what is being done finish.
    pub(crate) async fn run<W, F>(&self, workers: usize, work: W, stop: CancellationToken)
    where
        W: Fn(K) -> F,
        F: Future<Output = Result<(), Failure>> + Send + 'static,
    {
        let mut running: JoinSet<(K, Result<(), Failure>)> = JoinSet::new();
        while !stop.is_cancelled() {
            let stands_back = self.rank == Rank::Later && self.haste.is_on();
            let workers = if stands_back { 1 } else { workers };
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
                biased;
                () = stop.cancelled() => {}
                Some(Ok((key, result))) = running.join_next() => self.done(&key, result),
                () = self.haste.give_way(), if stands_back => {}
                () = self.news.notified(), if has_room => {}
                () = tokio::time::sleep(self.rest()), if has_room => {}
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
        let popped = self.queue().pop(now)?;
        self.times.queued(popped.queued_for);
        Some(popped)
    }

    fn done(&self, key: &K, result: Result<(), Failure>) {
        let now = self.clock.now();
        let mut queue = self.queue();
        let done = queue.done(key, result, now);
        if self.rank == Rank::First {
            self.haste.set(queue.is_pressed(now));
        }
        done.iter().for_each(|done| self.times.worked(done.worked_for));
    }

    fn stats(&self) -> Stats {
        let now = self.clock.now();
        self.queue().stats(now)
    }

    /// How long there is nothing to do, as far as we know.
    fn rest(&self) -> Duration {
        let now = self.clock.now();
        let due = self.queue().next_due(now);
        self.clock.rest_until(due)
    }
}
