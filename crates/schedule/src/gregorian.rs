//! The proleptic Gregorian calendar as arithmetic on whole days.
//!
//! Years begin in March here, so the leap day is the last day of its year and every month but the
//! last has one length. Days and years count from a March so early that every instant jiff knows
//! is positive. Months are 0 (March) to 11 (February), days of the month 0 to 30, weekdays 0
//! (Sunday) to 6.

#![expect(
    clippy::indexing_slicing,
    reason = "months are below 12, weekdays below 7 and years of a cycle below 400 by construction"
)]

/// Days of 400 years, after which dates and weekdays repeat.
pub(crate) const CYCLE_DAYS: u32 = 146_097;
const CYCLE_YEARS: u32 = 400;

/// 30 cycles before 0000-03-01: a whole number of cycles, so weekdays and leap years are as there.
const BIAS_YEARS: u32 = 30 * CYCLE_YEARS;
/// Day number of 1970-01-01.
pub(crate) const UNIX_DAY: u32 = 30 * CYCLE_DAYS + 719_468;

/// Days of the year before each month, March first.
const MONTH_STARTS: [u16; 12] = [0, 31, 61, 92, 122, 153, 184, 214, 245, 275, 306, 337];
/// A bit for each day that the month always has, March first.
const MONTH_DAYS: [u32; 12] = {
    const LONG: u32 = (1 << 31) - 1;
    const SHORT: u32 = (1 << 30) - 1;
    [LONG, SHORT, LONG, SHORT, LONG, LONG, SHORT, LONG, SHORT, LONG, LONG, (1 << 28) - 1]
};
const FEBRUARY: u32 = 11;

/// A day, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CivilDate {
    pub(crate) year: u32,
    pub(crate) month: u32,
    pub(crate) day: u32,
}

impl CivilDate {
    /// The date of a day number, after Neri and Schneider, "Euclidean affine functions and their
    /// application to calendar algorithms" (2022): multiplications instead of divisions.
    #[inline]
    pub(crate) fn of(day: u32) -> CivilDate {
        let quarters = 4 * day + 3;
        let century = quarters / CYCLE_DAYS;
        let quarters_of_century = (quarters % CYCLE_DAYS) | 3;
        // 2939745 / 2^32 is 1 / 1461, closely enough for the days of one century.
        let product = 2_939_745 * u64::from(quarters_of_century);
        let year_of_century = (product >> 32) as u32;
        let day_of_year = (product as u32) / 2_939_745 / 4;
        // 2141 / 2^16 is the slope of the line through the starts of the months.
        let scaled = 2_141 * day_of_year + 1_305;
        CivilDate {
            year: 100 * century + year_of_century,
            month: scaled >> 16,
            day: (scaled & 0xffff) / 2_141,
        }
    }

    /// The date as jiff has it.
    pub(crate) fn civil(self) -> Option<jiff::civil::Date> {
        let after_december = self.month >= 10;
        let month = if after_december { self.month - 9 } else { self.month + 3 };
        let year = (self.year + u32::from(after_december)) as i32 - BIAS_YEARS as i32;
        jiff::civil::Date::new(year as i16, month as i8, self.day as i8 + 1).ok()
    }
}

/// The number of the first day of a month.
#[inline]
pub(crate) fn month_start(year: u32, month: u32) -> u32 {
    year_start(year) + u32::from(MONTH_STARTS[month as usize])
}

#[inline]
fn year_start(year: u32) -> u32 {
    let century = year / 100;
    365 * year + year / 4 - century + century / 4
}

/// A bit for each day of the month, day 0 lowest.
#[inline]
pub(crate) fn month_days(year: u32, month: u32) -> u32 {
    let leap_day = u32::from(month == FEBRUARY && ends_in_leap_day(year)) << 28;
    MONTH_DAYS[month as usize] | leap_day
}

