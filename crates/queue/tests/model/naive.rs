//! The queue as one would explain it: a list of keys that is searched from end to end.

use std::time::Duration;

use jiff::Timestamp;
use punctual_queue::{Cause, Failure, Stats, TIMED_IN_A_ROW_MAX};

pub(crate) const BASE: Duration = Duration::from_secs(2);
pub(crate) const CAP: Duration = Duration::from_secs(20);

#[derive(Clone, Default)]
struct Known {
    key: u8,
    changed_at: Option<Timestamp>,
    wake_at: Option<Timestamp>,
    retry: Option<(Timestamp, Duration)>,
    failures: u32,
    started_at: Option<Timestamp>,
    disowned: bool,
    /// Since when it stands there, counted in steps: as changed, asleep, backing off.
    stands: [Option<(Timestamp, u64)>; 3],
}

#[derive(Default)]
pub(crate) struct Naive {
    known: Vec<Known>,
    steps: u64,
    passed: u32,
    adds: u64,
    retries: u64,
    last_now: Option<Timestamp>,
}

impl Naive {
    pub(crate) fn add(&mut self, key: u8, now: Timestamp) {
        self.look(now);
        let known = self.find(key);
        let is_new = known.changed_at.is_none();
        known.changed_at.get_or_insert(now);
        self.adds += u64::from(is_new);
        self.stand();
    }

    pub(crate) fn set_wake(&mut self, key: u8, at: Option<Timestamp>) {
        let known = self.find(key);
        let is_wanted = known.changed_at.is_some() || known.wake_at.is_some();
        if !known.disowned || is_wanted {
            known.wake_at = at;
        }
        self.stand();
    }

    pub(crate) fn rest(&mut self, key: u8, delay: Duration, now: Timestamp) {
        self.look(now);
        self.find(key).retry.get_or_insert((now + delay, delay));
        self.stand();
    }

    pub(crate) fn pop(&mut self, now: Timestamp) -> Option<(u8, Cause, Timestamp)> {
        self.look(now);
        let first = |which: &[usize]| {
            let stands = self.known.iter().flat_map(|known| {
                which.iter().map(|lane| known.stands[*lane].map(|s| (s, *lane, known.key)))
            });
            stands.flatten().min_by_key(|((at, step), lane, _)| (*at, *lane, *step))
        };
        let timed = first(&[1, 2]).filter(|((at, _), _, _)| *at <= now).map(|(_, _, key)| key);
        let change = first(&[0]).map(|(_, _, key)| key);
        let takes_change =
            change.is_some() && (timed.is_none() || self.passed >= TIMED_IN_A_ROW_MAX);
        let key = if takes_change { change } else { timed }?;
        self.passed = if takes_change || change.is_none() { 0 } else { self.passed + 1 };
        Some(self.begin(key, now))
    }

    fn begin(&mut self, key: u8, now: Timestamp) -> (u8, Cause, Timestamp) {
        let known = self.find(key);
        assert_eq!(known.started_at, None, "key {key} runs already");
        let wake = known.wake_at.filter(|at| *at <= now);
        let was_added = known.changed_at.is_some();
        let (cause, due_at) = match (known.retry, wake, known.changed_at) {
            (Some((at, _)), ..) => (Cause::Retry, at),
            (None, Some(wake), changed) => (Cause::Wake, changed.map_or(wake, |at| at.min(wake))),
            (None, None, changed) => (Cause::Change, changed.unwrap()),
        };
        known.wake_at = known.wake_at.filter(|at| *at > now);
        (known.changed_at, known.retry, known.started_at) = (None, None, Some(now));
        self.adds += u64::from(!was_added);
        self.stand();
        (key, cause, due_at)
    }

