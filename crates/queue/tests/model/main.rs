//! Compares the queue with a simple model for random calls and a clock that runs and jumps.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod model_queue;

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use model_queue::ModelQueue;
use proptest::prelude::*;
use punctual_queue::{Backoff, Failure, Queue};

#[derive(Clone, Debug)]
enum QueueCall {
    Add(u8),
    /// The wake-up in seconds from now, or None.
    SetWake(u8, Option<i64>),
    /// The delay in seconds.
    Delay(u8, u64),
    Pop,
    /// A run ends. None is a success. A number is a failure; an even number is also its `Retry-After` in seconds.
    Done(u8, Option<u64>),
    Forget(u8),
    Remove(u8),
    /// The clock moves by this many seconds.
    Clock(i64),
}

fn call() -> impl Strategy<Value = QueueCall> {
    let key = 0_u8..12;
    let wake = (key.clone(), proptest::option::of(-5_i64..30));
    prop_oneof![
        4 => key.clone().prop_map(QueueCall::Add),
        4 => wake.prop_map(|(k, at)| QueueCall::SetWake(k, at)),
        1 => (key.clone(), 0_u64..30).prop_map(|(k, s)| QueueCall::Delay(k, s)),
        8 => Just(QueueCall::Pop),
        4 => key.clone().prop_map(|k| QueueCall::Done(k, None)),
        4 => (key.clone(), 0_u64..40).prop_map(|(k, s)| QueueCall::Done(k, Some(s))),
        1 => key.clone().prop_map(QueueCall::Forget),
        1 => key.prop_map(QueueCall::Remove),
        4 => (0_i64..10).prop_map(QueueCall::Clock),
        1 => (-60_i64..60).prop_map(QueueCall::Clock),
        1 => (-40_000_000_i64..40_000_000).prop_map(QueueCall::Clock),
    ]
}

struct QueueAndModel {
    queue: Queue<u8>,
    model: ModelQueue,
    now: Timestamp,
}

impl QueueAndModel {
    fn new() -> Self {
        let queue = Queue::new(Backoff::new(model_queue::BASE, model_queue::CAP));
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        Self { queue, model: ModelQueue::default(), now }
    }

    fn apply(&mut self, call: &QueueCall) {
        let now = self.now;
        match *call {
            QueueCall::Add(key) => {
                self.queue.add(&key, now);
                self.model.add(key, now);
            }
            QueueCall::SetWake(key, seconds) => {
                let at = seconds.map(|seconds| now + SignedDuration::from_secs(seconds));
                self.queue.set_wake(&key, at);
                self.model.set_wake(key, at);
            }
            QueueCall::Delay(key, seconds) => {
                let delay = Duration::from_secs(seconds);
                self.queue.delay(&key, delay, now);
                self.model.delay(key, delay, now);
            }
            QueueCall::Pop => self.pop(),
            QueueCall::Done(key, seconds) => self.done(key, seconds),
            QueueCall::Forget(key) => {
                self.queue.forget(&key, now);
                self.model.forget(key, now);
            }
            QueueCall::Remove(key) => {
                self.queue.remove(&key);
                self.model.remove(key);
            }
            QueueCall::Clock(seconds) => self.now += SignedDuration::from_secs(seconds),
        }
    }

    fn pop(&mut self) {
        let is_due = self.queue.next_due(self.now) == Some(self.now);
        let popped =
            self.queue.pop(self.now).map(|popped| (popped.key, popped.cause, popped.due_at));
        // `pop` may move a retry nearer after a clock step, so the reverse does not hold.
        assert!(popped.is_some() || !is_due, "a due key was not popped");
        assert_eq!(popped, self.model.pop(self.now));
    }

    fn done(&mut self, key: u8, seconds: Option<u64>) {
        let failure = |seconds| {
            let retry_after = (seconds % 2 == 0).then(|| Duration::from_secs(seconds));
            Failure { retry_after, ..Failure::default() }
        };
        let result = seconds.map_or(Ok(()), |seconds| Err(failure(seconds)));
        let done = self.queue.done(&key, result, self.now);
        assert_eq!(done.is_some(), self.model.done(key, result, self.now));
    }

    fn compare(&self) {
        assert_eq!(self.queue.next_due(self.now), self.model.next_due(self.now));
        assert_eq!(self.queue.stats(self.now), self.model.stats(self.now));
    }
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_queue_equals_the_model(calls in prop::collection::vec(call(), 1..200)) {
        let mut pair = QueueAndModel::new();
        for call in &calls {
            pair.apply(call);
            pair.compare();
        }
    }

    /// A key that is added is popped when all runs are done, within the longest backoff.
    #[test]
    fn no_change_is_lost(calls in prop::collection::vec(call(), 1..100), key in 0_u8..12) {
        let mut pair = QueueAndModel::new();
        for call in &calls {
            pair.apply(call);
        }
        pair.queue.add(&key, pair.now);
        for key in 0..12 {
            pair.queue.done(&key, Ok(()), pair.now);
        }
        pair.now += SignedDuration::from_secs(40);
        let popped = std::iter::from_fn(|| pair.queue.pop(pair.now)).filter(|p| p.key == key);
        prop_assert_eq!(popped.count(), 1);
    }
}
