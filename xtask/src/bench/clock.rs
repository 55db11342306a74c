//! The only clocks of the benchmarks and trials.

use std::time::{Duration, Instant};

use jiff::Timestamp;

/// This instant.
#[expect(clippy::disallowed_methods, reason = "a benchmark is what reads the clock")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// What the wall says, which is what schedules go by.
#[expect(clippy::disallowed_methods, reason = "a benchmark is what reads the clock")]
pub(crate) fn wall() -> Timestamp {
    Timestamp::now()
}

/// From now to an instant; zero if it has passed.
pub(crate) fn until(instant: Timestamp) -> Duration {
    instant.duration_since(wall()).try_into().unwrap_or_default()
}

/// How long something took, beside what it gave.
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = now();
    let value = work();
    (value, start.elapsed())
}
