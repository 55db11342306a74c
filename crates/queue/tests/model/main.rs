//! Random calls, with a clock that runs and jumps, against the queue as one would explain it.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod naive;

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use naive::Naive;
use proptest::prelude::*;
use punctual_queue::{Backoff, Failure, Queue};

#[derive(Clone, Debug)]
enum Call {
    Add(u8),
    /// So many seconds from now, or never.
    SetWake(u8, Option<i64>),
    /// Alone for so many seconds.
    Rest(u8, u64),
    Pop,
    /// The worker of a key ends; `None` is a success, else so many seconds of `Retry-After`.
    Done(u8, Option<u64>),
    Forget(u8),
    Remove(u8),
    /// The clock runs or jumps.
    Clock(i64),
}

fn call() -> impl Strategy<Value = Call> {
    let key = 0_u8..12;
    let wake = (key.clone(), proptest::option::of(-5_i64..30));
    prop_oneof![
        4 => key.clone().prop_map(Call::Add),
        4 => wake.prop_map(|(k, at)| Call::SetWake(k, at)),
        1 => (key.clone(), 0_u64..30).prop_map(|(k, s)| Call::Rest(k, s)),
        8 => Just(Call::Pop),
        4 => key.clone().prop_map(|k| Call::Done(k, None)),
        4 => (key.clone(), 0_u64..40).prop_map(|(k, s)| Call::Done(k, Some(s))),
        1 => key.clone().prop_map(Call::Forget),
        1 => key.prop_map(Call::Remove),
        4 => (0_i64..10).prop_map(Call::Clock),
        1 => (-60_i64..60).prop_map(Call::Clock),
        1 => (-40_000_000_i64..40_000_000).prop_map(Call::Clock),
    ]
}

struct Pair {
    queue: Queue<u8>,
    naive: Naive,
    now: Timestamp,
}

impl Pair {
    fn new() -> Self {
        let queue = Queue::new(Backoff::new(naive::BASE, naive::CAP));
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        Self { queue, naive: Naive::default(), now }
    }

    fn make(&mut self, call: &Call) {
        let now = self.now;
        match *call {
            Call::Add(key) => {
                self.queue.add(&key, now);
                self.naive.add(key, now);
            }
            Call::SetWake(key, seconds) => {
                let at = seconds.map(|seconds| now + SignedDuration::from_secs(seconds));
                self.queue.set_wake(&key, at);
                self.naive.set_wake(key, at);
            }
            Call::Rest(key, seconds) => {
                let delay = Duration::from_secs(seconds);
                self.queue.rest(&key, delay, now);
                self.naive.rest(key, delay, now);
            }
            Call::Pop => self.pop(),
            Call::Done(key, seconds) => self.done(key, seconds),
            Call::Forget(key) => {
                self.queue.forget(&key, now);
                self.naive.forget(key, now);
            }
            Call::Remove(key) => {
                self.queue.remove(&key);
                self.naive.remove(key);
            }
            Call::Clock(seconds) => self.now += SignedDuration::from_secs(seconds),
        }
    }

    fn pop(&mut self) {
        let is_due = self.queue.next_due(self.now) == Some(self.now);
        let popped =
            self.queue.pop(self.now).map(|popped| (popped.key, popped.cause, popped.due_at));
        // A look at the clock may draw a retry nearer, so only this direction holds before it.
        assert!(popped.is_some() || !is_due, "due, but not to be had");
        assert_eq!(popped, self.naive.pop(self.now));
    }

    fn done(&mut self, key: u8, seconds: Option<u64>) {
        let failure = |seconds| {
            let retry_after = Some(Duration::from_secs(seconds)).filter(|_| seconds % 2 == 0);
            Failure { retry_after, ..Failure::default() }
        };
        let result = seconds.map_or(Ok(()), |seconds| Err(failure(seconds)));
        let done = self.queue.done(&key, result, self.now);
        assert_eq!(done.is_some(), self.naive.done(key, result, self.now));
    }

    fn compare(&self) {
        assert_eq!(self.queue.next_due(self.now), self.naive.next_due(self.now));
        assert_eq!(self.queue.stats(self.now), self.naive.stats(self.now));
    }
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_queue_does_as_the_list_does(calls in prop::collection::vec(call(), 1..200)) {
        let mut pair = Pair::new();
        for call in &calls {
            pair.make(call);
            pair.compare();
        }
    }

    /// Whatever happened, a key that was added last is popped once its runs are done, within the
    /// longest wait there is.
    #[test]
    fn no_change_is_lost(calls in prop::collection::vec(call(), 1..100), key in 0_u8..12) {
        let mut pair = Pair::new();
        calls.iter().for_each(|call| pair.make(call));
        pair.queue.add(&key, pair.now);
        (0..12).for_each(|key| { pair.queue.done(&key, Ok(()), pair.now); });
        pair.now += SignedDuration::from_secs(40);
        let popped = std::iter::from_fn(|| pair.queue.pop(pair.now)).filter(|p| p.key == key);
        prop_assert_eq!(popped.count(), 1);
    }
}
