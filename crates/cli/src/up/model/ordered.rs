//! Things by their identity, and in the order of an instant: the first few cost no more when there
//! are many.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use jiff::Timestamp;

use super::Uid;

/// Where a thing stands among the others: by its instant, then by its name. Those without an
/// instant come last.
pub(super) type Rank = (Timestamp, Arc<str>);

/// Things in the order of their ranks.
#[derive(Debug)]
pub(in crate::up) struct Ordered<T> {
    things: HashMap<Uid, (Rank, T)>,
    order: BTreeSet<(Rank, Uid)>,
}

impl<T> Default for Ordered<T> {
    fn default() -> Self {
        Ordered { things: HashMap::new(), order: BTreeSet::new() }
    }
}

impl<T> Ordered<T> {
    /// Puts a thing in; what was there before it.
    pub(super) fn put(&mut self, uid: Uid, rank: Rank, thing: T) -> Option<T> {
        let before = self.remove(&uid);
        self.order.insert((rank.clone(), uid.clone()));
        self.things.insert(uid, (rank, thing));
        before
    }

    pub(super) fn remove(&mut self, uid: &Uid) -> Option<T> {
        let (rank, thing) = self.things.remove(uid)?;
        self.order.remove(&(rank, uid.clone()));
        Some(thing)
    }

    /// Takes out all but those that are to stay.
    pub(super) fn take_unless(&mut self, stays: impl Fn(&Uid, &T) -> bool) -> Vec<T> {
        let gone = self.things.iter().filter(|(uid, (_, thing))| !stays(uid, thing));
        let gone: Vec<Uid> = gone.map(|(uid, _)| uid.clone()).collect();
        gone.iter().filter_map(|uid| self.remove(uid)).collect()
    }

    pub(in crate::up) fn len(&self) -> usize {
        self.things.len()
    }

    pub(in crate::up) fn iter(&self) -> impl Iterator<Item = &T> {
        let things = self.order.iter().filter_map(|(_, uid)| self.things.get(uid));
        things.map(|(_, thing)| thing)
    }
}
