//! A time zone as a table of segments with a constant UTC offset.
//!
//! Within a segment civil time advances in step with UTC, so a search is plain arithmetic there.
//! The table covers all time up to [`TABLE_YEAR`]. For a zone that keeps changing its offset by a
//! rule, it covers one more cycle of 400 years. Rule and calendar repeat after that, so later
//! instants are looked up a whole number of cycles earlier.

#![expect(
    clippy::indexing_slicing,
    reason = "segment indexes come from `find_segment` or from neighbours known to exist"
)]

use jiff::{Timestamp, tz::TimeZone};

use crate::{calendar_rule, gregorian, time_set::DAY_MINUTES, utc_minute};

/// tzdata lists no transition of any zone after 2087 explicitly; later ones follow a rule.
const TABLE_YEAR: i16 = 2100;
/// The number of minutes in 400 years.
pub(crate) const CYCLE_MINUTES: u64 = gregorian::CYCLE_DAYS as u64 * DAY_MINUTES as u64;

/// The length of an index bucket in minutes is 2 to this power: half a year, about one transition.
const BUCKET_BITS: u32 = 18;

/// A range of UTC minutes with one offset. It ends where the next segment begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OffsetSegment {
    /// The first UTC minute.
    pub(crate) start: u64,
    /// Civil time minus UTC in minutes, rounded down. Exact for whole UTC minutes.
    pub(crate) offset: i64,
    /// The earliest civil minute of this and all later segments.
    pub(crate) civil_min: u64,
    /// The end of the latest civil minute of this and all earlier segments.
    pub(crate) civil_end_max: u64,
}

/// A change of the UTC offset. It skips civil minutes or repeats them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transition {
    /// The first UTC minute with the new offset.
    pub(crate) at: u64,
    /// The civil time of the transition under the old offset.
    pub(crate) civil_before: u64,
    /// The civil time of the transition under the new offset.
    pub(crate) civil_after: u64,
}

impl Transition {
    /// The clocks are set forward.
    pub(crate) fn is_forward(self) -> bool {
        self.civil_before < self.civil_after
    }
}

/// All transitions at the same time of day by the same amount in the same direction.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TransitionClass {
    /// The first skipped or repeated minute of the day.
    pub(crate) time: u32,
    /// The number of skipped or repeated minutes.
    pub(crate) minutes: u32,
    pub(crate) is_forward: bool,
    pub(crate) transitions: Box<[ClassMember]>,
}

/// A transition of a [`TransitionClass`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClassMember {
    /// The index of the segment that begins with the transition.
    pub(crate) segment: u32,
    /// The day of the first skipped or repeated minute.
    pub(crate) day: u32,
}

impl TransitionClass {
    /// The skipped or repeated minutes belong to one day.
    pub(crate) fn is_within_day(&self) -> bool {
        self.time + self.minutes <= DAY_MINUTES
    }

    /// Returns the transitions into the segments `(first, last]`.
    pub(crate) fn between(&self, first: usize, last: usize) -> &[ClassMember] {
        let count_up_to = |index: usize| {
            self.transitions.partition_point(|member| member.segment as usize <= index)
        };
        self.transitions.get(count_up_to(first)..count_up_to(last)).unwrap_or_default()
    }
}

/// All segments of a zone.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OffsetTable {
    segments: Box<[OffsetSegment]>,
    /// The segment that contains the start of each bucket of minutes since `index_start`.
    index: Box<[u16]>,
    index_start: u64,
    /// The start of the last 400 years of the table, which repeat; `u64::MAX` without a rule.
    pub(crate) cycle_start: u64,
    /// The end of the table; `u64::MAX` for a zone without a rule.
    pub(crate) end: u64,
    /// The largest offset of any segment.
    offset_max: i64,
    pub(crate) classes: Box<[TransitionClass]>,
}

impl OffsetTable {
    pub(crate) fn new(zone: &TimeZone) -> OffsetTable {
        let offsets = collect_offsets(zone);
        let (cycle_start, end) = find_cycle(zone);
        let segments = build_segments(&offsets, end);
        let index_start = segments.get(1).map_or(0, |segment| segment.start);
        OffsetTable {
            index: build_index(&segments, index_start),
            index_start,
            cycle_start,
            end,
            offset_max: offsets.iter().map(|(_, offset)| *offset).max().unwrap_or_default(),
            classes: build_classes(&segments),
            segments,
        }
    }

    /// Returns the index of the segment that contains a UTC minute.
    #[inline]
    pub(crate) fn find_segment(&self, minute: u64) -> usize {
        let bucket = (minute.saturating_sub(self.index_start) >> BUCKET_BITS) as usize;
        let mut at = usize::from(self.index[bucket.min(self.index.len() - 1)]);
        while self.segments.get(at + 1).is_some_and(|next| next.start <= minute) {
            at += 1;
        }
        at
    }

    #[inline]
    pub(crate) fn segment(&self, at: usize) -> &OffsetSegment {
        &self.segments[at]
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.segments.len()
    }

    /// Returns the civil minute at which a segment begins.
    #[inline]
    pub(crate) fn civil_start(&self, at: usize) -> u64 {
        let segment = &self.segments[at];
        segment.start.saturating_add_signed(segment.offset)
    }

    /// Returns the civil minute at which a segment ends.
    #[inline]
    pub(crate) fn civil_end(&self, at: usize) -> u64 {
        let end = self.segments.get(at + 1).map_or(self.end, |next| next.start);
        end.saturating_add_signed(self.segments[at].offset)
    }

