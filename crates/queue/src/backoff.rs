//! How long a key waits after a failure: exponential backoff with a cap, or what the server asked
//! for.

use std::time::Duration;

use jiff::Timestamp;

use crate::time;

/// A delay of zero would make a failing key a busy loop.
const BASE_MIN: Duration = Duration::from_millis(1);

/// A longer `Retry-After` is capped, because it is probably a mistake of the server.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(3600);

/// The longest backoff after a transient failure.
const TRANSIENT_MAX: Duration = Duration::from_secs(10);

/// Exponential backoff: the base after the first failure, twice that after the second, and so on
/// up to the cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    base: Duration,
    cap: Duration,
}

/// A failed reconcile, and when to retry it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Failure {
    /// The delay that the server asked for (`Retry-After`). The longer of this and the backoff
    /// applies. It is capped at an hour.
    pub retry_after: Option<Duration>,
    /// The backoff ends at this instant at the latest, because work is due then. This deadline does
    /// not shorten `retry_after`.
    pub no_later_than: Option<Timestamp>,
    /// The failure is not caused by the key: the server was unavailable or busy, or another writer
    /// was faster. The backoff stays short, because the cause may disappear at any moment.
    pub is_transient: bool,
}

impl Backoff {
    /// Creates a backoff. Raises the base to at least a millisecond and the cap to at least the base.
    pub fn new(base: Duration, cap: Duration) -> Self {
        let base = base.max(BASE_MIN);
        Self { base, cap: cap.max(base) }
    }

    /// Returns the longest delay without a `Retry-After`.
    pub fn cap(&self) -> Duration {
        self.cap
    }

    /// Returns the delay after this many consecutive failures.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use punctual_queue::Backoff;
    /// let backoff = Backoff::new(Duration::from_millis(10), Duration::from_secs(60));
    /// assert_eq!(backoff.delay(1), Duration::from_millis(10));
    /// assert_eq!(backoff.delay(4), Duration::from_millis(80));
    /// assert_eq!(backoff.delay(u32::MAX), Duration::from_secs(60));
    /// ```
    pub fn delay(&self, failures: u32) -> Duration {
        let Some(doublings) = failures.checked_sub(1) else {
            return Duration::ZERO;
        };
        let factor = 1_u32.checked_shl(doublings).unwrap_or(u32::MAX);
        self.base.saturating_mul(factor).min(self.cap)
    }

    /// Returns the delay after a failure, where `failures` includes it.
    pub(crate) fn delay_after(&self, failures: u32, failure: Failure, now: Timestamp) -> Duration {
        let retry_after = failure.retry_after.unwrap_or_default().min(RETRY_AFTER_MAX);
        let due_in = failure.no_later_than.map(|at| time::elapsed(now, at).max(self.base));
        let limit = if failure.is_transient { TRANSIENT_MAX } else { Duration::MAX };
        self.delay(failures).min(due_in.unwrap_or(Duration::MAX)).min(limit).max(retry_after)
    }
}

/// The default starts at 10 ms, so that a short failure hardly delays a start, and ends at a minute,
/// because a change does not shorten the delay.
impl Default for Backoff {
    fn default() -> Self {
        Self::new(Duration::from_millis(10), Duration::from_secs(60))
    }
}
