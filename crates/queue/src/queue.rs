//! The queue itself: every call changes the reasons of one key and lets it stand where these say.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::time::Duration;

use jiff::Timestamp;

use crate::backoff::{Backoff, Failure};
use crate::entry::{Entry, Retry, Run};
use crate::lane::Lane;
use crate::span;
use crate::stats::Stats;
use crate::turn::{Cause, Done, Popped};

/// So many wake-ups and retries may pass a change that waits, before it has its turn.
pub const TIMED_IN_A_ROW_MAX: u32 = 16;

/// Changes stand in order of arrival alone, so that they are ready whatever the clock says.
const ANY_TIME: Timestamp = Timestamp::UNIX_EPOCH;

/// A keyed work queue; see the [crate](crate) for what it promises.
#[derive(Debug)]
pub struct Queue<K> {
    backoff: Backoff,
    /// Never walked through, so that its random order shows nowhere.
    entries: HashMap<K, Entry>,
    changes: Lane<K>,
    wakes: Lane<K>,
    retries: Lane<K>,
    /// When each run that has not ended began, by its number.
    runs: BTreeMap<u64, Timestamp>,
    run_count: u64,
    timed_in_a_row: u32,
    add_count: u64,
    retry_count: u64,
    /// The clock at the last call; an earlier one now means that it was set back.
    last_now: Timestamp,
}

impl<K: Clone + Eq + Hash> Queue<K> {
    /// An empty queue.
    pub fn new(backoff: Backoff) -> Self {
        Self {
            backoff,
            entries: HashMap::new(),
            changes: Lane::new(),
            wakes: Lane::new(),
            retries: Lane::new(),
            runs: BTreeMap::new(),
            run_count: 0,
            timed_in_a_row: 0,
            add_count: 0,
            retry_count: 0,
            last_now: Timestamp::MIN,
        }
    }

    /// Something about the key changed: it runs as soon as it can, once for any number of changes.
    /// If it runs already, it runs again afterwards; if it backs off, its retry will do.
    pub fn add(&mut self, key: &K, now: Timestamp) {
        self.look(now);
        self.change(key, now);
    }

    /// Replaces the key's wake-up: earlier, later, or none at all.
    ///
    /// It stays until it is due or replaced, whatever else makes the key run before. In a run it
    /// is the worker's to say when to look again; whatever it says holds from [`Queue::done`] on.
    /// After [`Queue::remove`] a worker that still runs says this in vain.
    pub fn set_wake(&mut self, key: &K, at: Option<Timestamp>) {
        if self.entries.get(key).is_some_and(Entry::is_gone) {
            return;
        }
        match at {
            Some(_) => self.entries.entry(key.clone()).or_default().wake_at = at,
            None => self.entries.get_mut(key).into_iter().for_each(|entry| entry.wake_at = None),
        }
        self.place(key);
    }

    /// Leaves a key alone for a while and lets it run then, as if it had failed just now: changes
    /// and wake-ups wait for that. A run of it is not held up; a backoff is not shortened.
    pub fn rest(&mut self, key: &K, delay: Duration, now: Timestamp) {
        self.look(now);
        let entry = self.entries.entry(key.clone()).or_default();
        entry.retry.get_or_insert(Retry::new(now, delay));
        self.place(key);
    }

    /// The next key to work on, if one is due.
    pub fn pop(&mut self, now: Timestamp) -> Option<Popped<K>> {
        self.look(now);
        let key = self.choose(now)?;
        let entry = self.entries.get_mut(&key)?;
        let cause = match (entry.retry, entry.wake_due(now)) {
            (Some(_), _) => Cause::Retry,
            (None, Some(_)) => Cause::Wake,
            (None, None) => Cause::Change,
        };
        let (due_at, failures) = (entry.due_at(now), entry.failures);
        self.add_count += u64::from(entry.changed_at.is_none());
        self.run_count += 1;
        self.runs.insert(self.run_count, now);
        let run = Run { id: self.run_count, started_at: now, is_disowned: false };
        entry.begin(run, now);
        self.place(&key);
        let queued_for = span::between(due_at, now);
        Some(Popped { key, cause, due_at, queued_for, failures })
    }

    /// Ends the run of a key. Without one, nothing happens.
    ///
    /// A success ends the backoff. A failure, and a worker that died is one, brings the key back
    /// after a while; its wake-up and its changes wait for that.
    pub fn done(&mut self, key: &K, result: Result<(), Failure>, now: Timestamp) -> Option<Done> {
        self.look(now);
        let entry = self.entries.get_mut(key)?;
        let run = entry.run.take()?;
        self.runs.remove(&run.id);
        // A rest that was asked for meanwhile stood nowhere while the clock was set back.
        entry.retry = entry.retry.map(|rest| rest.rebased(now));
        match result {
            _ if run.is_disowned => {}
            Ok(()) => entry.failures = 0,
            Err(failure) => {
                entry.failures = entry.failures.saturating_add(1);
                let delay = self.backoff.delay_after(entry.failures, failure, now);
                entry.retry = Some(Retry::new(now, delay));
                self.retry_count += 1;
            }
        }
        let retry_at = entry.retry.map(|retry| retry.at);
        self.place(key);
        Some(Done { worked_for: span::between(run.started_at, now), retry_at })
    }

