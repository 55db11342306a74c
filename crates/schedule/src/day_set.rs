//! The days of a schedule: the month, day-of-month and day-of-week fields.
//!
//! The matching days of a month are a word of 31 bits that depends only on the weekday of its first
//! day. Seven words, computed when the schedule is parsed, cover every month.

#![expect(
    clippy::indexing_slicing,
    reason = "months are below 12, weekdays below 7 and year kinds below 14 by construction"
)]

use std::hash::{Hash, Hasher};

use crate::gregorian::{self, CivilDate, YEAR_KINDS};

/// The longest run of years without a certain date: February 29 around 1900 or 2100.
const YEARS_WITHOUT_MATCH_MAX: u32 = 8;

/// The set of days on which a schedule has slots.
///
/// Two sets are equal if they contain the same days, whatever the fields look like.
#[derive(Clone, Debug)]
pub(crate) struct DaySet {
    /// The parsed fields, for descriptions.
    pub(crate) fields: DayFields,
    /// The months of the month field; bit 0 is March.
    months: u16,
    /// The matching days of a month by the weekday of its first day; bit 0 is the first day.
    by_first_weekday: [u32; 7],
    /// The number of matching days in each month, March first, by kind of year.
    per_month: [[u8; 12]; YEAR_KINDS],
    /// The number of matching days in a year, by kind of year.
    per_year: [u16; YEAR_KINDS],
    /// The number of matching days in 400 years.
    per_cycle: u32,
}

/// The three day fields as parsed: bit n is the value n.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DayFields {
    pub(crate) day_of_month: u32,
    pub(crate) month: u16,
    pub(crate) day_of_week: u8,
    /// A day must match both day fields, because one of them is a star. Otherwise one is enough.
    pub(crate) requires_both: bool,
}

/// The result of [`DaySet::count_between`].
pub(crate) struct DayCount {
    pub(crate) days: i64,
    pub(crate) first_matches: bool,
    pub(crate) last_matches: bool,
}

impl DaySet {
    pub(crate) fn new(fields: DayFields) -> DaySet {
        let mut days = DaySet {
            fields,
            months: (fields.month >> 3 & 0x3ff) | (fields.month & 0b110) << 9,
            by_first_weekday: std::array::from_fn(|first| fields.matching_days(first as u32)),
            per_month: [[0; 12]; YEAR_KINDS],
            per_year: [0; YEAR_KINDS],
            per_cycle: 0,
        };
        // 28 consecutive years of one century contain every kind of year.
        for year in 0..28 {
            let months = std::array::from_fn(|month| days.count_in_month(year, month as u32));
            let kind = gregorian::year_kind(year);
            days.per_month[kind] = months;
            days.per_year[kind] = months.iter().copied().map(u16::from).sum();
        }
        days.per_cycle = days.count_in_years(gregorian::years_of_whole_cycle());
        days
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.per_cycle == 0
    }

    pub(crate) fn is_full(&self) -> bool {
        self.per_cycle == gregorian::CYCLE_DAYS
    }

    #[inline]
    pub(crate) fn contains(&self, day: u32) -> bool {
        let date = CivilDate::from_day(day);
        self.days_of_month(date, day - date.day) >> date.day & 1 == 1
    }

    /// Returns the first matching day at or after `day`.
    #[inline]
    pub(crate) fn at_or_after(&self, day: u32) -> Option<u32> {
        let date = CivilDate::from_day(day);
        let start = day - date.day;
        let remaining = self.days_of_month(date, start) & (u32::MAX << date.day);
        if remaining != 0 {
            return Some(start + remaining.trailing_zeros());
        }
        self.first_after_month(date)
    }

    /// Returns the first matching day after the month of `date`.
    fn first_after_month(&self, date: CivilDate) -> Option<u32> {
        let mut months = self.months & (!1 << date.month);
        for year in date.year..=date.year + YEARS_WITHOUT_MATCH_MAX + 1 {
            while months != 0 {
                let month = months.trailing_zeros();
                let start = gregorian::month_start(year, month);
                let days = self.days_of_selected_month(year, month, start);
                if days != 0 {
                    return Some(start + days.trailing_zeros());
                }
                months &= months - 1;
            }
            months = self.months;
        }
        None
    }

    /// Returns the last matching day at or before `day`.
    #[inline]
    pub(crate) fn at_or_before(&self, day: u32) -> Option<u32> {
        let date = CivilDate::from_day(day);
        let start = day - date.day;
        let remaining = self.days_of_month(date, start) & (u32::MAX >> (31 - date.day));
        if remaining != 0 {
            return Some(start + remaining.ilog2());
        }
        self.last_before_month(date)
    }

