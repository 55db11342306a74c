//! The work queue of a controller and the loop that gives its keys to workers.

use std::hash::Hash;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures::FutureExt as _;
use jiff::{SignedDuration, Timestamp};
use punctual_client::Clock;
use punctual_queue::{Backoff, Failure, PoppedKey, Queue};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::burst_gate::BurstGate;
use crate::context::Context;
use crate::metrics::{QueueState, QueueTimes};

/// How far the clock must be set back to be noticed. A CronJob waits at most this long without a message.
const SET_BACK_MIN: SignedDuration = SignedDuration::from_secs(60);

/// A queue of keys, shared by the watches that add keys and the workers that reconcile them.
pub(crate) struct WorkQueue<K> {
    queue: Mutex<Queue<K>>,
    changed: Notify,
    clock: Arc<dyn Clock>,
    times: QueueTimes,
    burst_gate: BurstGate,
    priority: Priority,
    /// The number of workers; 0 until they run.
    workers: AtomicUsize,
    /// How often a reconcile was started or ended.
    moves: AtomicU64,
    /// The clock when a key was last asked for.
    last_now: Mutex<Timestamp>,
    clock_set_back: Notify,
}

/// Which controllers keep all their workers during a burst of slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Priority {
    /// Starts slots, and reports bursts to the [`BurstGate`].
    High,
    /// Uses a single worker during a burst.
    Low,
}

impl<K: Clone + Eq + Hash + Send + Sync + 'static> WorkQueue<K> {
    /// Creates an empty queue. `name` is the label of its metrics.
    pub(crate) fn new(
        priority: Priority,
        name: &'static str,
        backoff: Backoff,
        context: &Context,
    ) -> Arc<WorkQueue<K>> {
        Arc::new_cyclic(|weak: &Weak<WorkQueue<K>>| {
            let weak = weak.clone();
            let state = move || weak.upgrade().map(|queue| queue.state());
            WorkQueue {
                queue: Mutex::new(Queue::new(backoff)),
                changed: Notify::new(),
                clock: context.clock.clone(),
                times: context.metrics.add_queue(name, state),
                burst_gate: context.burst_gate.clone(),
                priority,
                workers: AtomicUsize::new(0),
                moves: AtomicU64::new(0),
                last_now: Mutex::new(Timestamp::MIN),
                clock_set_back: Notify::new(),
            }
        })
    }

    /// Queues a key because one of its objects changed.
    pub(crate) fn add(&self, key: &K) {
        let now = self.clock.now();
        self.queue().add(key, now);
        self.changed.notify_one();
    }

    /// Sets when to reconcile a key if no object changes before, or never for `None`. Only the worker that
    /// reconciles the key may call this.
    pub(crate) fn set_wake(&self, key: &K, at: Option<Timestamp>) {
        self.queue().set_wake(key, at);
        self.changed.notify_one();
    }

    /// Queues a key after a delay, and not before, even if its objects change.
    pub(crate) fn add_after(&self, key: &K, delay: Duration) {
        let now = self.clock.now();
        self.queue().delay(key, delay, now);
        self.changed.notify_one();
    }

    /// Removes a key whose object was deleted.
    pub(crate) fn remove(&self, key: &K) {
        self.queue().remove(key);
    }

    /// Ends the backoff of a key, because the object changed in a way that may have removed the cause of its
    /// failures.
    pub(crate) fn forget_failures(&self, key: &K) {
        let now = self.clock.now();
        self.queue().forget(key, now);
        self.changed.notify_one();
    }

    /// Whether other keys are due, so that work without a deadline should wait.
    pub(crate) fn has_due(&self) -> bool {
        let now = self.clock.now();
        self.queue().has_due(now)
    }

    /// The earliest wake-up time of all keys.
    pub(crate) fn next_wake(&self) -> Option<Timestamp> {
        self.queue().next_wake()
    }

    /// Waits until the clock is set back. Wake-ups that were computed from the later time are too late then.
    pub(crate) async fn wait_for_clock_set_back(&self) {
        self.clock_set_back.notified().await;
    }

    /// Runs up to `workers` reconciles at a time until `stop` is cancelled, then waits for those that run.
    pub(crate) async fn run<W, F>(&self, workers: usize, reconcile: W, stop: CancellationToken)
    where
        W: Fn(K) -> F,
        F: Future<Output = Result<(), Failure>> + Send + 'static,
    {
        self.workers.store(workers, Ordering::Relaxed);
        let mut running: JoinSet<(K, Result<(), Failure>)> = JoinSet::new();
        while !stop.is_cancelled() {
            let must_yield = self.priority == Priority::Low && self.burst_gate.is_burst();
            let workers = if must_yield { 1 } else { workers };
            while running.len() < workers
                && let Some(popped) = self.pop()
            {
                let key = popped.key.clone();
                // A reconcile that panics counts as failed and does not affect the others.
                let task = AssertUnwindSafe(reconcile(popped.key)).catch_unwind();
                running.spawn(async move { (key, task.await.unwrap_or(Err(Failure::default()))) });
            }
            let has_idle_worker = running.len() < workers;
            tokio::select! {
                biased;
                () = stop.cancelled() => {}
                Some(Ok((key, result))) = running.join_next() => self.done(&key, result),
                () = self.burst_gate.yield_to_burst(), if must_yield => {}
                () = self.changed.notified(), if has_idle_worker => {}
                () = tokio::time::sleep(self.idle_time()), if has_idle_worker => {}
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

    fn pop(&self) -> Option<PoppedKey<K>> {
        let now = self.clock.now();
        self.observe_clock(now);
        let popped = self.queue().pop(now)?;
        self.moves.fetch_add(1, Ordering::Relaxed);
        self.times.observe_queued(popped.queued_for);
        Some(popped)
    }

    fn observe_clock(&self, now: Timestamp) {
        let mut last_now = self.last_now.lock().unwrap_or_else(PoisonError::into_inner);
        let last = std::mem::replace(&mut *last_now, now);
        if last.duration_since(now) >= SET_BACK_MIN {
            self.clock_set_back.notify_one();
        }
    }

    fn done(&self, key: &K, result: Result<(), Failure>) {
        let now = self.clock.now();
        self.moves.fetch_add(1, Ordering::Relaxed);
        let mut queue = self.queue();
        let done = queue.done(key, result, now);
        if self.priority == Priority::High {
            self.burst_gate.set_burst(queue.has_due(now));
        }
        if let Some(done) = done {
            self.times.observe_worked(done.worked_for);
        }
    }

    fn state(&self) -> QueueState {
        let now = self.clock.now();
        let stats = self.queue().stats(now);
        QueueState {
            stats,
            workers: self.workers.load(Ordering::Relaxed),
            moves: self.moves.load(Ordering::Relaxed),
        }
    }

    /// How long to sleep until the next key is due.
    fn idle_time(&self) -> Duration {
        let now = self.clock.now();
        let due = self.queue().next_due(now);
        self.clock.delay_until(due)
    }
}