#[inline]
fn ends_in_leap_day(year: u32) -> bool {
    let civil = year + 1;
    // A year divisible by 100 is a leap year if divisible by 16 too, that is, by 400.
    if civil.is_multiple_of(100) { civil.is_multiple_of(16) } else { civil.is_multiple_of(4) }
}

/// The weekday of a day, Sunday is 0.
#[inline]
pub(crate) fn weekday(day: u32) -> u32 {
    // Day 0 is a Wednesday, as 2000-03-01 was.
    (day + 3) % 7
}

/// How many kinds of year there are: seven first weekdays, with and without a leap day.
pub(crate) const YEAR_KINDS: usize = 14;

/// Which of the fourteen kinds a year is of.
pub(crate) fn year_kind(year: u32) -> usize {
    (2 * weekday(year_start(year)) + u32::from(ends_in_leap_day(year))) as usize
}

/// How many years of each kind lie before a year.
pub(crate) fn years_before(year: u32) -> YearsBefore {
    YearsBefore {
        cycles: year / CYCLE_YEARS,
        by_kind: &YEARS_OF_CYCLE[(year % CYCLE_YEARS) as usize],
    }
}

/// See [`years_before`].
pub(crate) struct YearsBefore {
    /// Whole cycles of 400 years.
    pub(crate) cycles: u32,
    /// Years of each kind since the last whole cycle.
    pub(crate) by_kind: &'static [u16; YEAR_KINDS],
}

/// Row `y`: how many of the first `y` years of a cycle are of each kind. Row 400 is a whole cycle.
static YEARS_OF_CYCLE: [[u16; YEAR_KINDS]; CYCLE_YEARS as usize + 1] = years_of_cycle();

/// How many years of each kind a whole cycle has.
pub(crate) fn years_of_whole_cycle() -> &'static [u16; YEAR_KINDS] {
    &YEARS_OF_CYCLE[CYCLE_YEARS as usize]
}

const fn years_of_cycle() -> [[u16; YEAR_KINDS]; CYCLE_YEARS as usize + 1] {
    let mut rows = [[0; YEAR_KINDS]; CYCLE_YEARS as usize + 1];
    let (mut year, mut start) = (0, 0);
    while year < CYCLE_YEARS as usize {
        let civil = year + 1;
        let leap =
            (civil.is_multiple_of(4) && !civil.is_multiple_of(100)) || civil.is_multiple_of(400);
        rows[year + 1] = rows[year];
        rows[year + 1][2 * ((start + 3) % 7) + leap as usize] += 1;
        start += 365 + leap as usize;
        year += 1;
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Walks every day jiff knows, a day at a time, beside the arithmetic.
    #[test]
    fn every_day_of_twenty_thousand_years_is_taken_apart_as_jiff_does() {
        let mut date = jiff::civil::Date::MIN.first_of_month();
        let mut day = (UNIX_DAY as i64
            + jiff::civil::date(1970, 1, 1).until(date).unwrap().get_days() as i64)
            as u32;
        loop {
            let ours = CivilDate::of(day);
            assert_eq!(ours.civil(), Some(date));
            assert_eq!(weekday(day), date.weekday().to_sunday_zero_offset() as u32, "{date}");
            assert_eq!(month_start(ours.year, ours.month) + ours.day, day, "{date}");
            let days = month_days(ours.year, ours.month);
            assert_eq!(days.count_ones(), date.days_in_month() as u32, "{date}");
            let Ok(tomorrow) = date.tomorrow() else { break };
            (date, day) = (tomorrow, day + 1);
        }
    }

    #[test]
    fn the_table_of_years_counts_kinds() {
        for year in [0, 1, 99, 399, 400, 12_345] {
            let before = years_before(year);
            let mut counted = [0_u32; YEAR_KINDS];
            (0..year).for_each(|y| counted[year_kind(y)] += 1);
            for (kind, count) in counted.iter().enumerate() {
                let cycles = before.cycles * u32::from(years_of_whole_cycle()[kind]);
                assert_eq!(cycles + u32::from(before.by_kind[kind]), *count, "{year} {kind}");
            }
        }
    }
}
