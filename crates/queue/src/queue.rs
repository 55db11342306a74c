//! [`Queue`], the work queue. Each call updates the state of one key and repositions it in the
//! lists.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::time::Duration;

use jiff::Timestamp;

use crate::backoff::{Backoff, Failure};
use crate::due_list::DueList;
use crate::queued_key::{ActiveRun, QueuedKey, Retry};
use crate::run::{FinishedRun, PoppedKey, RunCause};
use crate::stats::QueueStats;
use crate::time;

/// The number of wake-ups and retries that may be popped while a change waits.
pub const CONSECUTIVE_TIMED_MAX: u32 = 16;

/// All changes have this instant, so they are ordered by arrival and ready at any time.
const ANY_TIME: Timestamp = Timestamp::UNIX_EPOCH;

/// A keyed work queue. See the [crate documentation](crate) for its guarantees.
#[derive(Debug)]
pub struct Queue<K> {
    backoff: Backoff,
    /// Never iterated, because its order is random.
    entries: HashMap<K, QueuedKey>,
    changes: DueList<K>,
    wakes: DueList<K>,
    retries: DueList<K>,
    /// The start of each active run, by its id.
    runs: BTreeMap<u64, Timestamp>,
    run_count: u64,
    consecutive_timed: u32,
    add_count: u64,
    retry_count: u64,
    /// The clock at the last call. An earlier clock means that it was set back.
    last_now: Timestamp,
}

impl<K: Clone + Eq + Hash> Queue<K> {
    /// Creates an empty queue.
    pub fn new(backoff: Backoff) -> Self {
        Self {
            backoff,
            entries: HashMap::new(),
            changes: DueList::new(),
            wakes: DueList::new(),
            retries: DueList::new(),
            runs: BTreeMap::new(),
            run_count: 0,
            consecutive_timed: 0,
            add_count: 0,
            retry_count: 0,
            last_now: Timestamp::MIN,
        }
    }

    /// Reports a change of the key. The key runs as soon as possible, once for any number of changes. If
    /// it runs now, it runs again afterwards. If it backs off, it runs at its retry.
    pub fn add(&mut self, key: &K, now: Timestamp) {
        self.observe_clock(now);
        self.mark_changed(key, now);
    }

    /// Replaces the wake-up of the key, or removes it.
    ///
    /// A wake-up remains until it is due or replaced, even if the key runs earlier for another reason.
    /// If the key runs now, the wake-up applies from [`Queue::done`] on. If the key was removed during
    /// its run, the call has no effect.
    pub fn set_wake(&mut self, key: &K, at: Option<Timestamp>) {
        if self.entries.get(key).is_some_and(QueuedKey::is_removed) {
            return;
        }
        match at {
            Some(_) => self.entries.entry(key.clone()).or_default().wake_at = at,
            None => {
                if let Some(entry) = self.entries.get_mut(key) {
                    entry.wake_at = None;
                }
            }
        }
        self.reposition(key);
    }

    /// Delays the key, and runs it after the delay. Changes and wake-ups do not shorten the delay. An
    /// active run and an existing backoff are not affected.
    pub fn delay(&mut self, key: &K, delay: Duration, now: Timestamp) {
        self.observe_clock(now);
        let entry = self.entries.entry(key.clone()).or_default();
        entry.retry.get_or_insert(Retry::new(now, delay));
        self.reposition(key);
    }

    /// Returns the next key to work on, if one is due.
    pub fn pop(&mut self, now: Timestamp) -> Option<PoppedKey<K>> {
        self.observe_clock(now);
        let key = self.choose_key(now)?;
        let entry = self.entries.get_mut(&key)?;
        let cause = match (entry.retry, entry.due_wake(now)) {
            (Some(_), _) => RunCause::Retry,
            (None, Some(_)) => RunCause::Wake,
            (None, None) => RunCause::Change,
        };
        let due_at = entry.due_at(now);
        let failures = entry.failures;
        self.add_count += u64::from(entry.changed_at.is_none());
        self.run_count += 1;
        self.runs.insert(self.run_count, now);
        let run = ActiveRun { id: self.run_count, started_at: now, is_removed: false };
        entry.begin(run, now);
        self.reposition(&key);
        let queued_for = time::elapsed(due_at, now);
        Some(PoppedKey { key, cause, due_at, queued_for, failures })
    }

    /// Ends the run of a key. Returns None if the key does not run.
    ///
    /// A success ends the backoff. A failure (including a panic of the worker) retries the key after a
    /// backoff; its wake-up and its changes wait for the retry.
    pub fn done(
        &mut self,
        key: &K,
        result: Result<(), Failure>,
        now: Timestamp,
    ) -> Option<FinishedRun> {
        self.observe_clock(now);
        let entry = self.entries.get_mut(key)?;
        let run = entry.run.take()?;
        self.runs.remove(&run.id);
        // A delay set during the run was in no list, so a step back of the clock did not shorten it.
        entry.retry = entry.retry.map(|retry| retry.rebased(now));
        match result {
            _ if run.is_removed => {}
            Ok(()) => entry.failures = 0,
            Err(failure) => {
                entry.failures = entry.failures.saturating_add(1);
                let delay = self.backoff.delay_after(entry.failures, failure, now);
                entry.retry = Some(Retry::new(now, delay));
                self.retry_count += 1;
            }
        }
        let retry_at = entry.retry.map(|retry| retry.at);
        self.reposition(key);
        Some(FinishedRun { worked_for: time::elapsed(run.started_at, now), retry_at })
    }

