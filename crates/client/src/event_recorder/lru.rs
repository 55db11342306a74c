//! A map that keeps the most recently used entries.
//!
//! Keys are long and are only compared, so the map stores their hashes.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, RandomState};

/// A map with a capacity. A new entry evicts the least recently used one.
#[derive(Debug)]
pub(super) struct LruMap<V> {
    capacity: usize,
    hasher: RandomState,
    /// The value of each key hash, and the use counter at its last use.
    values: HashMap<u64, (u64, V)>,
    /// Key hashes by the use counter at their last use.
    by_last_use: BTreeMap<u64, u64>,
    use_counter: u64,
}

impl<V> LruMap<V> {
    pub(super) fn new(capacity: usize) -> LruMap<V> {
        LruMap {
            capacity,
            hasher: RandomState::new(),
            values: HashMap::new(),
            by_last_use: BTreeMap::new(),
            use_counter: 0,
        }
    }

    /// Removes a value.
    pub(super) fn take(&mut self, key: &str) -> Option<V> {
        let (last_use, value) = self.values.remove(&self.hasher.hash_one(key))?;
        self.by_last_use.remove(&last_use);
        Some(value)
    }

    /// Inserts a value as the most recently used one.
    pub(super) fn put(&mut self, key: &str, value: V) {
        self.take(key);
        if self.values.len() >= self.capacity
            && let Some((_, oldest)) = self.by_last_use.pop_first()
        {
            self.values.remove(&oldest);
        }
        self.use_counter += 1;
        let key = self.hasher.hash_one(key);
        self.by_last_use.insert(self.use_counter, key);
        self.values.insert(key, (self.use_counter, value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_entry_is_evicted() {
        let mut map = LruMap::new(2);
        map.put("a", 1);
        map.put("b", 2);
        assert_eq!(map.take("a"), Some(1));
        map.put("a", 3);
        map.put("c", 4);
        assert_eq!([map.take("a"), map.take("b"), map.take("c")], [Some(3), None, Some(4)]);
        assert_eq!((map.values.len(), map.by_last_use.len()), (0, 0));
    }

    #[test]
    fn a_key_that_is_put_again_takes_no_more_room() {
        let mut map = LruMap::new(2);
        for value in 0..5 {
            map.put("a", value);
        }
        map.put("b", 9);
        assert_eq!((map.take("a"), map.take("b")), (Some(4), Some(9)));
    }
}
