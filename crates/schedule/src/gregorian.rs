//! Arithmetic on day numbers of the proleptic Gregorian calendar.
//!
//! Years begin in March, so a leap day is the last day of its year and every month except the last
//! has a fixed length. Day 0 is 1 March of the year -12000, so day numbers and years are positive
//! for every timestamp that jiff represents. Months are 0 (March) to 11 (February), days of the
//! month are 0 to 30, weekdays are 0 (Sunday) to 6.

#![expect(
    clippy::indexing_slicing,
    reason = "months are below 12, weekdays below 7 and years of a cycle below 400 by construction"
)]

/// The number of days in 400 years. Dates and weekdays repeat after this cycle.
pub(crate) const CYCLE_DAYS: u32 = 146_097;
const CYCLE_YEARS: u32 = 400;

/// Offset between our years and civil years: a whole number of cycles, which keeps weekdays and
/// leap years aligned.
const YEAR_OFFSET: u32 = 30 * CYCLE_YEARS;
/// The day number of 1970-01-01.
pub(crate) const UNIX_DAY: u32 = 30 * CYCLE_DAYS + 719_468;

/// The day of the year on which each month begins, March first.
const MONTH_STARTS: [u16; 12] = [0, 31, 61, 92, 122, 153, 184, 214, 245, 275, 306, 337];
/// One bit for each day of a month in a common year, March first.
const MONTH_DAYS: [u32; 12] = {
    const LONG: u32 = (1 << 31) - 1;
    const SHORT: u32 = (1 << 30) - 1;
    [LONG, SHORT, LONG, SHORT, LONG, LONG, SHORT, LONG, SHORT, LONG, LONG, (1 << 28) - 1]
};
const FEBRUARY: u32 = 11;

/// A day number split into year, month and day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CivilDate {
    pub(crate) year: u32,
    pub(crate) month: u32,
    pub(crate) day: u32,
}

impl CivilDate {
    /// Converts a day number with the algorithm of Neri and Schneider, "Euclidean affine functions
    /// and their application to calendar algorithms" (2022), which replaces divisions by
    /// multiplications.
    #[inline]
    pub(crate) fn from_day(day: u32) -> CivilDate {
        let quarters = 4 * day + 3;
        let century = quarters / CYCLE_DAYS;
        let quarters_of_century = (quarters % CYCLE_DAYS) | 3;
        // 2939745 / 2^32 approximates 1 / 1461 closely enough for the days of one century.
        let product = 2_939_745 * u64::from(quarters_of_century);
        let year_of_century = (product >> 32) as u32;
        let day_of_year = (product as u32) / 2_939_745 / 4;
        // 2141 / 2^16 is the slope of the line through the month starts.
        let scaled = 2_141 * day_of_year + 1_305;
        CivilDate {
            year: 100 * century + year_of_century,
            month: scaled >> 16,
            day: (scaled & 0xffff) / 2_141,
        }
    }

    /// Converts to jiff's date type. Returns None outside jiff's range.
    pub(crate) fn to_jiff(self) -> Option<jiff::civil::Date> {
        let after_december = self.month >= 10;
        let month = if after_december { self.month - 9 } else { self.month + 3 };
        let year = (self.year + u32::from(after_december)) as i32 - YEAR_OFFSET as i32;
        jiff::civil::Date::new(year as i16, month as i8, self.day as i8 + 1).ok()
    }
}

/// Returns the day number of the first day of a month.
#[inline]
pub(crate) fn month_start(year: u32, month: u32) -> u32 {
    year_start(year) + u32::from(MONTH_STARTS[month as usize])
}

#[inline]
fn year_start(year: u32) -> u32 {
    let century = year / 100;
    365 * year + year / 4 - century + century / 4
}

/// Returns one bit for each day of the month; bit 0 is the first day.
#[inline]
pub(crate) fn month_days(year: u32, month: u32) -> u32 {
    let leap_day = u32::from(month == FEBRUARY && ends_in_leap_day(year)) << 28;
    MONTH_DAYS[month as usize] | leap_day
}

