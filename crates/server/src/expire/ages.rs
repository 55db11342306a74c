//! The writes of Events in their order, the oldest first.

use std::collections::VecDeque;
use std::sync::Arc;

use jiff::Timestamp;
use punctual_store::{Change, ChangeKind};

use super::BATCH_MAX;

/// So many writes of Events that were written again since are kept whatever happens.
const LITTER_MAX: usize = 1024;

/// A write of an Event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Write {
    pub(super) at: Timestamp,
    pub(super) key: Arc<str>,
    pub(super) revision: u64,
}

/// Every Event by its last write, and some earlier writes that mean nothing any more.
#[derive(Debug, Default)]
pub(super) struct Ages {
    /// In order of time.
    writes: VecDeque<Write>,
    /// The number of Events.
    count: usize,
}

impl Ages {
    pub(super) fn new(mut writes: Vec<Write>) -> Ages {
        writes.sort_by_key(|write| (write.at, write.revision));
        Ages { count: writes.len(), writes: writes.into() }
    }

    /// The number of Events.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// The time of the oldest write.
    pub(super) fn oldest(&self) -> Option<Timestamp> {
        self.writes.front().map(|write| write.at)
    }

    /// Something was done to an Event.
    pub(super) fn note(&mut self, change: &Change, now: Timestamp) {
        match change.kind() {
            ChangeKind::Created => self.count += 1,
            ChangeKind::Deleted => return self.count = self.count.saturating_sub(1),
            ChangeKind::Updated => {}
        }
        self.rebase(now);
        let (key, revision) = (change.key.clone(), change.revision);
        self.writes.push_back(Write { at: now, key, revision });
    }

    /// A clock that was set back keeps the order, and nothing longer than it should be.
    fn rebase(&mut self, now: Timestamp) {
        for write in self.writes.iter_mut().rev().take_while(|write| write.at > now) {
            write.at = now;
        }
    }

    /// Takes a batch of the oldest that were written by then, and at least so many of any age.
    pub(super) fn take(
        &mut self,
        until: Timestamp,
        at_least: usize,
        is_current: impl Fn(&Write) -> bool,
    ) -> Vec<Write> {
        let mut taken = Vec::new();
        while taken.len() < BATCH_MAX
            && self.oldest().is_some_and(|oldest| oldest <= until || taken.len() < at_least)
        {
            taken.extend(self.writes.pop_front().filter(&is_current));
        }
        taken
    }

    /// Whether most writes are of Events that were written again, or are gone.
    pub(super) fn is_littered(&self) -> bool {
        self.writes.len() > 2 * self.count + LITTER_MAX
    }

    /// Forgets writes that mean nothing any more.
    pub(super) fn tidy(&mut self, is_current: impl Fn(&Write) -> bool) {
        self.writes.retain(is_current);
        self.writes.shrink_to(self.writes.len() + LITTER_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn write(second: i64, key: &str, revision: u64) -> Write {
        Write { at: at(second), key: key.into(), revision }
    }

    fn change(key: &str, revision: u64, was: u64) -> Change {
        let entry = |modified| punctual_store::Entry {
            value: bytes::Bytes::new(),
            created: modified,
            modified,
        };
        let previous = (was > 0).then(|| entry(was));
        Change { key: key.into(), revision, current: Some(entry(revision)), previous }
    }

    fn revisions(writes: &[Write]) -> Vec<u64> {
        writes.iter().map(|write| write.revision).collect()
    }

    #[test]
    fn the_oldest_go_first_and_no_earlier_than_they_should() {
        let mut ages = Ages::new(vec![write(30, "b", 1), write(10, "a", 2), write(20, "c", 3)]);
        assert_eq!(ages.oldest(), Some(at(10)));
        assert_eq!(revisions(&ages.take(at(9), 0, |_| true)), [] as [u64; 0]);
        assert_eq!(revisions(&ages.take(at(20), 0, |_| true)), [2, 3]);
        assert_eq!(ages.oldest(), Some(at(30)));
    }

    #[test]
    fn what_is_too_much_goes_whatever_its_age_and_what_was_written_again_stays() {
        let mut ages = Ages::new(vec![write(10, "a", 1), write(20, "b", 2), write(30, "c", 3)]);
        ages.note(&change("a", 4, 1), at(40));
        assert_eq!(ages.len(), 3);
        let taken = ages.take(at(0), 1, |write| write.revision != 1);
        assert_eq!(revisions(&taken), [2]);
    }

    #[test]
    fn a_clock_that_is_set_back_prolongs_nothing() {
        let mut ages = Ages::new(vec![write(10, "a", 1), write(900, "b", 2), write(950, "c", 3)]);
        ages.note(&change("d", 4, 0), at(100));
        assert_eq!(revisions(&ages.take(at(10), 0, |_| true)), [1]);
        assert_eq!(revisions(&ages.take(at(100), 0, |_| true)), [2, 3, 4]);
    }

    #[test]
    fn an_event_that_is_written_all_the_time_takes_no_more_room() {
        let mut ages = Ages::default();
        ages.note(&change("a", 1, 0), at(0));
        for revision in 2..10_000_u64 {
            ages.note(&change("a", revision, revision - 1), at(0));
            if ages.is_littered() {
                ages.tidy(|write| write.revision == revision);
            }
            assert!(ages.writes.len() <= LITTER_MAX + 3);
        }
        assert_eq!(revisions(&ages.take(at(0), 0, |write| write.revision == 9999)), [9999]);
    }
}