    /// Returns the first segment after `at` that ends after a civil minute, if the table has one.
    pub(crate) fn first_ending_after(&self, at: usize, civil: u64) -> Option<usize> {
        let guess = self.find_segment(civil.saturating_add_signed(-self.offset_max)).max(at + 1);
        (guess..self.len()).find(|&segment| self.civil_end(segment) > civil)
    }

    /// Returns the last segment before `at` that begins at or before a civil minute.
    pub(crate) fn last_starting_by(&self, at: usize, civil: u64) -> Option<usize> {
        // No zone is two days behind UTC, so no later segment can begin early enough.
        let guess = self.find_segment(civil + 2 * u64::from(DAY_MINUTES)).min(at.checked_sub(1)?);
        (0..=guess).rev().find(|&segment| self.civil_start(segment) <= civil)
    }

    /// Maps a minute into the table. Returns the equivalent minute and the whole cycles, in
    /// minutes, that were subtracted.
    #[inline]
    pub(crate) fn fold_minute(&self, minute: u64) -> (u64, u64) {
        if minute < self.end {
            return (minute, 0);
        }
        let back = (minute - self.cycle_start) / CYCLE_MINUTES * CYCLE_MINUTES;
        (minute - back, back)
    }

    /// Returns the transitions in `(after, until]`, up to the end of the table.
    pub(crate) fn transitions(&self, after: u64, until: u64) -> impl Iterator<Item = Transition> {
        let first = self.find_segment(after.min(self.end)) + 1;
        (first..self.len())
            .map(|at| self.transition_into(at))
            .take_while(move |transition| transition.at <= until)
    }

    /// Returns the transition at the start of a segment, which must not be the first one.
    pub(crate) fn transition_into(&self, at: usize) -> Transition {
        Transition {
            at: self.segments[at].start,
            civil_before: self.civil_end(at - 1),
            civil_after: self.civil_start(at),
        }
    }
}

/// Returns the first minute of each segment with its offset, from minute 0 on.
fn collect_offsets(zone: &TimeZone) -> Vec<(u64, i64)> {
    let limit = year_start(TABLE_YEAR + 400);
    let in_minutes = |offset: jiff::tz::Offset| i64::from(offset.seconds()).div_euclid(60);
    let mut offsets = vec![(0, in_minutes(zone.to_offset(Timestamp::MIN)))];
    for transition in zone.following(Timestamp::MIN) {
        let start = utc_minute::ceil_minute(transition.timestamp().as_second());
        if start >= limit {
            break;
        }
        // Of two transitions within one minute only the second has an effect.
        if offsets.last().is_some_and(|(last, _)| *last == start) {
            offsets.pop();
        }
        let offset = in_minutes(transition.offset());
        if offsets.last().is_none_or(|(_, last)| *last != offset) {
            offsets.push((start, offset));
        }
    }
    offsets
}

/// Returns the start and the end of the cycle that repeats, or `u64::MAX` twice without a rule.
fn find_cycle(zone: &TimeZone) -> (u64, u64) {
    let table_end = jiff::civil::date(TABLE_YEAR, 1, 1).to_zoned(TimeZone::UTC);
    let has_rule = table_end.is_ok_and(|end| zone.following(end.timestamp()).next().is_some());
    if has_rule {
        (year_start(TABLE_YEAR), year_start(TABLE_YEAR + 400))
    } else {
        (u64::MAX, u64::MAX)
    }
}

/// Returns the minute at which a year begins in UTC.
fn year_start(year: i16) -> u64 {
    let since_1970 = jiff::civil::date(year, 1, 1).duration_since(jiff::civil::date(1970, 1, 1));
    let day = since_1970.as_hours() / 24 + i64::from(gregorian::UNIX_DAY);
    calendar_rule::join_minute(day as u32, 0)
}

fn build_segments(offsets: &[(u64, i64)], end: u64) -> Box<[OffsetSegment]> {
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

fn build_index(segments: &[OffsetSegment], index_start: u64) -> Box<[u16]> {
    let last = segments.last().map_or(0, |segment| segment.start);
    let buckets = last.saturating_sub(index_start) >> BUCKET_BITS;
    let segment_of = |bucket: u64| {
        let minute = index_start + (bucket << BUCKET_BITS);
        (segments.partition_point(|segment| segment.start <= minute) - 1) as u16
    };
    // Minutes before the first transition use the first bucket too.
    std::iter::once(0).chain((1..=buckets).map(segment_of)).collect()
}

fn build_classes(segments: &[OffsetSegment]) -> Box<[TransitionClass]> {
    let mut classes: Vec<(TransitionClass, Vec<ClassMember>)> = Vec::new();
    for (at, pair) in segments.windows(2).enumerate() {
        let [before, after] = pair else { continue };
        let civil_before = after.start.saturating_add_signed(before.offset);
        let civil_after = after.start.saturating_add_signed(after.offset);
        let (day, time) = calendar_rule::split_minute(civil_before.min(civil_after));
        let class = TransitionClass {
            time,
            minutes: civil_before.abs_diff(civil_after) as u32,
            is_forward: civil_before < civil_after,
            transitions: Box::default(),
        };
        let member = ClassMember { segment: at as u32 + 1, day };
        match classes.iter_mut().find(|(existing, _)| *existing == class) {
            Some((_, members)) => members.push(member),
            None => classes.push((class, vec![member])),
        }
    }
    classes
        .into_iter()
        .map(|(class, members)| TransitionClass { transitions: members.into(), ..class })
        .collect()
}