/// Returns the days that a month has in its longest year, in the form of [`month_days`].
pub(crate) fn longest_month_days(month: u32) -> u32 {
    if month == FEBRUARY { (1 << 29) - 1 } else { MONTH_DAYS[month as usize] }
}

#[inline]
fn ends_in_leap_day(year: u32) -> bool {
    let civil = year + 1;
    // A year divisible by 100 is a leap year if it is divisible by 16 as well, that is, by 400.
    if civil % 100 == 0 { civil % 16 == 0 } else { civil % 4 == 0 }
}

/// Returns the weekday of a day number; Sunday is 0.
#[inline]
pub(crate) fn weekday(day: u32) -> u32 {
    // Day 0 is a Wednesday, like 2000-03-01.
    (day + 3) % 7
}

/// The number of distinct years: seven first weekdays, with and without a leap day.
pub(crate) const YEAR_KINDS: usize = 14;

/// Returns the kind of a year, below [`YEAR_KINDS`].
pub(crate) fn year_kind(year: u32) -> usize {
    (2 * weekday(year_start(year)) + u32::from(ends_in_leap_day(year))) as usize
}

/// Counts the years of each kind before a year.
pub(crate) fn years_before(year: u32) -> YearsBefore {
    YearsBefore {
        cycles: year / CYCLE_YEARS,
        by_kind: &YEARS_OF_CYCLE[(year % CYCLE_YEARS) as usize],
    }
}

/// The result of [`years_before`].
pub(crate) struct YearsBefore {
    /// The number of whole 400-year cycles.
    pub(crate) cycles: u32,
    /// The number of years of each kind after the last whole cycle.
    pub(crate) by_kind: &'static [u16; YEAR_KINDS],
}

/// Row `y` counts the first `y` years of a cycle by kind. Row 400 covers a whole cycle.
static YEARS_OF_CYCLE: [[u16; YEAR_KINDS]; CYCLE_YEARS as usize + 1] = years_of_cycle();

/// Counts the years of each kind in a whole cycle.
pub(crate) fn years_of_whole_cycle() -> &'static [u16; YEAR_KINDS] {
    &YEARS_OF_CYCLE[CYCLE_YEARS as usize]
}

const fn years_of_cycle() -> [[u16; YEAR_KINDS]; CYCLE_YEARS as usize + 1] {
    let mut rows = [[0; YEAR_KINDS]; CYCLE_YEARS as usize + 1];
    let mut year = 0;
    let mut start = 0;
    while year < CYCLE_YEARS as usize {
        let civil = year + 1;
        let leap = (civil % 4 == 0 && civil % 100 != 0) || civil % 400 == 0;
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

    #[test]
    fn every_day_of_twenty_thousand_years_matches_jiff() {
        let mut date = jiff::civil::Date::MIN.first_of_month();
        let mut day = (UNIX_DAY as i64
            + jiff::civil::date(1970, 1, 1).until(date).unwrap().get_days() as i64)
            as u32;
        loop {
            let ours = CivilDate::from_day(day);
            assert_eq!(ours.to_jiff(), Some(date));
            assert_eq!(weekday(day), date.weekday().to_sunday_zero_offset() as u32, "{date}");
            assert_eq!(month_start(ours.year, ours.month) + ours.day, day, "{date}");
            let days = month_days(ours.year, ours.month);
            assert_eq!(days.count_ones(), date.days_in_month() as u32, "{date}");
            let Ok(tomorrow) = date.tomorrow() else { break };
            date = tomorrow;
            day += 1;
        }
    }

    #[test]
    fn years_before_equals_counting_one_by_one() {
        for year in [0, 1, 99, 399, 400, 12_345] {
            let before = years_before(year);
            let mut counted = [0_u32; YEAR_KINDS];
            for y in 0..year {
                counted[year_kind(y)] += 1;
            }
            for (kind, count) in counted.iter().enumerate() {
                let cycles = before.cycles * u32::from(years_of_whole_cycle()[kind]);
                assert_eq!(cycles + u32::from(before.by_kind[kind]), *count, "{year} {kind}");
            }
        }
    }
}
