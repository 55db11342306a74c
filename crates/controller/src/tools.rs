//! What every controller works with.

use std::sync::Arc;

use kube::Client;

use crate::calls::Calls;
use crate::clock::Clock;
use crate::fence::Fence;
use crate::haste::Haste;
use crate::metrics::Metrics;

/// What every controller works with.
#[derive(Clone)]
pub struct Tools {
    /// The API.
    pub client: Client,
    /// The clocks.
    pub clock: Arc<dyn Clock>,
    /// The counters.
    pub metrics: Metrics,
    /// Whether slots wait; the same for all controllers of a process.
    pub haste: Haste,
    /// Whether effects are allowed: [`Fence::open`] where there is nobody else.
    pub fence: Fence,
}

impl Tools {
    pub(crate) fn calls(&self) -> Calls {
        Calls::new(self.client.clone(), self.metrics.clone()).behind(self.fence.clone())
    }
}
