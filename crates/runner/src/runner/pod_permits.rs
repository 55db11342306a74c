//! Limits the number of Pods that run at the same time. The oldest Pod gets the next permit.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use tokio::sync::oneshot;

/// The permits of a node. Clones share the same permits.
#[derive(Clone, Debug)]
pub(super) struct PodPermits(Arc<Mutex<PermitQueue>>);

#[derive(Debug)]
struct PermitQueue {
    max: usize,
    granted: HashSet<u64>,
    waiting: BTreeMap<QueuePosition, oneshot::Sender<()>>,
    last_number: u64,
}

/// The order of Pods: by age, then by the order of arrival.
type QueuePosition = (Timestamp, u64);

/// A permit to run a Pod, or the wait for one. Dropping it returns the permit or ends the wait.
#[derive(Debug)]
pub(super) struct PodPermit {
    permits: PodPermits,
    position: QueuePosition,
    /// `None` once the permit is granted.
    pending: Option<oneshot::Receiver<()>>,
}

impl PodPermits {
    pub(super) fn new(max: usize) -> PodPermits {
        let granted = HashSet::new();
        let waiting = BTreeMap::new();
        PodPermits(Arc::new(Mutex::new(PermitQueue { max, granted, waiting, last_number: 0 })))
    }

    fn lock(&self) -> MutexGuard<'_, PermitQueue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Joins the queue. The position is fixed here, not when the permit is awaited.
    pub(super) fn enqueue(&self, created_at: Timestamp) -> PodPermit {
        let mut queue = self.lock();
        let position = (created_at, queue.next_number());
        let (grant, pending) = oneshot::channel();
        queue.waiting.insert(position, grant);
        queue.grant_free();
        PodPermit { permits: self.clone(), position, pending: Some(pending) }
    }

    /// A permit for a Pod that runs already, even beyond the maximum.
    pub(super) fn claim(&self) -> PodPermit {
        let mut queue = self.lock();
        let position = (Timestamp::MIN, queue.next_number());
        queue.granted.insert(position.1);
        PodPermit { permits: self.clone(), position, pending: None }
    }
}

impl PermitQueue {
    fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    fn grant_free(&mut self) {
        while self.granted.len() < self.max {
            let Some((position, grant)) = self.waiting.pop_first() else { return };
            // Sending fails if the waiting Pod has dropped its receiver.
            if grant.send(()).is_ok() {
                self.granted.insert(position.1);
            }
        }
    }
}

impl PodPermit {
    /// Whether the permit is granted.
    pub(super) fn is_granted(&mut self) -> bool {
        if let Some(pending) = &mut self.pending
            && pending.try_recv().is_ok()
        {
            self.pending = None;
        }
        self.pending.is_none()
    }

    /// Waits until the permit is granted. The future may be dropped and this method called again.
    pub(super) async fn granted(&mut self) {
        if let Some(pending) = &mut self.pending {
            // The sender is dropped only after it has sent, or when the whole queue is dropped.
            let _ = pending.await;
            self.pending = None;
        }
    }
}

impl Drop for PodPermit {
    fn drop(&mut self) {
        let mut queue = self.permits.lock();
        queue.waiting.remove(&self.position);
        queue.granted.remove(&self.position.1);
        queue.grant_free();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[tokio::test]
    async fn the_oldest_pod_gets_the_next_permit_and_the_maximum_is_kept() {
        let permits = PodPermits::new(1);
        let mut first = permits.enqueue(at(5));
        let mut young = permits.enqueue(at(9));
        let mut old = permits.enqueue(at(1));
        assert!(first.is_granted() && !young.is_granted() && !old.is_granted());
        drop(first);
        assert!(old.is_granted() && !young.is_granted());
        drop(old);
        young.granted().await;
        assert!(young.is_granted());
    }

    #[test]
    fn a_dropped_wait_does_not_block_the_queue() {
        let permits = PodPermits::new(1);
        let claimed = permits.claim();
        let dropped = permits.enqueue(at(1));
        let mut next = permits.enqueue(at(2));
        drop(dropped);
        drop(claimed);
        assert!(next.is_granted());
    }

    #[test]
    fn a_running_pod_gets_a_permit_beyond_the_maximum() {
        let permits = PodPermits::new(1);
        let _first = permits.claim();
        let second = permits.claim();
        let mut next = permits.enqueue(at(1));
        drop(second);
        assert!(!next.is_granted());
    }
}
