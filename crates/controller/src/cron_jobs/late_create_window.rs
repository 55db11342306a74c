//! How long a create may still reach the server after its sender gave up.
//!
//! A create may arrive after its sender timed out or lost leadership. It does no harm while the Job of its
//! slot (scheduled time) exists, because its name is taken. So finished Jobs are kept until no create can arrive any more.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use punctual_client::Clock;

/// The time in which a create of unknown result may still arrive.
pub(super) struct LateCreateWindow {
    length: Duration,
    clock: Arc<dyn Clock>,
    /// When the last create of unknown result may have been sent.
    started: Mutex<Duration>,
}

impl LateCreateWindow {
    /// Starts the window now, because an earlier process or leader may have sent creates just before.
    pub(super) fn new(length: Duration, clock: Arc<dyn Clock>) -> LateCreateWindow {
        let started = Mutex::new(clock.monotonic());
        LateCreateWindow { length, clock, started }
    }

    /// Starts the window anew, because the result of one of our creates is unknown.
    pub(super) fn restart(&self) {
        *self.started() = self.clock.monotonic();
    }

    /// How long a create may still arrive; zero if the window is over.
    pub(super) fn remaining(&self) -> Duration {
        let elapsed = self.clock.monotonic().saturating_sub(*self.started());
        self.length.saturating_sub(elapsed)
    }

    fn started(&self) -> MutexGuard<'_, Duration> {
        self.started.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
