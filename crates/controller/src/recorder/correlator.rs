//! Which notes are the same event again, which are alike, and which are too many: as client-go's
//! `EventCorrelator` of v1.36 has it. Time is that of the notes.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use jiff::{SignedDuration, Timestamp};
use punctual_api::Time;
use punctual_api::event::{Event, EventSource};
use punctual_api::meta::{ObjectMeta, ObjectReference};

use super::inbox::{Draft, MESSAGE_BYTES_MAX, cut};
use super::recent::Recent;

/// Notes that differ in their messages alone become one event when there are so many of them.
const ALIKE_MAX: usize = 10;

/// As long as no more than this passes between them.
const ALIKE_WITHIN: SignedDuration = SignedDuration::from_mins(10);

const COMBINED: &str = "(combined from similar events): ";

/// So many events of a type about one object are written at once,
const BURST: f64 = 25.0;
/// and then one in so many seconds.
const REFILL_SECONDS: f64 = 300.0;

/// The longest name of an object in the API.
const NAME_BYTES_MAX: usize = 253;

/// What to write.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// The event as it is from now on.
    pub(super) event: Event,
    /// Whether it is written for the first time, as far as we know.
    pub(super) is_new: bool,
}

/// What was seen lately. Bounded: what is forgotten is written as if it were new.
#[derive(Debug)]
pub(super) struct Correlator {
    component: &'static str,
    alike: Recent<Alike>,
    told: Recent<Told>,
    buckets: Recent<Bucket>,
    /// The last moment that went into a name, so that no name is made twice.
    last_stamp: i128,
}

/// Notes that differ in their messages alone.
#[derive(Debug)]
struct Alike {
    /// Hashes of the messages, one fewer than are too many.
    messages: HashSet<u64>,
    last_at: Timestamp,
}

/// An event that was told, or would have been.
#[derive(Clone, Debug)]
struct Told {
    name: String,
    first_at: Timestamp,
    count: i32,
}

/// What may still be written about an object.
#[derive(Debug)]
struct Bucket {
    tokens: f64,
    at: Timestamp,
}

impl Correlator {
    /// Remembers so many of everything.
    pub(super) fn new(component: &'static str, remembered_max: usize) -> Correlator {
        Correlator {
            component,
            alike: Recent::new(remembered_max),
            told: Recent::new(remembered_max),
            buckets: Recent::new(remembered_max),
            last_stamp: 0,
        }
    }

    /// What to write for a note; none if there were too many about its object. Those count all the
    /// same, which shows when the next one is written.
    pub(super) fn correlate(&mut self, mut draft: Draft) -> Option<Entry> {
        let spam_key = key(&draft, &[]);
        let alike_key = key(&draft, &[draft.reason]);
        let told_key = match self.is_one_of_many(&alike_key, &draft) {
            true => {
                let combined = format!("{COMBINED}{}", draft.message);
                draft.message = cut(&combined, MESSAGE_BYTES_MAX).to_owned();
                alike_key
            }
            false => key(&draft, &[draft.reason, &draft.about.field_path, &draft.message]),
        };
        let (told, is_new) = self.observe(&told_key, &draft);
        let is_allowed = self.is_allowed(&spam_key, draft.at);
        is_allowed.then(|| Entry { event: self.event(draft, told), is_new })
    }

    fn is_one_of_many(&mut self, key: &str, draft: &Draft) -> bool {
        let known = self.alike.take(key);
        let known = known.filter(|alike| draft.at.duration_since(alike.last_at) <= ALIKE_WITHIN);
        let mut messages = known.map(|alike| alike.messages).unwrap_or_default();
        let message = hash(&draft.message);
        let is_one_of_many = !messages.contains(&message) && messages.len() + 1 >= ALIKE_MAX;
        if !is_one_of_many {
            messages.insert(message);
        }
        self.alike.put(key, Alike { messages, last_at: draft.at });
        is_one_of_many
    }

    /// Counts an event; whether it is the first of its kind.
    fn observe(&mut self, key: &str, draft: &Draft) -> (Told, bool) {
        let known = self.told.take(key);
        let is_new = known.is_none();
        let told = match known {
            Some(known) => Told { count: known.count.saturating_add(1), ..known },
            None => Told { name: self.name(draft), first_at: draft.at, count: 1 },
        };
        self.told.put(key, told.clone());
        (told, is_new)
    }

    /// The name of the object and the moment. Where that is too long the name is cut; client-go has
    /// random characters instead.
    fn name(&mut self, draft: &Draft) -> String {
        self.last_stamp = draft.at.as_nanosecond().max(self.last_stamp + 1);
        let stamp = format!("{:x}", self.last_stamp);
        let room = NAME_BYTES_MAX.saturating_sub(stamp.len() + 1);
        let name = cut(&draft.about.name, room).trim_end_matches(['-', '.']);
        format!("{name}.{stamp}")
    }

    fn is_allowed(&mut self, key: &str, now: Timestamp) -> bool {
        let known = self.buckets.take(key);
        let mut bucket = known.unwrap_or(Bucket { tokens: BURST, at: now });
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

    fn event(&self, draft: Draft, told: Told) -> Event {
        let namespace = match draft.about.namespace.as_str() {
            "" => "default".to_owned(),
            namespace => namespace.to_owned(),
        };
        Event {
            api_version: "v1".to_owned(),
            kind: "Event".to_owned(),
            metadata: ObjectMeta { name: told.name, namespace, ..ObjectMeta::default() },
            involved_object: draft.about,
            reason: draft.reason.to_owned(),
            message: draft.message,
            source: EventSource { component: self.component.to_owned(), host: String::new() },
            first_timestamp: Some(Time::new(told.first_at)),
            last_timestamp: Some(Time::new(draft.at)),
            count: told.count,
            event_type: draft.kind.as_str().to_owned(),
            reporting_component: self.component.to_owned(),
            ..Event::default()
        }
    }
}

/// The object, the type, and whatever else makes two notes the same. Its reporter is ours alone.
fn key(draft: &Draft, more: &[&str]) -> String {
    let ObjectReference { kind, namespace, name, uid, api_version, .. } = &draft.about;
    let object = [kind, namespace, name, uid, api_version, draft.kind.as_str()];
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
