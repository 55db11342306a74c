//! What time it is, for those who have to wait.

use jiff::Timestamp;

/// The clock on the wall. A simulation has its own.
pub trait Clock: Send + Sync {
    /// The time.
    fn now(&self) -> Timestamp;
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
