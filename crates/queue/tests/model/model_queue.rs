//! A simple model of the queue: a list of keys that is searched from end to end.

use std::time::Duration;

use jiff::Timestamp;
use punctual_queue::{CONSECUTIVE_TIMED_MAX, Failure, QueueStats, RunCause};

pub(crate) const BASE: Duration = Duration::from_secs(2);
pub(crate) const CAP: Duration = Duration::from_secs(20);

#[derive(Clone, Default)]
struct ModelKey {
    key: u8,
    changed_at: Option<Timestamp>,
    wake_at: Option<Timestamp>,
    retry: Option<(Timestamp, Duration)>,
    failures: u32,
    started_at: Option<Timestamp>,
    is_removed: bool,
    /// The position among changes, wake-ups and retries: its instant and its insertion number.
    positions: [Option<(Timestamp, u64)>; 3],
}

#[derive(Default)]
pub(crate) struct ModelQueue {
    entries: Vec<ModelKey>,
    insertions: u64,
    consecutive_timed: u32,
    adds: u64,
    retries: u64,
    last_now: Option<Timestamp>,
}

impl ModelQueue {
    pub(crate) fn add(&mut self, key: u8, now: Timestamp) {
        self.observe_clock(now);
        let entry = self.find(key);
        let is_new = entry.changed_at.is_none();
        entry.changed_at.get_or_insert(now);
        self.adds += u64::from(is_new);
        self.reposition();
    }

    pub(crate) fn set_wake(&mut self, key: u8, at: Option<Timestamp>) {
        let entry = self.find(key);
        let is_wanted = entry.changed_at.is_some() || entry.wake_at.is_some();
        if !entry.is_removed || is_wanted {
            entry.wake_at = at;
        }
        self.reposition();
    }

    pub(crate) fn delay(&mut self, key: u8, delay: Duration, now: Timestamp) {
        self.observe_clock(now);
        self.find(key).retry.get_or_insert((now + delay, delay));
        self.reposition();
    }

    pub(crate) fn pop(&mut self, now: Timestamp) -> Option<(u8, RunCause, Timestamp)> {
        self.observe_clock(now);
        let first = |lists: &[usize]| {
            let positions = self.entries.iter().flat_map(|entry| {
                lists.iter().map(|list| entry.positions[*list].map(|p| (p, *list, entry.key)))
            });
            positions.flatten().min_by_key(|((at, number), list, _)| (*at, *list, *number))
        };
        let timed = first(&[1, 2]).filter(|((at, _), _, _)| *at <= now).map(|(_, _, key)| key);
        let change = first(&[0]).map(|(_, _, key)| key);
        let takes_change = change.is_some()
            && (timed.is_none() || self.consecutive_timed >= CONSECUTIVE_TIMED_MAX);
        let key = if takes_change { change } else { timed }?;
        self.consecutive_timed =
            if takes_change || change.is_none() { 0 } else { self.consecutive_timed + 1 };
        Some(self.begin(key, now))
    }

    fn begin(&mut self, key: u8, now: Timestamp) -> (u8, RunCause, Timestamp) {
        let entry = self.find(key);
        assert_eq!(entry.started_at, None, "key {key} runs already");
        let wake = entry.wake_at.filter(|at| *at <= now);
        let was_added = entry.changed_at.is_some();
        let (cause, due_at) = match (entry.retry, wake, entry.changed_at) {
            (Some((at, _)), ..) => (RunCause::Retry, at),
            (None, Some(wake), changed) => {
                (RunCause::Wake, changed.map_or(wake, |at| at.min(wake)))
            }
            (None, None, changed) => (RunCause::Change, changed.unwrap()),
        };
        entry.wake_at = entry.wake_at.filter(|at| *at > now);
        entry.changed_at = None;
        entry.retry = None;
        entry.started_at = Some(now);
        self.adds += u64::from(!was_added);
        self.reposition();
        (key, cause, due_at)
    }

