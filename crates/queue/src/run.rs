//! What a worker gets when it takes a key from the queue, and when it returns it.

use std::time::Duration;

use jiff::Timestamp;

/// A key to work on until [`Queue::done`](crate::Queue::done).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoppedKey<K> {
    /// The key.
    pub key: K,
    /// The reason of the run; the first in the order retry, wake-up, change if there are several.
    pub cause: RunCause,
    /// The instant from which the key could have run.
    pub due_at: Timestamp,
    /// The time since `due_at`.
    pub queued_for: Duration,
    /// The number of consecutive failures.
    pub failures: u32,
}

/// The reason of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunCause {
    /// The last run failed, or the key was delayed.
    Retry,
    /// The wake-up is due.
    Wake,
    /// The key was added.
    Change,
}

/// A run that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FinishedRun {
    /// The duration of the run.
    pub worked_for: Duration,
    /// The instant of the retry, if there is one.
    pub retry_at: Option<Timestamp>,
}
