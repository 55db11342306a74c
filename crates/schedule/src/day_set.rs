//! Which days a schedule runs on: the month, day-of-month and day-of-week fields.
//!
//! A month is a word of 31 bits. Which of its days match depends only on the weekday it begins
//! with, so seven words, made when the schedule is parsed, answer for every month there is.

#![expect(
    clippy::indexing_slicing,
    reason = "weekdays are below 7 and year kinds below 14 by construction"
)]

use crate::gregorian::{self, CivilDate, YEAR_KINDS};

/// The longest stretch of years without a certain date: February 29 around 1900 or 2100.
const YEARS_WITHOUT_MAX: u32 = 8;

/// The days of a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DaySet {
    /// What was written, to be told again.
    pub(crate) fields: DayFields,
    /// The months that may match, March lowest.
    months: u16,
    /// By the weekday of a month's first day: the days that match, the first one lowest.
    by_first_weekday: [u32; 7],
    /// By kind of year: how many days of each month match, March first, and of the whole year.
    per_month: [[u8; 12]; YEAR_KINDS],
    per_year: [u16; YEAR_KINDS],
    /// How many days of 400 years match.
    per_cycle: u32,
}

/// The three fields as they were parsed: bit n is the value n.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DayFields {
    pub(crate) day_of_month: u32,
    pub(crate) month: u16,
    pub(crate) day_of_week: u8,
    /// A day must match both day fields (one of them is a star), not just one of the two.
    pub(crate) both: bool,
}

impl DaySet {
    pub(crate) fn new(fields: DayFields) -> DaySet {
        let mut days = DaySet {
            fields,
            months: (fields.month >> 3 & 0x3ff) | (fields.month & 0b110) << 9,
            by_first_weekday: std::array::from_fn(|first| fields.of_month_beginning(first as u32)),
            per_month: [[0; 12]; YEAR_KINDS],
            per_year: [0; YEAR_KINDS],
            per_cycle: 0,
        };
        // 28 years in a row within one century show every kind.
        for year in 0..28 {
            let months = std::array::from_fn(|month| days.matching_in(year, month as u32));
            let kind = gregorian::year_kind(year);
            days.per_month[kind] = months;
            days.per_year[kind] = months.iter().copied().map(u16::from).sum();
        }
        days.per_cycle = days.in_years(gregorian::years_of_whole_cycle());
        days
    }

    /// Whether no day ever matches.
    pub(crate) fn is_never(&self) -> bool {
        self.per_cycle == 0
    }

    /// Whether every day matches.
    pub(crate) fn is_always(&self) -> bool {
        self.per_cycle == gregorian::CYCLE_DAYS
    }

    #[inline]
    pub(crate) fn contains(&self, day: u32) -> bool {
        let date = CivilDate::of(day);
        self.of_month(date, day - date.day) >> date.day & 1 == 1
    }

    /// The first matching day at or after `day`.
    #[inline]
    pub(crate) fn at_or_after(&self, day: u32) -> Option<u32> {
        let date = CivilDate::of(day);
        let start = day - date.day;
        let left = self.of_month(date, start) & (u32::MAX << date.day);
        if left != 0 {
            return Some(start + left.trailing_zeros());
        }
        self.after_month(date)
    }

    /// The first matching day in a month after that of `date`.
    fn after_month(&self, date: CivilDate) -> Option<u32> {
        let mut months = self.months & (!1 << date.month);
        for year in date.year..=date.year + YEARS_WITHOUT_MAX + 1 {
            while months != 0 {
                let month = months.trailing_zeros();
                let (start, days) = self.in_month(year, month);
                if days != 0 {
                    return Some(start + days.trailing_zeros());
                }
                months &= months - 1;
            }
            months = self.months;
        }
        None
    }

    /// The last matching day at or before `day`.
    #[inline]
    pub(crate) fn at_or_before(&self, day: u32) -> Option<u32> {
        let date = CivilDate::of(day);
        let start = day - date.day;
        let left = self.of_month(date, start) & (u32::MAX >> (31 - date.day));
        if left != 0 {
            return Some(start + left.ilog2());
        }
        self.before_month(date)
    }

