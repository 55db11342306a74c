//! What every controller works with.

use std::sync::Arc;

use kube::Client;

use crate::calls::Calls;
use crate::clock::Clock;
use crate::haste::Haste;
use crate::metrics::Metrics;

/// What every controller works with.
#[derive(Clone)]
pub struct Tools {
    /// The API.
    pub client: Client,
    /// The clock on the wall.
    pub clock: Arc<dyn Clock>,
    /// The counters.
    pub metrics: Metrics,
    /// Whether slots wait; the same for all controllers of a process.
    pub haste: Haste,
}

impl Tools {
    pub(crate) fn calls(&self) -> Calls {
        Calls::new(self.client.clone(), self.metrics.clone())
    }
}
