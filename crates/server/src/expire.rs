//! Events do not stay for ever: each is deleted so long after its last write, as kube-apiserver's
//! `--event-ttl` has it. Beyond [`EVENTS_MAX`] the oldest go before their time.
//!
//! One task follows the Events in the store. They all live equally long, so the order of their
//! writes is the order in which they go, and none costs more than a place in a queue. Where there
//! are no Events nothing is awaited but the next one.

mod ages;

use std::sync::{Arc, Weak};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_api::{MicroTime, Time};
use punctual_store::{Condition, Entry, Error, Op, Snapshot, Store, Watch};
use serde::Deserialize;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::ages::{Ages, Write};
use crate::registry::collection;
use crate::resource::EVENT_LOG;
use crate::server::Shared;

/// How many Events there may be.
const EVENTS_MAX: usize = 100_000;

/// How many go in one transaction of the store; it takes no more by default.
const BATCH_MAX: usize = 256;

/// How often we look at most, so that what is due at about the same time goes together.
const LOOK_EVERY_MIN: Duration = Duration::from_secs(10);

/// How often we look at least while there are Events: the clock may have been set.
const LOOK_EVERY_MAX: Duration = Duration::from_secs(60);

/// Deletes Events so long after their last write, until told to end or the server is gone. Does not
/// keep the server alive, which may have to close its store.
pub(crate) async fn expire(server: Weak<Shared>, ttl: Duration, ends: CancellationToken) {
    let expiry = async {
        while let Some(mut expiry) = Expiry::begin(&server, ttl) {
            match expiry.run().await {
                // Too many changes at once to follow: look at everything again.
                Err(Error::Compacted { .. }) => {}
                Err(Error::Closed) | Ok(()) => return,
                Err(error) => return tracing::error!(%error, "events do not expire any more"),
            }
        }
    };
    tokio::select! {
        biased;
        () = ends.cancelled() => {}
        () = expiry => {}
    }
}

struct Expiry {
    server: Weak<Shared>,
    ttl: SignedDuration,
    watch: Watch,
    ages: Ages,
    /// None while there is nothing that could expire.
    next_look: Option<Instant>,
}

impl Expiry {
    /// Looks at the Events that there are. None if there is no server any more.
    fn begin(server: &Weak<Shared>, ttl: Duration) -> Option<Expiry> {
        let shared = server.upgrade()?;
        let (store, now) = (&shared.registry.store, shared.registry.env.now());
        let (prefix, snapshot) = (collection(&EVENT_LOG), store.snapshot());
        let writes = snapshot.prefix(&prefix).map(|(key, entry)| Write {
            at: written_at(entry, now),
            key: key.clone(),
            revision: entry.modified,
        });
        let ages = Ages::new(writes.collect());
        let watch = store.watch(&prefix, snapshot.revision()).ok()?;
        let ttl = SignedDuration::try_from(ttl).unwrap_or(SignedDuration::MAX);
        let next_look = ages.oldest().map(|_| Instant::now());
        Some(Expiry { server: server.clone(), ttl, watch, ages, next_look })
    }

    /// Goes on until the store is closed or the server is gone.
    async fn run(&mut self) -> Result<(), Error> {
        loop {
            let change = tokio::select! {
                biased;
                change = self.watch.next() => match change? {
                    Some(change) => Some(change),
                    None => return Ok(()),
                },
                () = until(self.next_look) => None,
            };
            let Some(shared) = self.server.upgrade() else {
                return Ok(());
            };
            let now = shared.registry.env.now();
            let is_time = change.is_none();
            if let Some(change) = change {
                self.ages.note(&change, now);
            }
            if is_time || self.ages.len() > EVENTS_MAX {
                self.clear(&shared, now).await?;
                self.next_look = None;
            }
            if self.ages.is_littered() {
                let snapshot = shared.registry.store.snapshot();
                self.ages.tidy(|write| is_current(write, &snapshot));
            }
            self.next_look = self.next_look.or_else(|| Some(Instant::now() + self.rest(now)?));
        }
    }

    /// How long nothing is due; none if nothing ever is.
    fn rest(&self, now: Timestamp) -> Option<Duration> {
        let due = self.ages.oldest()?.saturating_add(self.ttl).unwrap_or(Timestamp::MAX);
        let rest = Duration::try_from(due.duration_since(now)).unwrap_or_default();
        Some(rest.clamp(LOOK_EVERY_MIN, LOOK_EVERY_MAX))
    }

    /// Deletes what is due or too much.
    async fn clear(&mut self, shared: &Arc<Shared>, now: Timestamp) -> Result<(), Error> {
        let store = &shared.registry.store;
        let until = now.saturating_sub(self.ttl).unwrap_or(Timestamp::MIN);
        loop {
            // What we deleted is counted by what the watch tells of it.
            while let Some(change) = self.watch.try_next()? {
                self.ages.note(&change, now);
            }
            let excess = if self.ages.len() > EVENTS_MAX { BATCH_MAX } else { 0 };
            let due = {
                let snapshot = store.snapshot();
                self.ages.take(until, excess, |write| is_current(write, &snapshot))
            };
            if due.is_empty() {
                return Ok(());
            }
            delete(store, due).await?;
        }
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Whether an Event was not written again since.
fn is_current(write: &Write, snapshot: &Snapshot) -> bool {
    snapshot.get(&write.key).is_some_and(|entry| entry.modified == write.revision)
}

/// Deletes Events together, but those that were written at the last moment.
async fn delete(store: &Store, mut writes: Vec<Write>) -> Result<(), Error> {
    while !writes.is_empty() {
        let op = |write: &Write| Op::delete(write.key.clone(), Condition::At(write.revision));
        match store.write(writes.iter().map(op).collect::<Vec<Op>>()).await {
            Err(Error::Conflict(conflict)) => writes.retain(|write| write.key != conflict.key),
            result => return result.map(drop),
        }
    }
    Ok(())
}

/// What an Event tells of its time.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Told {
    metadata: ToldMeta,
    last_timestamp: Option<Time>,
    event_time: Option<MicroTime>,
    series: Option<ToldSeries>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ToldMeta {
    creation_timestamp: Option<Time>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ToldSeries {
    last_observed_time: Option<MicroTime>,
}

/// When an Event that we did not see being written was probably written. Reporters say what they
/// like of the time, so a time ahead of us counts as now.
fn written_at(entry: &Entry, now: Timestamp) -> Timestamp {
    let told: Told = serde_json::from_slice(&entry.value).unwrap_or_default();
    let observed = told.series.and_then(|series| series.last_observed_time);
    let times = [told.metadata.creation_timestamp, told.last_timestamp].into_iter().flatten();
    let micro_times = [told.event_time, observed].into_iter().flatten();
    let latest = times.map(Time::timestamp).chain(micro_times.map(MicroTime::timestamp)).max();
    latest.map_or(now, |latest| latest.min(now))
}
