//! Creates that may still arrive.
//!
//! Somewhere on its way a call can outlive who made it: we have given it up, or another leads by now. A create
//! that comes late finds its name taken, and does no harm, for as long as the Job of its slot is there. So what
//! has ended stays until nothing can come any more.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use punctual_client::Clock;

/// Until when a create may arrive that nobody waits for.
pub(super) struct Echo {
    lasts: Duration,
    clock: Arc<dyn Clock>,
    /// When the last one may have been sent.
    since: Mutex<Duration>,
}

impl Echo {
    /// Whoever worked before us may have left some.
    pub(super) fn new(lasts: Duration, clock: Arc<dyn Clock>) -> Echo {
        let since = Mutex::new(clock.monotonic());
        Echo { lasts, clock, since }
    }

    /// One of ours was given up.
    pub(super) fn begin(&self) {
        *self.since() = self.clock.monotonic();
    }

    /// How long one may still arrive.
    pub(super) fn left(&self) -> Duration {
        let past = self.clock.monotonic().saturating_sub(*self.since());
        self.lasts.saturating_sub(past)
    }

    fn since(&self) -> MutexGuard<'_, Duration> {
        self.since.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
