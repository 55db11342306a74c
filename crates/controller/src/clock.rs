//! What time it is, for those who have to wait.

use std::time::Duration;

use jiff::Timestamp;

/// The clock is looked at so often at least, since it may be set.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The clock on the wall. A simulation has its own.
pub trait Clock: Send + Sync {
    /// The time.
    fn now(&self) -> Timestamp;

    /// How long to sleep before it is worth looking whether it is that time.
    fn rest_until(&self, at: Option<Timestamp>) -> Duration {
        let Some(at) = at else { return LOOK_EVERY };
        // What is past cannot be converted, and is due.
        let rest = at.duration_since(self.now()).try_into().unwrap_or(Duration::ZERO);
        LOOK_EVERY.min(rest)
    }
}

/// The real one.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealClock;

impl Clock for RealClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock of the shell")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}
