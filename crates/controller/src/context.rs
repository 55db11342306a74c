//! What all controllers of a process share: client, clock, metrics, burst gate and fence.

use std::sync::Arc;

use kube::Client;
use punctual_api::event::EventSource;
use punctual_client::{ApiClient, Clock, EventRecorder, Fence, SharedWatches, WatchSource};
use tokio_util::sync::CancellationToken;

use crate::burst_gate::BurstGate;
use crate::metrics::Metrics;

/// Dependencies of a controller.
#[derive(Clone)]
pub struct Context {
    /// The Kubernetes client.
    pub client: Client,
    /// The watches that the controllers of this process share. `None` gives each its own.
    pub shared_watches: Option<SharedWatches>,
    /// The wall clock and the monotonic clock.
    pub clock: Arc<dyn Clock>,
    /// The metrics of the process.
    pub metrics: Metrics,
    /// Slows other controllers down while slots are due. All controllers of a process share one.
    pub burst_gate: BurstGate,
    /// Whether writes are allowed. Use [`Fence::always_open`] where no other process does the same work.
    pub fence: Fence,
}

impl Context {
    /// A recorder of Events for a component, and the future that writes them.
    pub(crate) fn recorder(
        &self,
        component: &str,
        stop: CancellationToken,
    ) -> (EventRecorder, impl Future<Output = ()> + Send + use<>) {
        let source = EventSource { component: component.to_owned(), host: String::new() };
        EventRecorder::new(self.api_client(), self.clock.clone(), source, stop)
    }

    /// Where the controller's watches come from.
    pub(crate) fn watch_source(&self) -> WatchSource {
        match &self.shared_watches {
            Some(watches) => WatchSource::Shared(watches.clone()),
            None => WatchSource::Own(self.client.clone()),
        }
    }

    pub(crate) fn api_client(&self) -> ApiClient {
        ApiClient::new(self.client.clone(), Arc::new(self.metrics.clone()))
            .with_fence(self.fence.clone())
    }
}
