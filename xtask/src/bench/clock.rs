//! The only clock of the benchmarks.

use std::time::{Duration, Instant};

/// This instant.
#[expect(clippy::disallowed_methods, reason = "a benchmark is what reads the clock")]
pub(super) fn now() -> Instant {
    Instant::now()
}

/// How long something took, beside what it gave.
pub(super) fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = now();
    let value = work();
    (value, start.elapsed())
}
