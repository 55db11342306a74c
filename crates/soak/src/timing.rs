//! Spans between two instants, and random durations, for the soak tests.

use std::{ops::RangeInclusive, time::Duration};

use jiff::{SignedDuration, Timestamp};
use punctual_testing::TestRng;

/// The time between two instants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TimeSpan {
    pub(crate) from: Timestamp,
    pub(crate) to: Timestamp,
}

impl TimeSpan {
    pub(crate) fn overlaps(self, other: TimeSpan) -> bool {
        self.from < other.to && other.from < self.to
    }

    /// The part that both have; `None` if it is empty.
    pub(crate) fn intersection(self, other: TimeSpan) -> Option<TimeSpan> {
        let both = TimeSpan { from: self.from.max(other.from), to: self.to.min(other.to) };
        (both.from < both.to).then_some(both)
    }

    pub(crate) fn duration(self) -> SignedDuration {
        self.to.duration_since(self.from)
    }

    pub(crate) fn seconds(self) -> f64 {
        self.duration().as_secs_f64()
    }
}

/// A random duration from a range of milliseconds.
pub(crate) fn random_millis(rng: &TestRng, range: RangeInclusive<u64>) -> Duration {
    Duration::from_millis(range.start() + rng.below(range.end() - range.start() + 1))
}

/// The time of day, which is unambiguous within a soak test.
pub(crate) fn time_of_day(instant: Timestamp) -> String {
    instant.strftime("%H:%M:%S%.3f").to_string()
}