    /// Returns the last matching day before the month of `date`.
    fn last_before_month(&self, date: CivilDate) -> Option<u32> {
        let mut months = self.months & !(u16::MAX << date.month);
        for year in (date.year - YEARS_WITHOUT_MATCH_MAX - 1..=date.year).rev() {
            while months != 0 {
                let month = months.ilog2();
                let start = gregorian::month_start(year, month);
                let days = self.days_of_selected_month(year, month, start);
                if days != 0 {
                    return Some(start + days.ilog2());
                }
                months ^= 1 << month;
            }
            months = self.months;
        }
        None
    }

    /// Counts the matching days in `[from, to)`; the count is negative if `to` precedes `from`.
    /// Also reports whether `from` and `to` match, which callers need for partial days.
    pub(crate) fn count_between(&self, from: u32, to: u32) -> DayCount {
        let first = CivilDate::from_day(from);
        let last = CivilDate::from_day(to);
        if (first.year, first.month) == (last.year, last.month) {
            return self.count_within_month(first, last, from - first.day);
        }
        let (before_first, first_matches) = self.count_in_year_before(first, from);
        let (before_last, last_matches) = self.count_in_year_before(last, to);
        let in_years = if first.year == last.year {
            0
        } else {
            self.count_before_year(last.year) - self.count_before_year(first.year)
        };
        DayCount { days: in_years + before_last - before_first, first_matches, last_matches }
    }

    fn count_within_month(&self, first: CivilDate, last: CivilDate, start: u32) -> DayCount {
        let matching = self.days_of_month(first, start);
        let count_before = |day: u32| i64::from((matching & !(u32::MAX << day)).count_ones());
        let matches = |day: u32| matching >> day & 1 == 1;
        DayCount {
            days: count_before(last.day) - count_before(first.day),
            first_matches: matches(first.day),
            last_matches: matches(last.day),
        }
    }

    /// Counts the matching days of the same year before `day`, and reports whether `day` matches.
    fn count_in_year_before(&self, date: CivilDate, day: u32) -> (i64, bool) {
        let months =
            self.per_month[gregorian::year_kind(date.year)].iter().take(date.month as usize);
        let in_months: u32 = months.map(|&days| u32::from(days)).sum();
        let matching = self.days_of_month(date, day - date.day);
        let in_month = (matching & !(u32::MAX << date.day)).count_ones();
        (i64::from(in_months + in_month), matching >> date.day & 1 == 1)
    }

    fn count_before_year(&self, year: u32) -> i64 {
        let years = gregorian::years_before(year);
        i64::from(years.cycles) * i64::from(self.per_cycle)
            + i64::from(self.count_in_years(years.by_kind))
    }

    fn count_in_years(&self, years_by_kind: &[u16; YEAR_KINDS]) -> u32 {
        self.per_year
            .iter()
            .zip(years_by_kind)
            .map(|(&days, &years)| u32::from(days) * u32::from(years))
            .sum()
    }

    fn count_in_month(&self, year: u32, month: u32) -> u8 {
        if self.months >> month & 1 == 0 {
            return 0;
        }
        let start = gregorian::month_start(year, month);
        self.days_of_selected_month(year, month, start).count_ones() as u8
    }

    /// Returns the matching days of a month that begins on day `start`. The month field must
    /// contain the month.
    #[inline]
    fn days_of_selected_month(&self, year: u32, month: u32, start: u32) -> u32 {
        let matching = self.by_first_weekday[gregorian::weekday(start) as usize];
        matching & gregorian::month_days(year, month)
    }

    /// Returns the matching days of the month of `date`, which begins on day `start`.
    #[inline]
    fn days_of_month(&self, date: CivilDate, start: u32) -> u32 {
        let is_selected = u32::from(self.months >> date.month & 1).wrapping_neg();
        self.days_of_selected_month(date.year, date.month, start) & is_selected
    }

    /// Returns the matching days of every month (of a leap year) by its first weekday. Each
    /// combination occurs within 400 years, so two sets are equal exactly if these tables are.
    fn canonical_days(&self) -> [[u32; 7]; 12] {
        std::array::from_fn(|month| {
            if self.months >> month & 1 == 0 {
                return [0; 7];
            }
            let existing = gregorian::longest_month_days(month as u32);
            self.by_first_weekday.map(|days| days & existing)
        })
    }
}

impl PartialEq for DaySet {
    fn eq(&self, other: &DaySet) -> bool {
        self.canonical_days() == other.canonical_days()
    }
}

impl Eq for DaySet {}

impl Hash for DaySet {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.canonical_days().hash(state);
    }
}

impl DayFields {
    /// Returns the matching days of a month of 31 days that begins on `first_weekday`.
    fn matching_days(self, first_weekday: u32) -> u32 {
        (0..31)
            .filter(|day| self.matches(*day, (first_weekday + day) % 7))
            .map(|day| 1 << day)
            .sum()
    }

    fn matches(self, day: u32, weekday: u32) -> bool {
        let by_month = self.day_of_month >> (day + 1) & 1 == 1;
        let by_week = self.day_of_week >> weekday & 1 == 1;
        if self.requires_both { by_month && by_week } else { by_month || by_week }
    }
}
