//! What a worker receives when it takes a key from the queue, and when it returns the key.

use std::time::Duration;

use jiff::Timestamp;

/// A key that a worker has taken. The worker returns it with [`Queue::done`](crate::Queue::done).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoppedKey<K> {
    /// The key.
    pub key: K,
    /// Why the key runs. If there are several reasons, a retry comes before a wake-up, and a wake-up before
    /// a change.
    pub cause: RunCause,
    /// The earliest instant at which the key could run.
    pub due_at: Timestamp,
    /// The time since `due_at`.
    pub queued_for: Duration,
    /// The number of consecutive failures.
    pub failures: u32,
}

/// Why a key runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunCause {
    /// The last run failed, or [`Queue::delay`](crate::Queue::delay) was called.
    Retry,
    /// The wake-up of the key is due.
    Wake,
    /// The key was added because its object changed.
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
