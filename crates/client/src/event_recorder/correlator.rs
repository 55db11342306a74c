//! Counts repeated events, combines similar ones and limits their rate per object, as client-go's
//! `EventCorrelator` of v1.36 does. The time is that of the events.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use jiff::{SignedDuration, Timestamp};
use punctual_api::Time;
use punctual_api::event::{Event, EventSource};
use punctual_api::meta::{ObjectMeta, ObjectReference};

use super::event_queue::{MESSAGE_BYTES_MAX, QueuedEvent, truncate};
use super::lru::LruMap;

/// This many events that differ only in their messages are combined into one.
const SIMILAR_MAX: usize = 10;

/// The longest pause between events that are combined.
const SIMILAR_WITHIN: SignedDuration = SignedDuration::from_mins(10);

const COMBINED: &str = "(combined from similar events): ";

/// The number of events of one type about one object that may be written at once.
const BURST: f64 = 25.0;
/// After the burst one event may be written in this many seconds.
const REFILL_SECONDS: f64 = 300.0;

/// The longest name of an object in the API.
const NAME_BYTES_MAX: usize = 253;

/// A write of an Event.
#[derive(Clone, Debug)]
pub(super) struct EventWrite {
    /// The complete Event after the write.
    pub(super) event: Event,
    /// Whether the Event does not exist yet, as far as we know.
    pub(super) is_new: bool,
}

/// The recent events. Its size is bounded: an event that was evicted counts as new.
#[derive(Debug)]
pub(super) struct Correlator {
    source: EventSource,
    similar: LruMap<SimilarEvents>,
    recorded: LruMap<RecordedEvent>,
    buckets: LruMap<TokenBucket>,
    /// The last timestamp used in a name, which makes names unique.
    last_stamp: i128,
}

/// Events that differ only in their messages.
#[derive(Debug)]
struct SimilarEvents {
    /// Hashes of the messages, at most one fewer than [`SIMILAR_MAX`].
    messages: HashSet<u64>,
    last_at: Timestamp,
}

/// An event that was recorded, even if the rate limit kept it from being written.
#[derive(Clone, Debug)]
struct RecordedEvent {
    name: String,
    first_at: Timestamp,
    count: i32,
}

/// The rate limit of one object and type.
#[derive(Debug)]
struct TokenBucket {
    tokens: f64,
    at: Timestamp,
}

impl Correlator {
    /// A correlator that remembers at most this many keys of each sort.
    pub(super) fn new(source: EventSource, remembered_max: usize) -> Correlator {
        Correlator {
            source,
            similar: LruMap::new(remembered_max),
            recorded: LruMap::new(remembered_max),
            buckets: LruMap::new(remembered_max),
            last_stamp: 0,
        }
    }

    /// The write for an event; `None` if the rate limit of its object is exceeded. The event is counted
    /// in both cases, so the next write includes it.
    pub(super) fn correlate(&mut self, mut queued: QueuedEvent) -> Option<EventWrite> {
        let rate_key = key(&queued, &[]);
        let similar_key = key(&queued, &[queued.reason]);
        let recorded_key = if self.is_combined(&similar_key, &queued) {
            let combined = format!("{COMBINED}{}", queued.message);
            queued.message = truncate(&combined, MESSAGE_BYTES_MAX).to_owned();
            similar_key
        } else {
            key(&queued, &[queued.reason, &queued.object.field_path, &queued.message])
        };
        let (recorded, is_new) = self.count_up(&recorded_key, &queued);
        let is_allowed = self.take_token(&rate_key, queued.at);
        is_allowed.then(|| EventWrite { event: self.event(queued, recorded), is_new })
    }

    fn is_combined(&mut self, key: &str, queued: &QueuedEvent) -> bool {
        let similar = self.similar.take(key);
        let recent =
            similar.filter(|similar| queued.at.duration_since(similar.last_at) <= SIMILAR_WITHIN);
        let mut messages = recent.map(|similar| similar.messages).unwrap_or_default();
        let message = hash(&queued.message);
        let is_combined = !messages.contains(&message) && messages.len() + 1 >= SIMILAR_MAX;
        if !is_combined {
            messages.insert(message);
        }
        self.similar.put(key, SimilarEvents { messages, last_at: queued.at });
        is_combined
    }

    /// Counts an event. Returns its record, and whether it is the first with this key.
    fn count_up(&mut self, key: &str, queued: &QueuedEvent) -> (RecordedEvent, bool) {
        let known = self.recorded.take(key);
        let is_new = known.is_none();
        let recorded = match known {
            Some(known) => RecordedEvent { count: known.count.saturating_add(1), ..known },
            None => RecordedEvent { name: self.name(queued), first_at: queued.at, count: 1 },
        };
        self.recorded.put(key, recorded.clone());
        (recorded, is_new)
    }

    /// The name of an Event: the object's name and a timestamp. A name that is too long is truncated;
    /// client-go uses random characters instead.
    fn name(&mut self, queued: &QueuedEvent) -> String {
        self.last_stamp = queued.at.as_nanosecond().max(self.last_stamp + 1);
        let stamp = format!("{:x}", self.last_stamp);
        let prefix_max = NAME_BYTES_MAX.saturating_sub(stamp.len() + 1);
        let name = truncate(&queued.object.name, prefix_max).trim_end_matches(['-', '.']);
        format!("{name}.{stamp}")
    }

    fn take_token(&mut self, key: &str, now: Timestamp) -> bool {
        let known = self.buckets.take(key);
        let mut bucket = known.unwrap_or(TokenBucket { tokens: BURST, at: now });
        let passed = now.duration_since(bucket.at).as_secs_f64().max(0.0);
        bucket.tokens = (bucket.tokens + passed / REFILL_SECONDS).min(BURST);
        bucket.at = now;
        let is_allowed = bucket.tokens >= 1.0;
        if is_allowed {
            bucket.tokens -= 1.0;
        }
        self.buckets.put(key, bucket);
        is_allowed
    }

    fn event(&self, queued: QueuedEvent, recorded: RecordedEvent) -> Event {
        let namespace = match queued.object.namespace.as_str() {
            "" => "default".to_owned(),
            namespace => namespace.to_owned(),
        };
        Event {
            api_version: "v1".to_owned(),
            kind: "Event".to_owned(),
            metadata: ObjectMeta { name: recorded.name, namespace, ..ObjectMeta::default() },
            involved_object: queued.object,
            reason: queued.reason.to_owned(),
            message: queued.message,
            source: self.source.clone(),
            first_timestamp: Some(Time::new(recorded.first_at)),
            last_timestamp: Some(Time::new(queued.at)),
            count: recorded.count,
            event_type: queued.event_type.as_str().to_owned(),
            reporting_component: self.source.component.clone(),
            reporting_instance: self.source.host.clone(),
            ..Event::default()
        }
    }
}

/// A key of the object, the event's type and more fields. The source is the same for all events.
fn key(queued: &QueuedEvent, more: &[&str]) -> String {
    let ObjectReference { kind, namespace, name, uid, api_version, .. } = &queued.object;
    let object = [kind, namespace, name, uid, api_version, queued.event_type.as_str()];
    let parts: Vec<&str> = object.into_iter().chain(more.iter().copied()).collect();
    parts.join("\0")
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests;
