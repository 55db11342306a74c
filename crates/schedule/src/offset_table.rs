//! A zone as a line of segments: stretches of UTC minutes with one offset each.
//!
//! Within a segment civil time runs in step with UTC, so a schedule is plain arithmetic there. The
//! table reaches to [`TABLE_YEAR`] and, where the zone goes on changing its clocks by a rule, one
//! cycle of 400 years further; both the rule and the calendar repeat after that, so later instants
//! are looked up a number of cycles earlier.

#![expect(
    clippy::indexing_slicing,
    reason = "segment numbers come from `find` or from neighbours whose existence was checked"
)]

use jiff::{Timestamp, tz::TimeZone};

use crate::{calendar_rule, gregorian, time_set::DAY_MINUTES, utc_minute};

/// No zone of tzdata lists its changes one by one beyond 2087; a rule holds from then on.
const TABLE_YEAR: i16 = 2100;
/// Minutes of 400 years.
pub(crate) const CYCLE: u64 = gregorian::CYCLE_DAYS as u64 * DAY_MINUTES as u64;

/// Minutes of one bucket of the index, as a power of two: half a year, about two changes.
const BUCKET_BITS: u32 = 18;

/// A stretch of constant offset. It ends where the next one begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OffsetSegment {
    /// The first UTC minute.
    pub(crate) start: u64,
    /// Civil minus UTC, in minutes, rounded down. For whole UTC minutes that is exact.
    pub(crate) offset: i64,
    /// The earliest civil minute of this segment and all later ones.
    pub(crate) civil_min: u64,
    /// The end of the latest civil minute of this segment and all earlier ones.
    pub(crate) civil_end_max: u64,
}

/// A change of the clocks: between two segments, civil minutes are skipped or come twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transition {
    /// The first UTC minute under the new offset.
    pub(crate) at: u64,
    /// The civil minute at which the clocks are changed, and the one they are set to.
    pub(crate) from: u64,
    pub(crate) to: u64,
}

/// Changes at the same time of day by the same amount.
#[derive(Debug)]
pub(crate) struct TransitionClass {
    /// The first minute of the day that is skipped or repeated, and how many there are.
    pub(crate) time: u32,
    pub(crate) minutes: u32,
    pub(crate) forward: bool,
    /// The segments that begin with such a change, and the day on which it is.
    pub(crate) changes: Box<[(u32, u32)]>,
}

impl TransitionClass {
    /// Whether the change begins and ends on the same day.
    pub(crate) fn is_within_day(&self) -> bool {
        self.time + self.minutes <= DAY_MINUTES
    }

    /// The changes on the way from one segment to a later one.
    pub(crate) fn between(&self, first: usize, last: usize) -> &[(u32, u32)] {
        let upto = |at: usize| self.changes.partition_point(|(segment, _)| *segment as usize <= at);
        self.changes.get(upto(first)..upto(last)).unwrap_or_default()
    }
}

/// All segments of a zone.
#[derive(Debug)]
pub(crate) struct OffsetTable {
    segments: Box<[OffsetSegment]>,
    /// The segment at the start of each bucket of minutes since `index_start`.
    index: Box<[u16]>,
    index_start: u64,
    /// Where the table begins to repeat and where it ends; the end of time for a zone without rule.
    pub(crate) cycle_start: u64,
    pub(crate) end: u64,
    /// The largest offset of any segment.
    offset_max: i64,
    pub(crate) classes: Box<[TransitionClass]>,
}

impl OffsetTable {
    pub(crate) fn of(zone: &TimeZone) -> OffsetTable {
        let offsets = offsets_of(zone);
        let (cycle_start, end) = cycle_of(zone);
        let segments = with_extremes(&offsets, end);
        let (index_start, index) = index_of(&segments);
        let offset_max = offsets.iter().map(|(_, offset)| *offset).max().unwrap_or_default();
        let classes = classes_of(&segments);
        OffsetTable { segments, index, index_start, cycle_start, end, offset_max, classes }
    }

    /// The number of the segment of a UTC minute.
    #[inline]
    pub(crate) fn find(&self, minute: u64) -> usize {
        let bucket = (minute.saturating_sub(self.index_start) >> BUCKET_BITS) as usize;
        let mut at = usize::from(self.index[bucket.min(self.index.len() - 1)]);
        while self.segments.get(at + 1).is_some_and(|next| next.start <= minute) {
            at += 1;
        }
        at
    }

    #[inline]
    pub(crate) fn get(&self, at: usize) -> &OffsetSegment {
        &self.segments[at]
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.segments.len()
    }

    /// The civil minute at which a segment begins.
    #[inline]
    pub(crate) fn civil_start(&self, at: usize) -> u64 {
        let segment = &self.segments[at];
        segment.start.saturating_add_signed(segment.offset)
    }

    /// The civil minute at which a segment ends.
    #[inline]
    pub(crate) fn civil_end(&self, at: usize) -> u64 {
        let end = self.segments.get(at + 1).map_or(self.end, |next| next.start);
        end.saturating_add_signed(self.segments[at].offset)
    }

    /// The first segment after `at` that ends beyond a civil minute. None at the table's end.
    pub(crate) fn first_beyond(&self, at: usize, civil: u64) -> Option<usize> {
        let guess = self.find(civil.saturating_add_signed(-self.offset_max)).max(at + 1);
        (guess..self.len()).find(|&segment| self.civil_end(segment) > civil)
    }