    /// The last matching day in a month before that of `date`.
    fn before_month(&self, date: CivilDate) -> Option<u32> {
        let mut months = self.months & !(u16::MAX << date.month);
        for year in (date.year - YEARS_WITHOUT_MAX - 1..=date.year).rev() {
            while months != 0 {
                let month = months.ilog2();
                let (start, days) = self.in_month(year, month);
                if days != 0 {
                    return Some(start + days.ilog2());
                }
                months ^= 1 << month;
            }
            months = self.months;
        }
        None
    }

    /// How many matching days there are from one day up to another, negative if that comes first;
    /// and whether each of the two matches itself.
    pub(crate) fn between(&self, from: u32, to: u32) -> (i64, bool, bool) {
        let (first, last) = (CivilDate::of(from), CivilDate::of(to));
        if (first.year, first.month) == (last.year, last.month) {
            return self.between_days_of_month(first, last, from - first.day);
        }
        let (before_first, first_matches) = self.of_year_before(first, from);
        let (before_last, last_matches) = self.of_year_before(last, to);
        let years = if first.year == last.year {
            0
        } else {
            self.before_year(last.year) - self.before_year(first.year)
        };
        (years + before_last - before_first, first_matches, last_matches)
    }

    fn between_days_of_month(
        &self,
        first: CivilDate,
        last: CivilDate,
        start: u32,
    ) -> (i64, bool, bool) {
        let matching = self.of_month(first, start);
        let before = |day: u32| i64::from((matching & !(u32::MAX << day)).count_ones());
        let matches = |day: u32| matching >> day & 1 == 1;
        (before(last.day) - before(first.day), matches(first.day), matches(last.day))
    }

    /// How many matching days of its year come before a day, and whether it matches itself.
    fn of_year_before(&self, date: CivilDate, day: u32) -> (i64, bool) {
        let months =
            self.per_month[gregorian::year_kind(date.year)].iter().take(date.month as usize);
        let of_months: u32 = months.map(|&days| u32::from(days)).sum();
        let of_month = self.of_month(date, day - date.day);
        let of_days = (of_month & !(u32::MAX << date.day)).count_ones();
        (i64::from(of_months + of_days), of_month >> date.day & 1 == 1)
    }

    fn before_year(&self, year: u32) -> i64 {
        let years = gregorian::years_before(year);
        i64::from(years.cycles) * i64::from(self.per_cycle)
            + i64::from(self.in_years(years.by_kind))
    }

    fn in_years(&self, years: &[u16; YEAR_KINDS]) -> u32 {
        self.per_year
            .iter()
            .zip(years)
            .map(|(&days, &years)| u32::from(days) * u32::from(years))
            .sum()
    }

    fn matching_in(&self, year: u32, month: u32) -> u8 {
        let wanted = self.months >> month & 1 == 1;
        if wanted { self.in_month(year, month).1.count_ones() as u8 } else { 0 }
    }

    /// A month's first day and its matching days, the month being one of `self.months`.
    #[inline]
    fn in_month(&self, year: u32, month: u32) -> (u32, u32) {
        let start = gregorian::month_start(year, month);
        let matching = self.by_first_weekday[gregorian::weekday(start) as usize];
        (start, matching & gregorian::month_days(year, month))
    }

    /// The matching days of the month of `date`, which begins on day `start`.
    #[inline]
    fn of_month(&self, date: CivilDate, start: u32) -> u32 {
        let matching = self.by_first_weekday[gregorian::weekday(start) as usize];
        let wanted = u32::from(self.months >> date.month & 1).wrapping_neg();
        matching & wanted & gregorian::month_days(date.year, date.month)
    }
}

impl DayFields {
    /// The matching days of a month of 31 days that begins on the given weekday.
    fn of_month_beginning(self, first_weekday: u32) -> u32 {
        (0..31)
            .filter(|day| self.matches(*day, (first_weekday + day) % 7))
            .map(|day| 1 << day)
            .sum()
    }

    fn matches(self, day: u32, weekday: u32) -> bool {
        let by_month = self.day_of_month >> (day + 1) & 1 == 1;
        let by_week = self.day_of_week >> weekday & 1 == 1;
        if self.both { by_month && by_week } else { by_month || by_week }
    }
}
