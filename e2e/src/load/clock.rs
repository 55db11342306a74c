//! The clocks of benchmarks and soak tests, which may read the real time.

use std::time::{Duration, Instant};

use jiff::Timestamp;

/// The monotonic time.
#[expect(clippy::disallowed_methods, reason = "benchmarks measure real time")]
pub fn now() -> Instant {
    Instant::now()
}

/// The wall-clock time, which schedules use.
#[expect(clippy::disallowed_methods, reason = "benchmarks measure real time")]
pub fn wall_time() -> Timestamp {
    Timestamp::now()
}

/// The time from now to an instant; zero if it has passed.
pub fn time_until(instant: Timestamp) -> Duration {
    instant.duration_since(wall_time()).try_into().unwrap_or_default()
}

/// Runs a function; returns its result and its duration.
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = now();
    let value = work();
    (value, start.elapsed())
}