    /// The last segment before `at` that begins at or before a civil minute.
    pub(crate) fn last_reaching(&self, at: usize, civil: u64) -> Option<usize> {
        // No zone is two days behind UTC, so no later segment can begin early enough.
        let guess = self.find(civil + 2 * u64::from(DAY_MINUTES)).min(at.checked_sub(1)?);
        (0..=guess).rev().find(|&segment| self.civil_start(segment) <= civil)
    }

    /// Takes a minute beyond the table into it: the minute there, and how far back that was.
    #[inline]
    pub(crate) fn fold(&self, minute: u64) -> (u64, u64) {
        if minute < self.end {
            return (minute, 0);
        }
        let back = (minute - self.cycle_start) / CYCLE * CYCLE;
        (minute - back, back)
    }

    /// The changes of the clocks in `(after, until]`, up to the end of the table.
    pub(crate) fn shifts(&self, after: u64, until: u64) -> impl Iterator<Item = Transition> {
        let first = self.find(after.min(self.end)) + 1;
        (first..self.len()).map(|at| self.shift_into(at)).take_while(move |s| s.at <= until)
    }

    /// The change with which a segment other than the first begins.
    pub(crate) fn shift_into(&self, at: usize) -> Transition {
        let (from, to) = (self.civil_end(at - 1), self.civil_start(at));
        Transition { at: self.segments[at].start, from, to }
    }
}

/// The first minute of each segment with its offset, from the beginning of time on.
fn offsets_of(zone: &TimeZone) -> Vec<(u64, i64)> {
    let limit = year_start(TABLE_YEAR + 400);
    let in_minutes = |offset: jiff::tz::Offset| i64::from(offset.seconds()).div_euclid(60);
    let mut offsets = vec![(0, in_minutes(zone.to_offset(Timestamp::MIN)))];
    for change in zone.following(Timestamp::MIN) {
        let start = utc_minute::ceil_minute(change.timestamp().as_second());
        if start >= limit {
            break;
        }
        // Two changes within one minute leave only the second one to be seen.
        offsets.pop_if(|(last, _)| *last == start);
        let offset = in_minutes(change.offset());
        if offsets.last().is_none_or(|(_, last)| *last != offset) {
            offsets.push((start, offset));
        }
    }
    offsets
}

/// Where the zone's table repeats and ends.
fn cycle_of(zone: &TimeZone) -> (u64, u64) {
    let table_end = jiff::civil::date(TABLE_YEAR, 1, 1).to_zoned(TimeZone::UTC);
    let ruled = table_end.is_ok_and(|end| zone.following(end.timestamp()).next().is_some());
    if ruled {
        (year_start(TABLE_YEAR), year_start(TABLE_YEAR + 400))
    } else {
        (u64::MAX, u64::MAX)
    }
}

/// The minute at which a year begins in UTC.
fn year_start(year: i16) -> u64 {
    let days = jiff::civil::date(year, 1, 1).duration_since(jiff::civil::date(1970, 1, 1));
    let days = days.as_hours() / 24 + i64::from(gregorian::UNIX_DAY);
    calendar_rule::join(days as u32, 0)
}

fn with_extremes(offsets: &[(u64, i64)], end: u64) -> Box<[OffsetSegment]> {
    let ends = offsets.iter().skip(1).map(|(start, _)| *start).chain([end]);
    let mut civil_end_max = 0;
    let mut segments: Box<[OffsetSegment]> = offsets
        .iter()
        .zip(ends)
        .map(|(&(start, offset), end)| {
            civil_end_max = civil_end_max.max(end.saturating_add_signed(offset));
            OffsetSegment { start, offset, civil_min: u64::MAX, civil_end_max }
        })
        .collect();
    let mut civil_min = u64::MAX;
    for segment in segments.iter_mut().rev() {
        civil_min = civil_min.min(segment.start.saturating_add_signed(segment.offset));
        segment.civil_min = civil_min;
    }
    segments
}

fn index_of(segments: &[OffsetSegment]) -> (u64, Box<[u16]>) {
    let start = segments.get(1).map_or(0, |segment| segment.start);
    let last = segments.last().map_or(0, |segment| segment.start);
    let buckets = last.saturating_sub(start) >> BUCKET_BITS;
    let of_minute = |minute| segments.partition_point(|segment| segment.start <= minute) - 1;
    let of_bucket = |bucket: u64| of_minute(start + (bucket << BUCKET_BITS)) as u16;
    // Minutes before the first change fall into the first bucket too.
    let index = std::iter::once(0).chain((1..=buckets).map(of_bucket)).collect();
    (start, index)
}

fn classes_of(segments: &[OffsetSegment]) -> Box<[TransitionClass]> {
    type Key = (u32, u32, bool);
    let mut classes: Vec<(Key, Vec<(u32, u32)>)> = Vec::new();
    for (at, pair) in segments.windows(2).enumerate() {
        let [before, after] = pair else { continue };
        let from = after.start.saturating_add_signed(before.offset);
        let to = after.start.saturating_add_signed(after.offset);
        let (day, time) = calendar_rule::split(from.min(to));
        let key = (time, from.abs_diff(to) as u32, from < to);
        let change = (at as u32 + 1, day);
        match classes.iter_mut().find(|(known, _)| *known == key) {
            Some((_, changes)) => changes.push(change),
            None => classes.push((key, vec![change])),
        }
    }
    classes
        .into_iter()
        .map(|((time, minutes, forward), changes)| TransitionClass {
            time,
            minutes,
            forward,
            changes: changes.into(),
        })
        .collect()
}