    /// Clears the failures of a key and retries it as soon as possible. Call it when a user has changed
    /// the object, because that may have removed the cause, but not after changes of our own.
    pub fn forget(&mut self, key: &K, now: Timestamp) {
        self.observe_clock(now);
        let Some(entry) = self.entries.get_mut(key) else {
            return;
        };
        entry.failures = 0;
        if entry.retry.take().is_some() {
            self.mark_changed(key, now);
        }
    }

    /// Removes the key. An active run still counts as running until it is done, but its result is
    /// ignored. A key that is added again has no failures.
    pub fn remove(&mut self, key: &K) {
        let Some(entry) = self.entries.get_mut(key) else {
            return;
        };
        let run = entry.run.map(|run| ActiveRun { is_removed: true, ..run });
        let positions = std::mem::take(&mut entry.positions);
        *entry = QueuedKey { run, positions, ..QueuedKey::default() };
        self.reposition(key);
    }

    /// Returns the instant from which [`Queue::pop`] returns a key: `now` if it does already. The value
    /// is valid until the next call of another method.
    pub fn next_due(&self, now: Timestamp) -> Option<Timestamp> {
        let timed = [self.wakes.first(), self.retries.first()].into_iter().flatten();
        let ready = self.changes.first().map(|_| now);
        timed.map(|(at, _)| at.max(now)).chain(ready).min()
    }

    /// Returns the first wake-up of the keys that neither run nor back off.
    pub fn next_wake(&self) -> Option<Timestamp> {
        self.wakes.first().map(|(at, _)| at)
    }

    /// Reports whether a wake-up or a retry is due, so that less urgent work should wait.
    pub fn has_due(&self, now: Timestamp) -> bool {
        let mut timed = [self.wakes.first(), self.retries.first()].into_iter().flatten();
        timed.any(|(at, _)| at <= now)
    }

    /// Returns the counters and gauges. Takes time proportional to the due and running keys, so call
    /// it only for metrics.
    pub fn stats(&self, now: Timestamp) -> QueueStats {
        let unchanged = |key: &&K| self.entries.get(*key).is_none_or(|e| e.changed_at.is_none());
        let woken = self.wakes.due(now).filter(unchanged).count();
        let ages = self.runs.values().map(|started_at| time::elapsed(*started_at, now));
        QueueStats {
            depth: self.changes.len() + woken + self.retries.due(now).count(),
            adds: self.add_count,
            retries: self.retry_count,
            in_flight: self.runs.len(),
            unfinished: ages.clone().fold(Duration::ZERO, Duration::saturating_add),
            longest_running: ages.max().unwrap_or_default(),
            wake_ups: self.wakes.len(),
            backing_off: self.retries.len(),
        }
    }

    /// Detects a clock that was set back.
    fn observe_clock(&mut self, now: Timestamp) {
        let is_set_back = now < self.last_now;
        self.last_now = now;
        if is_set_back {
            self.rebase_retries(now);
        }
    }

    /// Shortens the retries that a step back of the clock has moved further away than the longest
    /// backoff. Two threads whose clock readings arrive in the wrong order cause no work.
    fn rebase_retries(&mut self, now: Timestamp) {
        for key in self.retries.after(time::add_delay(now, self.backoff.cap())) {
            if let Some(entry) = self.entries.get_mut(&key) {
                entry.retry = entry.retry.map(|retry| retry.rebased(now));
            }
            self.reposition(&key);
        }
    }

    fn mark_changed(&mut self, key: &K, now: Timestamp) {
        let entry = self.entries.entry(key.clone()).or_default();
        if entry.changed_at.is_none() {
            entry.changed_at = Some(now);
            self.add_count += 1;
        }
        self.reposition(key);
    }

    fn choose_key(&mut self, now: Timestamp) -> Option<K> {
        let timed = [self.wakes.first(), self.retries.first()].into_iter().flatten();
        // `min_by_key` returns the first of equal elements: a wake-up before a retry.
        let timed = timed.filter(|(at, _)| *at <= now).min_by_key(|(at, _)| *at);
        let timed = timed.map(|(_, key)| key.clone());
        let Some((_, change)) = self.changes.first() else {
            self.consecutive_timed = 0;
            return timed;
        };
        match timed {
            Some(key) if self.consecutive_timed < CONSECUTIVE_TIMED_MAX => {
                self.consecutive_timed += 1;
                Some(key)
            }
            _ => {
                self.consecutive_timed = 0;
                Some(change.clone())
            }
        }
    }

    /// Updates the positions of a key in the lists, and drops a key without a reason to run.
    fn reposition(&mut self, key: &K) {
        let Some(entry) = self.entries.get_mut(key) else {
            return;
        };
        let mut change = None;
        let mut wake = None;
        let mut retry = None;
        if entry.run.is_none() {
            retry = entry.retry.map(|retry| retry.at);
            if retry.is_none() {
                change = entry.changed_at.map(|_| ANY_TIME);
                wake = entry.wake_at;
            }
        }
        self.changes.reposition(&mut entry.positions.change, change, key);
        self.wakes.reposition(&mut entry.positions.wake, wake, key);
        self.retries.reposition(&mut entry.positions.retry, retry, key);
        if entry.is_idle() {
            self.entries.remove(key);
        }
    }
}
