//! Deletes Events a fixed time after their last write, as kube-apiserver does with `--event-ttl`.
//! If there are more than [`EVENTS_MAX`] Events, the oldest are deleted earlier.
//!
//! One task watches the Events in the store. All Events live equally long, so a queue in the order
//! of their writes suffices. Without Events the task only waits for the next one.

mod queue;

use std::sync::{Arc, Weak};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_api::{MicroTime, Time};
use punctual_store::{Error, Op, Precondition, Snapshot, Store, StoreEntry, Watch};
use serde::Deserialize;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::queue::{EventQueue, EventWrite};
use crate::registry::resource_prefix;
use crate::resource::EVENT_RESOURCE;
use crate::server::ServerState;

/// Maximum number of Events.
const EVENTS_MAX: usize = 100_000;

/// Number of Events deleted in one transaction, which is the store's default limit.
const BATCH_MAX: usize = 256;

/// Minimum time between two checks, so that Events that expire at about the same time are deleted
/// together.
const CHECK_INTERVAL_MIN: Duration = Duration::from_secs(10);

/// Maximum time between two checks while there are Events, since the clock may be set forward.
const CHECK_INTERVAL_MAX: Duration = Duration::from_secs(60);

/// Deletes expired Events until `shutdown` is cancelled or the server is dropped. It holds only a
/// weak reference, so that the server can be dropped and its store closed.
pub(crate) async fn expire_events(
    server: Weak<ServerState>,
    ttl: Duration,
    shutdown: CancellationToken,
) {
    let expiry = async {
        while let Some(mut expiry) = EventExpiry::start(&server, ttl) {
            match expiry.run().await {
                // The task fell behind the store's history, so it lists the Events again.
                Err(Error::Compacted { .. }) => {}
                Err(Error::Closed) | Ok(()) => return,
                Err(error) => {
                    tracing::error!(%error, "the expiry of Events failed; expired Events stay until the server restarts");
                    return;
                }
            }
        }
    };
    tokio::select! {
        biased;
        () = shutdown.cancelled() => {}
        () = expiry => {}
    }
}

struct EventExpiry {
    server: Weak<ServerState>,
    ttl: SignedDuration,
    watch: Watch,
    queue: EventQueue,
    /// When to check for expired Events; `None` without Events.
    next_check: Option<Instant>,
}

impl EventExpiry {
    /// Lists the existing Events and starts to watch them. Returns `None` if the server was
    /// dropped.
    fn start(server: &Weak<ServerState>, ttl: Duration) -> Option<EventExpiry> {
        let state = server.upgrade()?;
        let store = &state.registry.store;
        let now = state.registry.env.now();
        let prefix = resource_prefix(&EVENT_RESOURCE);
        let snapshot = store.snapshot();
        let writes = snapshot.prefix(&prefix).map(|(key, entry)| EventWrite {
            time: estimate_write_time(entry, now),
            key: key.clone(),
            revision: entry.modified,
        });
        let queue = EventQueue::new(writes.collect());
        let watch = store.watch(&prefix, snapshot.revision()).ok()?;
        let ttl = SignedDuration::try_from(ttl).unwrap_or(SignedDuration::MAX);
        let next_check = queue.oldest().map(|_| Instant::now());
        Some(EventExpiry { server: server.clone(), ttl, watch, queue, next_check })
    }

    /// Runs until the store is closed or the server is dropped.
    async fn run(&mut self) -> Result<(), Error> {
        loop {
            let change = tokio::select! {
                biased;
                change = self.watch.next() => match change? {
                    Some(change) => Some(change),
                    None => return Ok(()),
                },
                () = sleep_until(self.next_check) => None,
            };
            let Some(state) = self.server.upgrade() else {
                return Ok(());
            };
            let now = state.registry.env.now();
            let is_check_due = change.is_none();
            if let Some(change) = change {
                self.queue.record(&change, now);
            }
            if is_check_due || self.queue.len() > EVENTS_MAX {
                self.delete_expired(&state, now).await?;
                self.next_check = None;
            }
            if self.queue.needs_compaction() {
                let snapshot = state.registry.store.snapshot();
                self.queue.compact(|write| is_current(write, &snapshot));
            }
            if self.next_check.is_none() {
                self.next_check = self.check_delay(now).map(|delay| Instant::now() + delay);
            }
        }
    }

    /// Returns the time until the next check, or `None` without Events.
    fn check_delay(&self, now: Timestamp) -> Option<Duration> {
        let due = self.queue.oldest()?.saturating_add(self.ttl).unwrap_or(Timestamp::MAX);
        let delay = Duration::try_from(due.duration_since(now)).unwrap_or_default();
        Some(delay.clamp(CHECK_INTERVAL_MIN, CHECK_INTERVAL_MAX))
    }

    /// Deletes Events that are expired, and the oldest ones above the maximum number.
    async fn delete_expired(
        &mut self,
        state: &Arc<ServerState>,
        now: Timestamp,
    ) -> Result<(), Error> {
        let store = &state.registry.store;
        let expired_before = now.saturating_sub(self.ttl).unwrap_or(Timestamp::MIN);
        loop {
            // The watch also reports these deletes, which keeps the count of Events correct.
            while let Some(change) = self.watch.try_next()? {
                self.queue.record(&change, now);
            }
            let excess = if self.queue.len() > EVENTS_MAX { BATCH_MAX } else { 0 };
            let due = {
                let snapshot = store.snapshot();
                self.queue.take_due(expired_before, excess, |write| is_current(write, &snapshot))
            };
            if due.is_empty() {
                return Ok(());
            }
            delete(store, due).await?;
        }
    }
}

async fn sleep_until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// Whether this is still the last write of its Event.
fn is_current(write: &EventWrite, snapshot: &Snapshot) -> bool {
    snapshot.get(&write.key).is_some_and(|entry| entry.modified == write.revision)
}

/// Deletes Events in one transaction, except those that were written again meanwhile.
async fn delete(store: &Store, mut writes: Vec<EventWrite>) -> Result<(), Error> {
    while !writes.is_empty() {
        let op =
            |write: &EventWrite| Op::delete(write.key.clone(), Precondition::At(write.revision));
        match store.write(writes.iter().map(op).collect::<Vec<Op>>()).await {
            Err(Error::Conflict(conflict)) => writes.retain(|write| write.key != conflict.key),
            result => return result.map(drop),
        }
    }
    Ok(())
}

/// The times in an Event.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct EventTimes {
    metadata: EventMetadataTimes,
    last_timestamp: Option<Time>,
    event_time: Option<MicroTime>,
    series: Option<EventSeriesTimes>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct EventMetadataTimes {
    creation_timestamp: Option<Time>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct EventSeriesTimes {
    last_observed_time: Option<MicroTime>,
}

/// Estimates when an Event was written before the watch started, from the latest time in it.
/// Clients choose these times freely, so a future time counts as now.
fn estimate_write_time(entry: &StoreEntry, now: Timestamp) -> Timestamp {
    let event: EventTimes = serde_json::from_slice(&entry.value).unwrap_or_default();
    let observed = event.series.and_then(|series| series.last_observed_time);
    let times = [event.metadata.creation_timestamp, event.last_timestamp].into_iter().flatten();
    let micro_times = [event.event_time, observed].into_iter().flatten();
    let latest = times.map(Time::timestamp).chain(micro_times.map(MicroTime::timestamp)).max();
    latest.map_or(now, |latest| latest.min(now))
}
