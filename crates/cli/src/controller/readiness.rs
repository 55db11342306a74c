//! The readiness check of `punctual controller`, which `/readyz` reports.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use punctual_controller::{Clock, Fence, LeaseAccess, Signals};
use punctual_server::NotReady;

/// The inputs of the readiness check. It sends no request, so that probes cost the cluster nothing.
pub(super) struct ReadinessCheck {
    /// Access to the Lease; `None` if leader election is disabled.
    pub(super) lease: Option<LeaseReadiness>,
    pub(super) fence: Fence,
    pub(super) signals: Signals,
    /// Whether the cluster serves at least one of the requested kinds.
    pub(super) has_started: Arc<AtomicBool>,
}

/// The access to the Lease, and how long it may fail.
pub(super) struct LeaseReadiness {
    pub(super) access: LeaseAccess,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) tolerance: Duration,
}

impl ReadinessCheck {
    /// A leader is ready once its objects are listed. A standby is ready while it can read its Lease and
    /// write it when a write is due, because it could then become the leader.
    pub(super) fn check(&self) -> Result<(), NotReady> {
        if !self.has_started.load(Ordering::Relaxed) {
            return Err(NotReady::new(
                "the cluster serves none of the requested kinds yet; see the log",
            ));
        }
        if let Some(lease) = &self.lease {
            lease.check()?;
        }
        if self.fence.is_open() && !self.signals.is_synced() {
            return Err(NotReady::new("the objects have not been listed yet"));
        }
        Ok(())
    }
}

impl LeaseReadiness {
    fn check(&self) -> Result<(), NotReady> {
        let checked = self.access.check(self.clock.monotonic(), self.tolerance);
        checked.map_err(|error| {
            NotReady(format!(
                "{error}; it cannot become the leader; check the permissions for Leases and the connection \
                 to the cluster"
            ))
        })
    }
}
