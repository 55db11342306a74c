//! Things by their identity, and in the order of an instant: the first few cost no more when there
//! are many.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use jiff::Timestamp;

use super::ObjectUid;

/// Where a value stands among the others: by its instant, then by its name. Those without an
/// instant come last.
pub(super) type SortKey = (Timestamp, Arc<str>);

/// Things in the order of their ranks.
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
    /// Puts a value in; what was there before it.
    pub(super) fn insert(&mut self, uid: ObjectUid, sort_key: SortKey, value: T) -> Option<T> {
        let before = self.remove(&uid);
        self.order.insert((sort_key.clone(), uid.clone()));
        self.values.insert(uid, (sort_key, value));
        before
    }

    pub(super) fn remove(&mut self, uid: &ObjectUid) -> Option<T> {
        let (sort_key, value) = self.values.remove(uid)?;
        self.order.remove(&(sort_key, uid.clone()));
        Some(value)
    }

    /// Takes out all but those that are to stay.
    pub(super) fn take_unless(&mut self, stays: impl Fn(&ObjectUid, &T) -> bool) -> Vec<T> {
        let gone = self.values.iter().filter(|(uid, (_, value))| !stays(uid, value));
        let gone: Vec<ObjectUid> = gone.map(|(uid, _)| uid.clone()).collect();
        gone.iter().filter_map(|uid| self.remove(uid)).collect()
    }

    pub(in crate::up) fn len(&self) -> usize {
        self.values.len()
    }

    pub(in crate::up) fn iter(&self) -> impl Iterator<Item = &T> {
        let values = self.order.iter().filter_map(|(_, uid)| self.values.get(uid));
        values.map(|(_, value)| value)
    }
}
