//! How long a key waits after failures.

use std::time::Duration;

use jiff::Timestamp;

use crate::span;

/// A delay of zero would make a failing key a busy loop.
const BASE_MIN: Duration = Duration::from_millis(1);

/// A server's wish is granted up to here; beyond, it is taken for a mistake.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(3600);

/// How long a key waits at most for what passes by itself.
const PASSING_MAX: Duration = Duration::from_secs(10);

/// Exponential backoff: the base after the first failure, twice that after the second, and so on
/// up to the cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    base: Duration,
    cap: Duration,
}

/// A run that did not succeed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Failure {
    /// What the server asked for (`Retry-After`). The longer of this and the backoff holds; more
    /// than an hour counts as an hour.
    pub retry_after: Option<Duration>,
    /// The backoff, but not a server's wish, ends here at the latest: something is due then that must
    /// not wait for a failure that may be over.
    pub no_later_than: Option<Timestamp>,
    /// It was not about the key: whoever was asked was away or busy, or somebody else was faster, which
    /// may be over any moment. The backoff stays short.
    pub is_passing: bool,
}

impl Backoff {
    /// The base is raised to a millisecond and the cap to the base, if they are less.
    pub fn new(base: Duration, cap: Duration) -> Self {
        let base = base.max(BASE_MIN);
        Self { base, cap: cap.max(base) }
    }

    /// The longest wait that does not come from a server.
    pub fn cap(&self) -> Duration {
        self.cap
    }

    /// The wait after so many failures in a row.
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

    pub(crate) fn delay_after(&self, failures: u32, failure: Failure, now: Timestamp) -> Duration {
        let wished = failure.retry_after.unwrap_or_default().min(RETRY_AFTER_MAX);
        let due_in = failure.no_later_than.map(|at| span::between(now, at).max(self.base));
        let most = if failure.is_passing { PASSING_MAX } else { Duration::MAX };
        self.delay(failures).min(due_in.unwrap_or(Duration::MAX)).min(most).max(wished)
    }
}

/// From 10 ms, so that a hiccup hardly shows in a start, to a minute, because a change does not cut
/// the wait short.
impl Default for Backoff {
    fn default() -> Self {
        Self::new(Duration::from_millis(10), Duration::from_secs(60))
    }
}
