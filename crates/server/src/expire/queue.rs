//! The queue of Events by the time of their last write, from which the expiry takes the oldest.

use std::collections::VecDeque;
use std::sync::Arc;

use jiff::Timestamp;
use punctual_store::{Change as StoreChange, ChangeKind};

use super::BATCH_MAX;

/// Number of stale writes that the queue may hold before it is compacted.
const STALE_MAX: usize = 1024;

/// A write of an Event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EventWrite {
    pub(super) time: Timestamp,
    pub(super) key: Arc<str>,
    pub(super) revision: u64,
}

/// The last write of every Event, and stale earlier writes.
#[derive(Debug, Default)]
pub(super) struct EventQueue {
    /// Sorted by time.
    writes: VecDeque<EventWrite>,
    /// The number of Events.
    count: usize,
}

impl EventQueue {
    pub(super) fn new(mut writes: Vec<EventWrite>) -> EventQueue {
        writes.sort_by_key(|write| (write.time, write.revision));
        EventQueue { count: writes.len(), writes: writes.into() }
    }

    /// The number of Events.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// The time of the oldest write.
    pub(super) fn oldest(&self) -> Option<Timestamp> {
        self.writes.front().map(|write| write.time)
    }

    /// Records a change of an Event.
    pub(super) fn record(&mut self, change: &StoreChange, now: Timestamp) {
        match change.kind() {
            ChangeKind::Created => self.count += 1,
            ChangeKind::Deleted => return self.count = self.count.saturating_sub(1),
            ChangeKind::Updated => {}
        }
        self.clamp_times(now);
        let key = change.key.clone();
        self.writes.push_back(EventWrite { time: now, key, revision: change.revision });
    }

    /// Moves future times to now. After the clock was set back, this keeps the queue sorted and
    /// lets no Event live longer.
    fn clamp_times(&mut self, now: Timestamp) {
        for write in self.writes.iter_mut().rev().take_while(|write| write.time > now) {
            write.time = now;
        }
    }

    /// Removes a batch of the oldest writes: those up to `until`, and at least `at_least` of any
    /// age. Stale writes are dropped.
    pub(super) fn take_due(
        &mut self,
        until: Timestamp,
        at_least: usize,
        is_current: impl Fn(&EventWrite) -> bool,
    ) -> Vec<EventWrite> {
        let mut taken = Vec::new();
        while taken.len() < BATCH_MAX
            && self.oldest().is_some_and(|oldest| oldest <= until || taken.len() < at_least)
        {
            taken.extend(self.writes.pop_front().filter(&is_current));
        }
        taken
    }

    /// Whether most writes are stale.
    pub(super) fn needs_compaction(&self) -> bool {
        self.writes.len() > 2 * self.count + STALE_MAX
    }

    /// Drops stale writes.
    pub(super) fn compact(&mut self, is_current: impl Fn(&EventWrite) -> bool) {
        self.writes.retain(is_current);
        self.writes.shrink_to(self.writes.len() + STALE_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn write(second: i64, key: &str, revision: u64) -> EventWrite {
        EventWrite { time: at(second), key: key.into(), revision }
    }

    fn change(key: &str, revision: u64, was: u64) -> StoreChange {
        let entry = |modified| punctual_store::StoreEntry {
            value: bytes::Bytes::new(),
            created: modified,
            modified,
        };
        let previous = (was > 0).then(|| entry(was));
        let archive_ops = Arc::default();
        let current = Some(entry(revision));
        StoreChange { key: key.into(), revision, current, previous, archive_ops }
    }

    fn revisions(writes: &[EventWrite]) -> Vec<u64> {
        writes.iter().map(|write| write.revision).collect()
    }

    #[test]
    fn oldest_writes_are_due_first_and_not_early() {
        let mut queue =
            EventQueue::new(vec![write(30, "b", 1), write(10, "a", 2), write(20, "c", 3)]);
        assert_eq!(queue.oldest(), Some(at(10)));
        assert_eq!(revisions(&queue.take_due(at(9), 0, |_| true)), [] as [u64; 0]);
        assert_eq!(revisions(&queue.take_due(at(20), 0, |_| true)), [2, 3]);
        assert_eq!(queue.oldest(), Some(at(30)));
    }

    #[test]
    fn excess_events_are_due_at_any_age_unless_written_again() {
        let mut queue =
            EventQueue::new(vec![write(10, "a", 1), write(20, "b", 2), write(30, "c", 3)]);
        queue.record(&change("a", 4, 1), at(40));
        assert_eq!(queue.len(), 3);
        let taken = queue.take_due(at(0), 1, |write| write.revision != 1);
        assert_eq!(revisions(&taken), [2]);
    }

    #[test]
    fn setting_the_clock_back_does_not_delay_expiry() {
        let mut queue =
            EventQueue::new(vec![write(10, "a", 1), write(900, "b", 2), write(950, "c", 3)]);
        queue.record(&change("d", 4, 0), at(100));
        assert_eq!(revisions(&queue.take_due(at(10), 0, |_| true)), [1]);
        assert_eq!(revisions(&queue.take_due(at(100), 0, |_| true)), [2, 3, 4]);
    }

    #[test]
    fn frequent_writes_of_one_event_do_not_grow_the_queue() {
        let mut queue = EventQueue::default();
        queue.record(&change("a", 1, 0), at(0));
        for revision in 2..10_000_u64 {
            queue.record(&change("a", revision, revision - 1), at(0));
            if queue.needs_compaction() {
                queue.compact(|write| write.revision == revision);
            }
            assert!(queue.writes.len() <= STALE_MAX + 3);
        }
        assert_eq!(revisions(&queue.take_due(at(0), 0, |write| write.revision == 9999)), [9999]);
    }
}
