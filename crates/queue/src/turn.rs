//! What a worker is given with a key, and what comes of it.

use std::time::Duration;

use jiff::Timestamp;

/// A key to work on, until [`Queue::done`](crate::Queue::done).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Popped<K> {
    /// The key.
    pub key: K,
    /// Why it runs; the foremost reason if there are several.
    pub cause: Cause,
    /// Since when it could have run.
    pub due_at: Timestamp,
    /// How long that is.
    pub queued_for: Duration,
    /// How many runs of it have failed in a row.
    pub failures: u32,
}

/// Why a key runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The last run failed.
    Retry,
    /// Its wake-up is due.
    Wake,
    /// It was added.
    Change,
}

/// A run that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// How long it took.
    pub worked_for: Duration,
    /// When it is tried again, if it failed.
    pub retry_at: Option<Timestamp>,
}
