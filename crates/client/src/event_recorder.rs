//! Writes Events about objects in the background.
//!
//! ```text
//!  record() ─▶ EventQueue (bounded) ─▶ Correlator ─▶ EventWriter: create, or increment the count
//!                 one of each per lane
//! ```
//!
//! [`EventRecorder::record`] never waits. Objects are hashed to a few lanes, and each lane writes one
//! Event at a time: Events about one object are written in order, few calls are in flight, and a noisy
//! object delays only the objects of its lane.

mod correlator;
mod event_queue;
mod lru;
mod writer;

use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use punctual_api::event::{EventSource, PendingEvent};
use punctual_api::meta::ObjectReference;
use tokio_util::sync::CancellationToken;

use self::correlator::Correlator;
use self::event_queue::{EventQueue, QueuedEvent};
use self::writer::EventWriter;
use crate::api_client::{ApiClient, ClientMetrics};
use crate::clock::Clock;

/// The number of Events that are written at a time.
const LANES: usize = 4;

/// The number of distinct Events that are remembered, over all lanes, as in client-go.
const REMEMBERED_MAX: usize = 4_096;

/// How long queued Events are still written after the stop.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// Queues Events and writes them in the background. Clones share the same queues.
#[derive(Clone)]
pub struct EventRecorder {
    lanes: Arc<[Arc<EventQueue>]>,
    clock: Arc<dyn Clock>,
    metrics: Arc<dyn ClientMetrics>,
}

impl EventRecorder {
    /// A recorder for a component, and the future that writes its Events. The caller must run the
    /// future, which ends shortly after `stop` is cancelled.
    pub fn new(
        api: ApiClient,
        clock: Arc<dyn Clock>,
        source: EventSource,
        stop: CancellationToken,
    ) -> (EventRecorder, impl Future<Output = ()> + Send + use<>) {
        let lanes: Arc<[Arc<EventQueue>]> = (0..LANES).map(|_| Arc::default()).collect();
        let metrics = api.metrics().clone();
        let writer = EventWriter::new(api, stop.clone());
        let writing = join_all(lanes.iter().map(|queue| {
            let correlator = Correlator::new(source.clone(), REMEMBERED_MAX / LANES);
            write_lane(queue.clone(), correlator, writer.clone(), stop.clone())
        }));
        let work = async move {
            let flush_deadline = async {
                stop.cancelled().await;
                tokio::time::sleep(FLUSH_TIMEOUT).await;
            };
            tokio::select! {
                biased;
                _ = writing => {}
                () = flush_deadline => {
                    tracing::debug!(component = source.component, "stopped before all events were written");
                }
            }
        };
        (EventRecorder { lanes, clock, metrics }, work)
    }

    /// Queues an Event about an object. Never waits; drops the oldest Event if the queue is full.
    pub fn record(&self, object: &ObjectReference, event: &PendingEvent) {
        let mut hasher = DefaultHasher::new();
        (&object.kind, &object.namespace, &object.name, &object.uid).hash(&mut hasher);
        let lane = hasher.finish() as usize % LANES;
        if let Some(queue) = self.lanes.get(lane) {
            let dropped = queue.push(QueuedEvent::new(object, event, self.clock.now()));
            if dropped > 0 {
                self.metrics.events_dropped(dropped);
            }
        }
    }
}

/// Writes the Events of one lane until the stop, and then those that are still queued.
async fn write_lane(
    queue: Arc<EventQueue>,
    mut correlator: Correlator,
    writer: EventWriter,
    stop: CancellationToken,
) {
    while let Some(event) = queue.next(&stop).await {
        if let Some(write) = correlator.correlate(event) {
            writer.write(&write).await;
        }
    }
}

impl fmt::Debug for EventRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventRecorder").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