    pub(crate) fn done(&mut self, key: u8, result: Result<(), Failure>, now: Timestamp) -> bool {
        self.observe_clock(now);
        let entry = self.find(key);
        let was_running = entry.started_at.take().is_some();
        if was_running {
            entry.retry = entry.retry.map(|(at, delay)| (at.min(now + delay), delay));
        }
        let counts = was_running && !std::mem::take(&mut entry.is_removed);
        if counts && result.is_ok() {
            entry.failures = 0;
        }
        if counts && let Err(failure) = result {
            entry.failures += 1;
            let doubled = BASE * 2_u32.pow((entry.failures - 1).min(10));
            let delay = doubled.min(CAP).max(failure.retry_after.unwrap_or_default());
            entry.retry = Some((now + delay, delay));
            self.retries += 1;
        }
        self.reposition();
        was_running
    }

    pub(crate) fn forget(&mut self, key: u8, now: Timestamp) {
        self.observe_clock(now);
        let entry = self.find(key);
        entry.failures = 0;
        if entry.retry.take().is_some() {
            self.add(key, now);
        }
    }

    pub(crate) fn remove(&mut self, key: u8) {
        let entry = self.find(key);
        let started_at = entry.started_at;
        let positions = entry.positions;
        let is_removed = started_at.is_some();
        *entry = ModelKey { key, started_at, is_removed, positions, ..ModelKey::default() };
        self.reposition();
    }

    pub(crate) fn next_due(&self, now: Timestamp) -> Option<Timestamp> {
        let each = self.entries.iter().flat_map(|entry| {
            let [change, wake, retry] =
                entry.positions.map(|position| position.map(|(at, _)| at.max(now)));
            [change.map(|_| now), wake, retry]
        });
        each.flatten().min()
    }

    pub(crate) fn stats(&self, now: Timestamp) -> QueueStats {
        let due = |entry: &&ModelKey| {
            let [change, wake, retry] = entry.positions.map(|position| position.map(|(at, _)| at));
            change.is_some() || [wake, retry].into_iter().flatten().any(|at| at <= now)
        };
        let ages: Vec<Duration> = (self.entries.iter())
            .filter_map(|entry| entry.started_at)
            .map(|from| Duration::try_from(now.duration_since(from)).unwrap_or_default())
            .collect();
        let count_in =
            |list: usize| self.entries.iter().filter(|k| k.positions[list].is_some()).count();
        QueueStats {
            depth: self.entries.iter().filter(due).count(),
            adds: self.adds,
            retries: self.retries,
            in_flight: ages.len(),
            unfinished: ages.iter().sum(),
            longest_running: ages.iter().max().copied().unwrap_or_default(),
            wake_ups: count_in(1),
            backing_off: count_in(2),
        }
    }

    fn find(&mut self, key: u8) -> &mut ModelKey {
        if !self.entries.iter().any(|entry| entry.key == key) {
            self.entries.push(ModelKey { key, ..ModelKey::default() });
        }
        self.entries.iter_mut().find(|entry| entry.key == key).unwrap()
    }

    /// A retry further away than the longest backoff results from a clock step.
    fn observe_clock(&mut self, now: Timestamp) {
        if self.last_now.replace(now).is_some_and(|last| now < last) {
            self.entries.sort_by_key(|entry| entry.positions[2]);
            for entry in self.entries.iter_mut().filter(|entry| entry.positions[2].is_some()) {
                let (at, delay) = entry.retry.unwrap();
                let nearer = if at > now + CAP { at.min(now + delay) } else { at };
                entry.retry = Some((nearer, delay));
            }
            self.reposition();
        }
    }

    /// A key with a new instant is inserted after all keys of that instant.
    fn reposition(&mut self) {
        for entry in &mut self.entries {
            let wanted = if entry.started_at.is_some() {
                [None; 3]
            } else if let Some((at, _)) = entry.retry {
                [None, None, Some(at)]
            } else {
                [entry.changed_at.map(|_| Timestamp::UNIX_EPOCH), entry.wake_at, None]
            };
            for (position, at) in entry.positions.iter_mut().zip(wanted) {
                if position.map(|(at, _)| at) != at {
                    self.insertions += 1;
                    *position = at.map(|at| (at, self.insertions));
                }
            }
        }
    }
}
