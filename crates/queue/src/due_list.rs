//! Keys ordered by instant; equal instants are first in, first out.

use std::collections::BTreeMap;

use jiff::Timestamp;

/// The position of a key in a list: its instant and its insertion number.
pub(crate) type DuePosition = (Timestamp, u64);

/// A list of keys by instant. It is an ordered map instead of a heap, so that a key that is removed
/// or moved leaves no entry behind.
#[derive(Debug)]
pub(crate) struct DueList<K> {
    keys: BTreeMap<DuePosition, K>,
    insertions: u64,
}

impl<K: Clone> DueList<K> {
    pub(crate) fn new() -> Self {
        Self { keys: BTreeMap::new(), insertions: 0 }
    }

    /// Moves a key to an instant, or removes it if `at` is None. A key that already has this instant
    /// keeps its position.
    pub(crate) fn reposition(
        &mut self,
        position: &mut Option<DuePosition>,
        at: Option<Timestamp>,
        key: &K,
    ) {
        if position.map(|(at, _)| at) == at {
            return;
        }
        if let Some(old) = position.take() {
            self.keys.remove(&old);
        }
        if let Some(at) = at {
            self.insertions += 1;
            let new = (at, self.insertions);
            self.keys.insert(new, key.clone());
            *position = Some(new);
        }
    }

    pub(crate) fn first(&self) -> Option<(Timestamp, &K)> {
        self.keys.first_key_value().map(|((at, _), key)| (*at, key))
    }

    /// Returns the keys at or before `now`, in order.
    pub(crate) fn due(&self, now: Timestamp) -> impl Iterator<Item = &K> {
        self.keys.range(..=(now, u64::MAX)).map(|(_, key)| key)
    }

    /// Returns the keys after an instant.
    pub(crate) fn after(&self, at: Timestamp) -> Vec<K> {
        self.keys.range((at, u64::MAX)..).map(|(_, key)| key.clone()).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }
}
