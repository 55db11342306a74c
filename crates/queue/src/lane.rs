//! Keys in the order of their instants, and among equal ones first in, first out.

use std::collections::BTreeMap;

use jiff::Timestamp;

/// Where a key stands in a lane: its instant, and its number among those who came there.
pub(crate) type Place = (Timestamp, u64);

/// An ordered map and not a heap, so that a key that leaves or moves leaves nothing behind.
#[derive(Debug)]
pub(crate) struct Lane<K> {
    keys: BTreeMap<Place, K>,
    arrivals: u64,
}

impl<K: Clone> Lane<K> {
    pub(crate) fn new() -> Self {
        Self { keys: BTreeMap::new(), arrivals: 0 }
    }

    /// Lets a key stand at an instant or nowhere. One that stands there already keeps its place.
    pub(crate) fn stand(&mut self, place: &mut Option<Place>, at: Option<Timestamp>, key: &K) {
        if place.map(|(at, _)| at) == at {
            return;
        }
        if let Some(old) = place.take() {
            self.keys.remove(&old);
        }
        if let Some(at) = at {
            self.arrivals += 1;
            let new = (at, self.arrivals);
            self.keys.insert(new, key.clone());
            *place = Some(new);
        }
    }

    pub(crate) fn first(&self) -> Option<(Timestamp, &K)> {
        self.keys.first_key_value().map(|((at, _), key)| (*at, key))
    }

    /// The keys that are due, in order.
    pub(crate) fn due(&self, now: Timestamp) -> impl Iterator<Item = &K> {
        self.keys.range(..=(now, u64::MAX)).map(|(_, key)| key)
    }

    /// The keys that are due only after an instant.
    pub(crate) fn beyond(&self, at: Timestamp) -> Vec<K> {
        self.keys.range((at, u64::MAX)..).map(|(_, key)| key.clone()).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }
}
