//! Iterators over the slots (instants at which to run) of a schedule, forwards and backwards.

use std::iter::FusedIterator;

use jiff::{SignedDuration, Timestamp};

use crate::schedule::Schedule;

/// The slots after an instant, in order. See [`Schedule::after`].
#[derive(Clone, Debug)]
pub struct SlotsAfter<'s> {
    schedule: &'s Schedule,
    /// The previous slot, or None at the end.
    previous: Option<Timestamp>,
}

impl<'s> SlotsAfter<'s> {
    pub(crate) fn new(schedule: &'s Schedule, instant: Timestamp) -> SlotsAfter<'s> {
        SlotsAfter { schedule, previous: Some(instant) }
    }
}

impl Iterator for SlotsAfter<'_> {
    type Item = Timestamp;

    fn next(&mut self) -> Option<Timestamp> {
        self.previous = self.schedule.next_after(self.previous?);
        self.previous
    }
}

impl FusedIterator for SlotsAfter<'_> {}

/// The slots before an instant, latest first. See [`Schedule::before`].
#[derive(Clone, Debug)]
pub struct SlotsBefore<'s> {
    schedule: &'s Schedule,
    /// The previous item, which is the next later slot, or None at the end.
    previous: Option<Timestamp>,
}

impl<'s> SlotsBefore<'s> {
    pub(crate) fn new(schedule: &'s Schedule, instant: Timestamp) -> SlotsBefore<'s> {
        SlotsBefore { schedule, previous: Some(instant) }
    }
}

impl Iterator for SlotsBefore<'_> {
    type Item = Timestamp;

    fn next(&mut self) -> Option<Timestamp> {
        self.previous = self.schedule.latest_before(self.previous?);
        self.previous
    }
}

impl FusedIterator for SlotsBefore<'_> {}

/// The slots between two instants, from both ends. See [`Schedule::between`].
#[derive(Clone, Debug)]
pub struct SlotsBetween<'s> {
    schedule: &'s Schedule,
    /// All remaining slots are in `(after, until]`.
    after: Timestamp,
    until: Timestamp,
}

impl<'s> SlotsBetween<'s> {
    pub(crate) fn new(
        schedule: &'s Schedule,
        after: Timestamp,
        until: Timestamp,
    ) -> SlotsBetween<'s> {
        SlotsBetween { schedule, after, until }
    }

    fn remaining(&self) -> u64 {
        self.schedule.count_in(self.after, self.until)
    }
}

impl Iterator for SlotsBetween<'_> {
    type Item = Timestamp;

    fn next(&mut self) -> Option<Timestamp> {
        let slot = self.schedule.next_after(self.after).filter(|slot| *slot <= self.until)?;
        self.after = slot;
        Some(slot)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match usize::try_from(self.remaining()) {
            Ok(remaining) => (remaining, Some(remaining)),
            Err(_) => (usize::MAX, None),
        }
    }

    fn count(self) -> usize {
        usize::try_from(self.remaining()).unwrap_or(usize::MAX)
    }

    fn last(mut self) -> Option<Timestamp> {
        self.next_back()
    }
}

impl DoubleEndedIterator for SlotsBetween<'_> {
    fn next_back(&mut self) -> Option<Timestamp> {
        let slot = self.schedule.latest_in(self.after, self.until)?;
        // The slot is later than `after`, so the subtraction stays in range.
        self.until = slot.checked_sub(SignedDuration::from_nanos(1)).unwrap_or(self.after);
        Some(slot)
    }
}

impl FusedIterator for SlotsBetween<'_> {}
