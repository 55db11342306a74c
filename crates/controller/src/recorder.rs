//! Events about objects, for the people who watch them.
//!
//! ```text
//!  note() ─▶ Inbox (bounded) ─▶ Correlator ─▶ Writer: create, or count up what is there
//!                 one of each for a part of the objects
//! ```
//!
//! Nobody waits for an event. Objects are parted among a few lanes, each of which writes one event at
//! a time: so the events about an object are written in order, few calls are on their way at any time,
//! and an object that is noisy crowds out a part of the others at most.

mod correlator;
mod inbox;
mod recent;
mod writer;

use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use punctual_api::meta::ObjectReference;
use punctual_engine::Note;
use tokio_util::sync::CancellationToken;

use self::correlator::Correlator;
use self::inbox::{Draft, Inbox};
use self::writer::Writer;
use crate::clock::Clock;
use crate::context::Context;
use crate::metrics::Metrics;

/// How many events are on their way at a time.
const LANES: usize = 4;

/// How many kinds of events are remembered, over all lanes, as in client-go.
const REMEMBERED_MAX: usize = 4_096;

/// How long what is left is written after the stop.
const FLUSH_MAX: Duration = Duration::from_secs(2);

/// Takes notes and writes them as Events when there is time. Clones are handles to the same.
#[derive(Clone)]
pub(crate) struct Recorder {
    lanes: Arc<[Arc<Inbox>]>,
    clock: Arc<dyn Clock>,
    metrics: Metrics,
}

impl Recorder {
    /// A recorder for a component, and its work: to be run until it ends, which is a moment after
    /// the stop.
    pub(crate) fn new(
        context: &Context,
        component: &'static str,
        stop: CancellationToken,
    ) -> (Recorder, impl Future<Output = ()> + Send + use<>) {
        let lanes: Arc<[Arc<Inbox>]> = (0..LANES).map(|_| Arc::default()).collect();
        let writer = Writer::new(context.calls(), context.metrics.clone(), stop.clone());
        let work = join_all(lanes.iter().map(|inbox| {
            let correlator = Correlator::new(component, REMEMBERED_MAX / LANES);
            work(inbox.clone(), correlator, writer.clone(), stop.clone())
        }));
        let work = async move {
            let late = async {
                stop.cancelled().await;
                tokio::time::sleep(FLUSH_MAX).await;
            };
            tokio::select! {
                biased;
                _ = work => {}
                () = late => tracing::debug!(component, "some events were not written"),
            }
        };
        let (clock, metrics) = (context.clock.clone(), context.metrics.clone());
        (Recorder { lanes, clock, metrics }, work)
    }

    /// Takes a note about an object. Never waits.
    pub(crate) fn note(&self, about: &ObjectReference, note: &Note) {
        let mut hasher = DefaultHasher::new();
        (&about.kind, &about.namespace, &about.name, &about.uid).hash(&mut hasher);
        let lane = hasher.finish() as usize % LANES;
        if let Some(inbox) = self.lanes.get(lane) {
            let dropped = inbox.put(Draft::new(about, note, self.clock.now()));
            if dropped > 0 {
                self.metrics.events_dropped(dropped);
            }
        }
    }
}

/// Writes what comes into a lane, until there is no more and will not be.
async fn work(
    inbox: Arc<Inbox>,
    mut correlator: Correlator,
    writer: Writer,
    stop: CancellationToken,
) {
    while let Some(draft) = inbox.next(&stop).await {
        if let Some(entry) = correlator.correlate(draft) {
            writer.write(&entry).await;
        }
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
