//! What time it is, for those who have to wait.

use std::time::Duration;

use jiff::Timestamp;
use rustix::time::{ClockId, clock_gettime};

/// The clock is looked at so often at least, since it may be set.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The clocks of a machine. A simulation has its own.
pub trait Clock: Send + Sync {
    /// The time on the wall.
    fn now(&self) -> Timestamp;

    /// What has passed since an instant that stays the same. Nobody sets this clock, and it goes on
    /// while the machine sleeps.
    fn monotonic(&self) -> Duration;

    /// How long to sleep before it is worth looking whether it is that time.
    fn rest_until(&self, at: Option<Timestamp>) -> Duration {
        let Some(at) = at else { return LOOK_EVERY };
        // What is past cannot be converted, and is due.
        let rest = at.duration_since(self.now()).try_into().unwrap_or(Duration::ZERO);
        LOOK_EVERY.min(rest)
    }

    /// As [`Clock::rest_until`], on the monotonic clock: whoever sleeps does not notice that the
    /// machine did. Nothing if it is that time.
    fn rest_until_monotonic(&self, at: Duration) -> Duration {
        LOOK_EVERY.min(at.saturating_sub(self.monotonic()))
    }
}

/// Waits until the monotonic clock shows that time.
pub(crate) async fn sleep_until(clock: &dyn Clock, at: Duration) {
    loop {
        let rest = clock.rest_until_monotonic(at);
        if rest.is_zero() {
            return;
        }
        tokio::time::sleep(rest).await;
    }
}

/// Elsewhere the monotonic clock is the one that goes on.
#[cfg(not(target_os = "linux"))]
const GOES_ON: ClockId = ClockId::Monotonic;
#[cfg(target_os = "linux")]
const GOES_ON: ClockId = ClockId::Boottime;

/// The real one.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealClock;

impl Clock for RealClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock of the shell")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn monotonic(&self) -> Duration {
        // It counts from the start of the machine, so it is never negative.
        clock_gettime(GOES_ON).try_into().unwrap_or(Duration::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_monotonic_clock_never_goes_back() {
        let first = RealClock.monotonic();
        assert!(first > Duration::ZERO);
        assert!(RealClock.monotonic() >= first);
    }

    #[test]
    fn nobody_rests_longer_than_a_second_or_at_all_when_it_is_time() {
        let now = RealClock.monotonic();
        assert_eq!(RealClock.rest_until_monotonic(now), Duration::ZERO);
        let later = now + Duration::from_secs(3_600);
        assert_eq!(RealClock.rest_until_monotonic(later), Duration::from_secs(1));
    }
}
