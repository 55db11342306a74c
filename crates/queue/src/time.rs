//! Arithmetic on wall-clock instants. The clock may have been set back between two readings.

use std::time::Duration;

use jiff::Timestamp;

/// Returns the time from `from` to `now`, or zero if `now` is earlier.
pub(crate) fn elapsed(from: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(now.duration_since(from)).unwrap_or_default()
}

/// Adds a delay, up to the largest timestamp.
pub(crate) fn add_delay(from: Timestamp, delay: Duration) -> Timestamp {
    from.checked_add(delay).unwrap_or(Timestamp::MAX)
}