    pub(crate) fn done(&mut self, key: u8, result: Result<(), Failure>, now: Timestamp) -> bool {
        self.look(now);
        let known = self.find(key);
        let was_running = known.started_at.take().is_some();
        if was_running {
            known.retry = known.retry.map(|(at, delay)| (at.min(now + delay), delay));
        }
        let counts = was_running && !std::mem::take(&mut known.disowned);
        if counts && result.is_ok() {
            known.failures = 0;
        }
        if let (true, Err(failure)) = (counts, result) {
            known.failures += 1;
            let doubled = BASE * 2_u32.pow((known.failures - 1).min(10));
            let delay = doubled.min(CAP).max(failure.retry_after.unwrap_or_default());
            known.retry = Some((now + delay, delay));
            self.retries += 1;
        }
        self.stand();
        was_running
    }

    pub(crate) fn forget(&mut self, key: u8, now: Timestamp) {
        self.look(now);
        let known = self.find(key);
        known.failures = 0;
        if known.retry.take().is_some() {
            self.add(key, now);
        }
    }

    pub(crate) fn remove(&mut self, key: u8) {
        let known = self.find(key);
        let (started_at, stands) = (known.started_at, known.stands);
        let disowned = started_at.is_some();
        *known = Known { key, started_at, disowned, stands, ..Known::default() };
        self.stand();
    }

    pub(crate) fn next_due(&self, now: Timestamp) -> Option<Timestamp> {
        let each = self.known.iter().flat_map(|known| {
            let [change, wake, retry] = known.stands.map(|stand| stand.map(|(at, _)| at.max(now)));
            [change.map(|_| now), wake, retry]
        });
        each.flatten().min()
    }

    pub(crate) fn stats(&self, now: Timestamp) -> Stats {
        let due = |known: &&Known| {
            let [change, wake, retry] = known.stands.map(|stand| stand.map(|(at, _)| at));
            change.is_some() || [wake, retry].into_iter().flatten().any(|at| at <= now)
        };
        let ages: Vec<Duration> = (self.known.iter())
            .filter_map(|known| known.started_at)
            .map(|from| Duration::try_from(now.duration_since(from)).unwrap_or_default())
            .collect();
        let standing = |lane: usize| self.known.iter().filter(|k| k.stands[lane].is_some()).count();
        Stats {
            depth: self.known.iter().filter(due).count(),
            adds: self.adds,
            retries: self.retries,
            in_flight: ages.len(),
            unfinished: ages.iter().sum(),
            longest_running: ages.iter().max().copied().unwrap_or_default(),
            sleeping: standing(1),
            backing_off: standing(2),
        }
    }

    fn find(&mut self, key: u8) -> &mut Known {
        if !self.known.iter().any(|known| known.key == key) {
            self.known.push(Known { key, ..Known::default() });
        }
        self.known.iter_mut().find(|known| known.key == key).unwrap()
    }

    /// A retry beyond the longest backoff was moved there by the clock.
    fn look(&mut self, now: Timestamp) {
        if self.last_now.replace(now).is_some_and(|last| now < last) {
            self.known.sort_by_key(|known| known.stands[2]);
            for known in self.known.iter_mut().filter(|known| known.stands[2].is_some()) {
                let (at, delay) = known.retry.unwrap();
                let nearer = if at > now + CAP { at.min(now + delay) } else { at };
                known.retry = Some((nearer, delay));
            }
            self.stand();
        }
    }

    /// Whoever comes to stand where it did not stand before is the last there.
    fn stand(&mut self) {
        for known in &mut self.known {
            let free = known.started_at.is_none();
            let open = free && known.retry.is_none();
            let wanted = [
                known.changed_at.map(|_| Timestamp::UNIX_EPOCH).filter(|_| open),
                known.wake_at.filter(|_| open),
                known.retry.map(|(at, _)| at).filter(|_| free),
            ];
            for (stand, at) in known.stands.iter_mut().zip(wanted) {
                if stand.map(|(at, _)| at) != at {
                    self.steps += 1;
                    *stand = at.map(|at| (at, self.steps));
                }
            }
        }
    }
}
