//! Writes one Event: creates it or increments its count, with a limited number of tries.

use std::time::Duration;

use punctual_api::event::Event;
use serde::de::IgnoredAny;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::correlator::EventWrite;
use crate::api_client::ApiClient;
use crate::api_error::ApiError;
use crate::resources::EVENTS;

/// The number of tries for an Event.
const TRIES_MAX: u32 = 6;

/// The delay after the first failure. It doubles with each further one.
const FIRST_DELAY: Duration = Duration::from_millis(500);

/// The longest delay, even if the server asks for a longer one.
const DELAY_MAX: Duration = Duration::from_secs(30);

/// Writes Events.
#[derive(Clone)]
pub(super) struct EventWriter {
    api: ApiClient,
    stop: CancellationToken,
}

impl EventWriter {
    pub(super) fn new(api: ApiClient, stop: CancellationToken) -> EventWriter {
        EventWriter { api, stop }
    }

    /// Writes an Event, or drops it after the last try. After `stop` is cancelled it does not retry.
    pub(super) async fn write(&self, write: &EventWrite) {
        let mut delay = FIRST_DELAY;
        for tried in 1..=TRIES_MAX {
            let Err(error) = self.try_once(write).await else {
                return;
            };
            if is_permanent(&error) {
                return self.drop_rejected(&write.event, &error);
            }
            if tried == TRIES_MAX || self.stop.is_cancelled() {
                break;
            }
            let asked = error.retry_after().unwrap_or_default();
            self.sleep(asked.max(delay).min(DELAY_MAX)).await;
            delay *= 2;
        }
        self.api.metrics().events_dropped(1);
        let name = &write.event.metadata.name;
        let message = &write.event.message;
        tracing::warn!(name, message, "event dropped: the API server did not accept it");
    }

    /// Sleeps until the delay has passed or `stop` is cancelled.
    async fn sleep(&self, delay: Duration) {
        tokio::select! {
            biased;
            () = tokio::time::sleep(delay) => {}
            () = self.stop.cancelled() => {}
        }
    }

    async fn try_once(&self, write: &EventWrite) -> Result<(), ApiError> {
        if !write.is_new {
            match self.update_count(&write.event).await {
                // The Event has expired or was never written: create it with the present count.
                Err(error) if error.is_not_found() => {}
                result => return result,
            }
        }
        self.create(&write.event).await
    }

    async fn update_count(&self, event: &Event) -> Result<(), ApiError> {
        let path = EVENTS.object_path(&event.metadata.namespace, &event.metadata.name);
        let Event { count, last_timestamp, message, .. } = event;
        let patch = json!({"count": count, "lastTimestamp": last_timestamp, "message": message});
        self.api.patch::<IgnoredAny>(&path, &patch).await.map(drop)
    }

    async fn create(&self, event: &Event) -> Result<(), ApiError> {
        let path = EVENTS.collection_path(&event.metadata.namespace);
        match self.api.create::<IgnoredAny>(&path, serde_json::to_string(event)?).await {
            // Names are unique, so the Event is from an earlier try whose response was lost.
            Err(error) if error.is_conflict() => Ok(()),
            result => result.map(drop),
        }
    }

    /// Counts an Event as dropped that the server rejects in every try.
    fn drop_rejected(&self, event: &Event, error: &ApiError) {
        self.api.metrics().events_dropped(1);
        // Events in a namespace that is being deleted are of no interest.
        if !error.is_namespace_terminating() {
            tracing::debug!(name = event.metadata.name, %error, "event dropped: the API server rejected it");
        }
    }
}

/// Whether the server rejects the Event in every further try.
fn is_permanent(error: &ApiError) -> bool {
    matches!(error, ApiError::Status { code: code @ 400..500, .. } if *code != 429)
}
