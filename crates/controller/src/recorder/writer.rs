//! One event on its way: created, or counted up if it is there, and given up after a few tries.

use std::time::Duration;

use punctual_api::event::Event;
use serde::de::IgnoredAny;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::correlator::Entry;
use crate::calls::{Calls, Refused};
use crate::metrics::Metrics;

/// How often an event is tried.
const TRIES_MAX: u32 = 6;

/// How long we wait after the first failure; then twice as long each time.
const FIRST_DELAY: Duration = Duration::from_millis(500);

/// The longest that a server can make us wait.
const DELAY_MAX: Duration = Duration::from_secs(30);

/// Writes events.
#[derive(Clone)]
pub(super) struct Writer {
    calls: Calls,
    metrics: Metrics,
    stop: CancellationToken,
}

impl Writer {
    pub(super) fn new(calls: Calls, metrics: Metrics, stop: CancellationToken) -> Writer {
        Writer { calls, metrics, stop }
    }

    /// Writes an event, or drops it. Once we are to stop it is tried once.
    pub(super) async fn write(&self, entry: &Entry) {
        let mut delay = FIRST_DELAY;
        for tried in 1..=TRIES_MAX {
            let Err(refused) = self.attempt(entry).await else {
                return;
            };
            if is_final(&refused) {
                return self.drop_refused(&entry.event, &refused);
            }
            if tried == TRIES_MAX || self.stop.is_cancelled() {
                break;
            }
            let asked = refused.failure().retry_after.unwrap_or_default();
            self.rest(asked.max(delay).min(DELAY_MAX)).await;
            delay *= 2;
        }
        self.metrics.events_dropped(1);
        let (name, message) = (&entry.event.metadata.name, &entry.event.message);
        tracing::warn!(name, message, "an event could not be written");
    }

    async fn rest(&self, delay: Duration) {
        tokio::select! {
            biased;
            () = tokio::time::sleep(delay) => {}
            () = self.stop.cancelled() => {}
        }
    }

    async fn attempt(&self, entry: &Entry) -> Result<(), Refused> {
        if !entry.is_new {
            match self.count_up(&entry.event).await {
                // It has expired, or was never written: it is told anew, with what we know.
                Err(refused) if refused.is_not_found() => {}
                result => return result,
            }
        }
        self.create(&entry.event).await
    }

    async fn count_up(&self, event: &Event) -> Result<(), Refused> {
        let path = format!("{}/{}", collection(event), event.metadata.name);
        let Event { count, last_timestamp, message, .. } = event;
        let patch = json!({"count": count, "lastTimestamp": last_timestamp, "message": message});
        self.calls.patch::<IgnoredAny>(&path, &patch).await.map(drop)
    }

    async fn create(&self, event: &Event) -> Result<(), Refused> {
        let text = serde_json::to_string(event).map_err(|why| Refused::Unknown(why.to_string()))?;
        match self.calls.create::<IgnoredAny>(&collection(event), text).await {
            // No name is made twice, so this is our own whose answer was lost.
            Err(refused) if refused.is_conflict() => Ok(()),
            result => result.map(drop),
        }
    }

    fn drop_refused(&self, event: &Event, refused: &Refused) {
        self.metrics.events_dropped(1);
        // What goes on in a namespace that is going concerns nobody.
        if !refused.is_namespace_terminating() {
            let name = &event.metadata.name;
            tracing::debug!(name, why = refused.message(), "an event was refused");
        }
    }
}

fn collection(event: &Event) -> String {
    format!("/api/v1/namespaces/{}/events", event.metadata.namespace)
}

/// Whether the server has understood and will not change its mind.
fn is_final(refused: &Refused) -> bool {
    matches!(refused, Refused::Said { code, .. } if (400..500).contains(code) && *code != 429)
}
