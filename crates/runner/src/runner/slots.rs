//! How many Pods run at a time, and who is next: the oldest that waits.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use tokio::sync::oneshot;

/// The places that Pods run in.
#[derive(Clone, Debug)]
pub(super) struct Slots(Arc<Mutex<Inner>>);

#[derive(Debug)]
struct Inner {
    max: usize,
    taken: HashSet<u64>,
    waiting: BTreeMap<Turn, oneshot::Sender<()>>,
    count: u64,
}

/// The order in which Pods are served: by age, then as they came.
type Turn = (Timestamp, u64);

/// A place, or the wait for one. Whoever drops it gives it up.
#[derive(Debug)]
pub(super) struct Slot {
    slots: Slots,
    turn: Turn,
    granted: Option<oneshot::Receiver<()>>,
}

impl Slots {
    pub(super) fn new(max: usize) -> Slots {
        let (taken, waiting) = (HashSet::new(), BTreeMap::new());
        Slots(Arc::new(Mutex::new(Inner { max, taken, waiting, count: 0 })))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stands in line. The order is settled here, not when the slot is waited for.
    pub(super) fn enter(&self, created_at: Timestamp) -> Slot {
        let mut inner = self.lock();
        let turn = (created_at, inner.next());
        let (grant, granted) = oneshot::channel();
        inner.waiting.insert(turn, grant);
        inner.serve();
        Slot { slots: self.clone(), turn, granted: Some(granted) }
    }

    /// A place for a Pod that runs already, whether there is one or not.
    pub(super) fn claim(&self) -> Slot {
        let mut inner = self.lock();
        let turn = (Timestamp::MIN, inner.next());
        inner.taken.insert(turn.1);
        Slot { slots: self.clone(), turn, granted: None }
    }
}

impl Inner {
    fn next(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    fn serve(&mut self) {
        while self.taken.len() < self.max {
            let Some((turn, grant)) = self.waiting.pop_first() else { return };
            // Who left without being served has dropped the other end.
            if grant.send(()).is_ok() {
                self.taken.insert(turn.1);
            }
        }
    }
}

impl Slot {
    /// Whether the place is there already.
    pub(super) fn is_granted(&mut self) -> bool {
        if let Some(granted) = &mut self.granted
            && granted.try_recv().is_ok()
        {
            self.granted = None;
        }
        self.granted.is_none()
    }

    /// Waits for the place. May be dropped and called again.
    pub(super) async fn granted(&mut self) {
        if let Some(granted) = &mut self.granted {
            // The other end is dropped only after it was used, or with everything else.
            let _ = granted.await;
            self.granted = None;
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut inner = self.slots.lock();
        inner.waiting.remove(&self.turn);
        inner.taken.remove(&self.turn.1);
        inner.serve();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[tokio::test]
    async fn the_oldest_is_served_first_and_no_more_than_there_are_places() {
        let slots = Slots::new(1);
        let mut first = slots.enter(at(5));
        let (mut young, mut old) = (slots.enter(at(9)), slots.enter(at(1)));
        assert!(first.is_granted() && !young.is_granted() && !old.is_granted());
        drop(first);
        assert!(old.is_granted() && !young.is_granted());
        drop(old);
        young.granted().await;
        assert!(young.is_granted());
    }

    #[test]
    fn who_leaves_the_line_does_not_hold_it_up() {
        let slots = Slots::new(1);
        let claimed = slots.claim();
        let (gone, mut next) = (slots.enter(at(1)), slots.enter(at(2)));
        drop(gone);
        drop(claimed);
        assert!(next.is_granted());
    }

    #[test]
    fn what_runs_already_takes_a_place_even_beyond_the_most() {
        let slots = Slots::new(1);
        let (_a, b) = (slots.claim(), slots.claim());
        let mut next = slots.enter(at(1));
        drop(b);
        assert!(!next.is_granted());
    }
}
