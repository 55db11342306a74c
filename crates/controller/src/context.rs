//! Dependencies that all controllers of a process share.

use std::sync::Arc;

use kube::Client;

use crate::burst_gate::BurstGate;
use crate::calls::Calls;
use crate::clock::Clock;
use crate::fence::Fence;
use crate::metrics::Metrics;

/// Dependencies of a controller.
#[derive(Clone)]
pub struct Context {
    /// The Kubernetes client.
    pub client: Client,
    /// The wall clock and the monotonic clock.
    pub clock: Arc<dyn Clock>,
    /// The metrics of the process.
    pub metrics: Metrics,
    /// Slows other controllers down while slots are due. All controllers of a process share one.
    pub burst_gate: BurstGate,
    /// Whether writes are allowed. Use [`Fence::open`] where no other process does the same work.
    pub fence: Fence,
}

impl Context {
    pub(crate) fn calls(&self) -> Calls {
        Calls::new(self.client.clone(), self.metrics.clone()).behind(self.fence.clone())
    }
}
