//! Slots (scheduled times) at equal distances, so that a status can list thousands of them.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::SLOTS_MAX;
use crate::time::Time;

/// One slot, or several at equal distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotRange {
    /// The first slot.
    pub slot: Time,
    /// The last slot; absent if there is only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub through: Option<Time>,
    /// The number of slots; absent if there is only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<i64>,
}

/// Slots in ascending order, as ranges of equal distances.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SlotRanges(Vec<SlotRange>);

impl SlotRange {
    /// Returns the number of slots, from 1 to [`SLOTS_MAX`].
    pub fn count(&self) -> usize {
        let count = if self.through.is_some() { self.count.unwrap_or(1) } else { 1 };
        usize::try_from(count.max(1)).unwrap_or(SLOTS_MAX).min(SLOTS_MAX)
    }

    /// Returns the slot at a position.
    fn nth(&self, position: usize) -> Option<Timestamp> {
        if position >= self.count() {
            return None;
        }
        let steps = i64::try_from(position).ok()?;
        let first = self.slot.timestamp();
        if steps == 0 {
            return Some(first);
        }
        let last = self.through?.timestamp();
        let distance = last.as_second().checked_sub(first.as_second())?;
        let gaps = i64::try_from(self.count()).ok()? - 1;
        let offset = distance.checked_div(gaps)?.checked_mul(steps)?;
        first.checked_add(SignedDuration::from_secs(offset)).ok()
    }
}

impl SlotRanges {
    /// Returns the ranges of slots in ascending order.
    pub fn from_slots(slots: impl IntoIterator<Item = Timestamp>) -> SlotRanges {
        let mut ranges: Vec<SlotRange> = Vec::new();
        for slot in slots {
            match ranges.last_mut() {
                Some(range) if extends(range, slot) => {
                    range.count = Some(range.count.unwrap_or(1) + 1);
                    range.through = Some(Time::new(slot));
                }
                _ => ranges.push(SlotRange { slot: Time::new(slot), through: None, count: None }),
            }
        }
        SlotRanges(ranges)
    }

    /// Returns the number of slots.
    pub fn len(&self) -> usize {
        let counts = self.0.iter().map(SlotRange::count);
        counts.fold(0, usize::saturating_add)
    }

    /// Whether there are no slots.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the slot at a position.
    pub fn nth(&self, mut position: usize) -> Option<Timestamp> {
        for range in &self.0 {
            match position.checked_sub(range.count()) {
                None => return range.nth(position),
                Some(rest) => position = rest,
            }
        }
        None
    }

    /// Returns the slots, at most [`SLOTS_MAX`].
    pub fn iter(&self) -> impl Iterator<Item = Timestamp> {
        let slots =
            self.0.iter().flat_map(|range| (0..range.count()).filter_map(|at| range.nth(at)));
        slots.take(SLOTS_MAX)
    }

    /// Returns the ranges.
    pub fn ranges(&self) -> &[SlotRange] {
        &self.0
    }
}

/// Whether a slot follows a range at its distance. Any later slot follows a range of one.
fn extends(range: &SlotRange, slot: Timestamp) -> bool {
    let first = range.slot.timestamp().as_second();
    let Some(through) = range.through else { return slot.as_second() > first };
    let gaps = i64::try_from(range.count()).unwrap_or(i64::MAX) - 1;
    let last = through.timestamp().as_second();
    let distance = (last - first).checked_div(gaps);
    distance == Some(slot.as_second() - last)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn slots(seconds: &[i64]) -> Vec<Timestamp> {
        seconds.iter().map(|second| Timestamp::from_second(*second).unwrap()).collect()
    }

    #[test]
    fn slots_at_equal_distances_are_one_range() {
        let hourly = slots(&[0, 3600, 7200, 10_800]);
        let ranges = SlotRanges::from_slots(hourly.clone());
        assert_eq!((ranges.ranges().len(), ranges.len()), (1, 4));
        assert_eq!(ranges.iter().collect::<Vec<_>>(), hourly);
        assert_eq!(ranges.nth(2), Some(hourly[2]));
        assert_eq!(ranges.nth(4), None);
        assert!(SlotRanges::from_slots([]).is_empty());
    }

    #[test]
    fn absurd_ranges_yield_no_slots_and_do_not_panic() {
        for text in [
            r#"[{"slot":"9999-12-30T00:00:00Z","through":"9999-12-30T22:00:00Z","count":9223372036854775807}]"#,
            r#"[{"slot":"2026-01-01T00:00:00Z","count":5}]"#,
            r#"[{"slot":"2026-01-01T00:00:00Z","through":"2025-01-01T00:00:00Z","count":-5}]"#,
        ] {
            let ranges: SlotRanges = serde_json::from_str(text).unwrap();
            assert!(ranges.nth(0).is_some());
            let _ = (ranges.nth(3), ranges.nth(usize::MAX), ranges.iter().nth(3));
        }
    }

    proptest! {
        #[test]
        fn ranges_hold_exactly_their_slots(mut seconds in prop::collection::btree_set(0_i64..500, 0..60)) {
            seconds.retain(|second| second % 7 != 3);
            let slots = slots(&seconds.into_iter().collect::<Vec<_>>());
            let ranges = SlotRanges::from_slots(slots.clone());
            prop_assert_eq!(ranges.iter().collect::<Vec<_>>(), slots.clone());
            prop_assert_eq!(ranges.len(), slots.len());
            for (position, slot) in slots.iter().enumerate() {
                prop_assert_eq!(ranges.nth(position), Some(*slot));
            }
        }
    }
}
