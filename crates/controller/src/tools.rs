//! What every controller works with.

use std::sync::Arc;

use kube::Client;

use crate::calls::Calls;
use crate::clock::Clock;
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
}

impl Tools {
    pub(crate) fn calls(&self) -> Calls {
        Calls::new(self.client.clone(), self.metrics.clone())
    }
}
