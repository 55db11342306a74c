//! The most recently used so many of things with a name.
//!
//! Names are long, and only known again, never told: a hash stands for each.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, RandomState};

/// Values by name; beyond a number of them the one that was not used for longest is forgotten.
#[derive(Debug)]
pub(super) struct Recent<V> {
    max: usize,
    names: RandomState,
    values: HashMap<u64, (u64, V)>,
    /// Names by when they were last used.
    used: BTreeMap<u64, u64>,
    clock: u64,
}

impl<V> Recent<V> {
    pub(super) fn new(max: usize) -> Recent<V> {
        let (names, values) = (RandomState::new(), HashMap::new());
        Recent { max, names, values, used: BTreeMap::new(), clock: 0 }
    }

    /// Takes a value out, to be put back.
    pub(super) fn take(&mut self, name: &str) -> Option<V> {
        let (used, value) = self.values.remove(&self.names.hash_one(name))?;
        self.used.remove(&used);
        Some(value)
    }

    /// Puts a value in, as the one that was used last.
    pub(super) fn put(&mut self, name: &str, value: V) {
        self.take(name);
        if self.values.len() >= self.max
            && let Some((_, oldest)) = self.used.pop_first()
        {
            self.values.remove(&oldest);
        }
        self.clock += 1;
        let name = self.names.hash_one(name);
        self.used.insert(self.clock, name);
        self.values.insert(name, (self.clock, value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_not_used_for_longest_is_forgotten() {
        let mut recent = Recent::new(2);
        recent.put("a", 1);
        recent.put("b", 2);
        assert_eq!(recent.take("a"), Some(1));
        recent.put("a", 3);
        recent.put("c", 4);
        assert_eq!(
            [recent.take("a"), recent.take("b"), recent.take("c")],
            [Some(3), None, Some(4)]
        );
        assert_eq!((recent.values.len(), recent.used.len()), (0, 0));
    }

    #[test]
    fn a_name_that_is_put_twice_counts_once() {
        let mut recent = Recent::new(2);
        (0..5).for_each(|value| recent.put("a", value));
        recent.put("b", 9);
        assert_eq!((recent.take("a"), recent.take("b")), (Some(4), Some(9)));
    }
}
