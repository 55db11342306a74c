//! A map by UID that iterates in sort order, so that the first few entries are cheap to read.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use jiff::Timestamp;

use super::ObjectUid;

/// Sorts by instant, then by name.
pub(super) type SortKey = (Timestamp, Arc<str>);

/// Values by UID, iterated in the order of their sort keys.
#[derive(Debug)]
pub(in crate::up) struct OrderedMap<T> {
    values: HashMap<ObjectUid, (SortKey, T)>,
    order: BTreeSet<(SortKey, ObjectUid)>,
}

impl<T> Default for OrderedMap<T> {
    fn default() -> Self {
        OrderedMap { values: HashMap::new(), order: BTreeSet::new() }
    }
}

impl<T> OrderedMap<T> {
    /// Inserts a value and returns the previous one.
    pub(super) fn insert(&mut self, uid: ObjectUid, sort_key: SortKey, value: T) -> Option<T> {
        let previous = self.remove(&uid);
        self.order.insert((sort_key.clone(), uid.clone()));
        self.values.insert(uid, (sort_key, value));
        previous
    }

    pub(super) fn remove(&mut self, uid: &ObjectUid) -> Option<T> {
        let (sort_key, value) = self.values.remove(uid)?;
        self.order.remove(&(sort_key, uid.clone()));
        Some(value)
    }

    /// Keeps the values for which `is_kept` returns true, and returns the removed ones.
    pub(super) fn retain(&mut self, is_kept: impl Fn(&ObjectUid, &T) -> bool) -> Vec<T> {
        let removed = self.values.iter().filter(|(uid, (_, value))| !is_kept(uid, value));
        let removed: Vec<ObjectUid> = removed.map(|(uid, _)| uid.clone()).collect();
        removed.iter().filter_map(|uid| self.remove(uid)).collect()
    }

    pub(in crate::up) fn len(&self) -> usize {
        self.values.len()
    }

    pub(in crate::up) fn iter(&self) -> impl Iterator<Item = &T> {
        let values = self.order.iter().filter_map(|(_, uid)| self.values.get(uid));
        values.map(|(_, value)| value)
    }
}