    /// Forgives the failures of a key, whose cause may have gone: what it backs off from is tried
    /// as soon as it can be. To be called when a user has changed the object, not when we have.
    pub fn forget(&mut self, key: &K, now: Timestamp) {
        self.look(now);
        let Some(entry) = self.entries.get_mut(key) else {
            return;
        };
        entry.failures = 0;
        if entry.retry.take().is_some() {
            self.change(key, now);
        }
    }

    /// The key is no more. If it runs, it still counts as running until it is done; how that ends
    /// does not matter, and a key that is added anew has a clean slate.
    pub fn remove(&mut self, key: &K) {
        let Some(entry) = self.entries.get_mut(key) else {
            return;
        };
        let run = entry.run.map(|run| Run { is_disowned: true, ..run });
        let places = std::mem::take(&mut entry.places);
        *entry = Entry { run, places, ..Entry::default() };
        self.place(key);
    }

    /// The instant from which [`Queue::pop`] has something to give: `now` if it has already.
    /// To be asked again after each call of any other method.
    pub fn next_due(&self, now: Timestamp) -> Option<Timestamp> {
        let timed = [self.wakes.first(), self.retries.first()].into_iter().flatten();
        let ready = self.changes.first().map(|_| now);
        timed.map(|(at, _)| at.max(now)).chain(ready).min()
    }

    /// When the first wake-up is, of keys that neither run nor back off.
    pub fn next_wake(&self) -> Option<Timestamp> {
        self.wakes.first().map(|(at, _)| at)
    }

    /// Whether a wake-up or a retry is due, so that what is not urgent may wait.
    pub fn is_pressed(&self, now: Timestamp) -> bool {
        let timed = [self.wakes.first(), self.retries.first()].into_iter().flatten();
        timed.into_iter().any(|(at, _)| at <= now)
    }

    /// The counters and gauges. Takes time for each key that is due or runs: it is for scrapes.
    pub fn stats(&self, now: Timestamp) -> Stats {
        let unchanged = |key: &&K| self.entries.get(*key).is_none_or(|e| e.changed_at.is_none());
        let woken = self.wakes.due(now).filter(unchanged).count();
        let ages = self.runs.values().map(|started_at| span::between(*started_at, now));
        Stats {
            depth: self.changes.len() + woken + self.retries.due(now).count(),
            adds: self.add_count,
            retries: self.retry_count,
            in_flight: self.runs.len(),
            unfinished: ages.clone().fold(Duration::ZERO, Duration::saturating_add),
            longest_running: ages.max().unwrap_or_default(),
            sleeping: self.wakes.len(),
            backing_off: self.retries.len(),
        }
    }

    /// Notices a clock that was set back.
    fn look(&mut self, now: Timestamp) {
        let is_set_back = now < self.last_now;
        self.last_now = now;
        if is_set_back {
            self.rebase(now);
        }
    }

    /// Draws retries nearer that a step back has moved away. Only those are visited that stand
    /// further away than a backoff can be, so that two threads whose clock readings arrive in the
    /// wrong order cost nothing.
    fn rebase(&mut self, now: Timestamp) {
        for key in self.retries.beyond(span::after(now, self.backoff.cap())) {
            if let Some(entry) = self.entries.get_mut(&key) {
                entry.retry = entry.retry.map(|retry| retry.rebased(now));
            }
            self.place(&key);
        }
    }

    fn change(&mut self, key: &K, now: Timestamp) {
        let entry = self.entries.entry(key.clone()).or_default();
        if entry.changed_at.is_none() {
            entry.changed_at = Some(now);
            self.add_count += 1;
        }
        self.place(key);
    }

    fn choose(&mut self, now: Timestamp) -> Option<K> {
        let timed = [self.wakes.first(), self.retries.first()].into_iter().flatten();
        // Of equals the first is taken: a slot before a retry.
        let timed = timed.filter(|(at, _)| *at <= now).min_by_key(|(at, _)| *at);
        let timed = timed.map(|(_, key)| key.clone());
        let Some((_, change)) = self.changes.first() else {
            self.timed_in_a_row = 0;
            return timed;
        };
        match timed {
            Some(key) if self.timed_in_a_row < TIMED_IN_A_ROW_MAX => {
                self.timed_in_a_row += 1;
                Some(key)
            }
            _ => {
                self.timed_in_a_row = 0;
                Some(change.clone())
            }
        }
    }

    /// Lets a key stand where its reasons say, and forgets one that has none.
    fn place(&mut self, key: &K) {
        let Some(entry) = self.entries.get_mut(key) else {
            return;
        };
        let is_free = entry.run.is_none();
        let retry_at = entry.retry.map(|retry| retry.at).filter(|_| is_free);
        let is_open = is_free && retry_at.is_none();
        let change = entry.changed_at.map(|_| ANY_TIME).filter(|_| is_open);
        self.changes.stand(&mut entry.places.change, change, key);
        self.wakes.stand(&mut entry.places.wake, entry.wake_at.filter(|_| is_open), key);
        self.retries.stand(&mut entry.places.retry, retry_at, key);
        if entry.is_idle() {
            self.entries.remove(key);
        }
    }
}
