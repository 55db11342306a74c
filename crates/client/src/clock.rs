//! The clock of a process, which tests and the simulator replace.

use std::time::Duration;

use jiff::Timestamp;
use rustix::time::{ClockId, clock_gettime};

/// The longest sleep before the clock is read again, because the wall clock can be set.
const SLEEP_MAX: Duration = Duration::from_secs(1);

/// The wall clock and the monotonic clock of a machine. The simulator and tests implement their own.
pub trait Clock: Send + Sync {
    /// The wall clock time.
    fn now(&self) -> Timestamp;

    /// The time since a fixed instant. Setting the wall clock does not change it, and it advances while
    /// the machine is suspended.
    fn monotonic(&self) -> Duration;

    /// How long to sleep before checking again whether the wall clock has reached a time.
    fn delay_until(&self, at: Option<Timestamp>) -> Duration {
        let Some(at) = at else { return SLEEP_MAX };
        // A time in the past does not convert, and is due.
        let left = at.duration_since(self.now()).try_into().unwrap_or(Duration::ZERO);
        SLEEP_MAX.min(left)
    }

    /// How long to sleep before checking again whether the monotonic clock has reached a time; zero
    /// if it has. Sleeps are short because timers stop while the machine is suspended.
    fn delay_until_monotonic(&self, at: Duration) -> Duration {
        SLEEP_MAX.min(at.saturating_sub(self.monotonic()))
    }
}

/// Waits until the monotonic clock reaches a time.
pub async fn sleep_until(clock: &dyn Clock, at: Duration) {
    loop {
        let delay = clock.delay_until_monotonic(at);
        if delay.is_zero() {
            return;
        }
        tokio::time::sleep(delay).await;
    }
}

/// The clock that advances while the machine is suspended.
#[cfg(not(target_os = "linux"))]
const SUSPEND_AWARE: ClockId = ClockId::Monotonic;
#[cfg(target_os = "linux")]
const SUSPEND_AWARE: ClockId = ClockId::Boottime;

/// The clock of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "all other code takes the time from a Clock")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn monotonic(&self) -> Duration {
        // The clock starts with the machine, so it is never negative.
        clock_gettime(SUSPEND_AWARE).try_into().unwrap_or(Duration::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_monotonic_clock_never_decreases() {
        let first = SystemClock.monotonic();
        assert!(first > Duration::ZERO);
        assert!(SystemClock.monotonic() >= first);
    }

    #[test]
    fn a_delay_is_at_most_a_second_and_zero_once_the_time_is_reached() {
        let now = SystemClock.monotonic();
        assert_eq!(SystemClock.delay_until_monotonic(now), Duration::ZERO);
        let later = now + Duration::from_secs(3_600);
        assert_eq!(SystemClock.delay_until_monotonic(later), Duration::from_secs(1));
    }
}
