//! The five cron fields applied to civil minutes, without time zones.
//!
//! Civil minutes are numbered from midnight of day 0 of [`crate::gregorian`].

use std::hash::{Hash, Hasher};

use crate::{
    day_set::{DayCount, DaySet},
    gregorian::CivilDate,
    time_set::{DAY_MINUTES, TimeSet},
};

/// The five fields of a cron expression, prepared for searching and counting.
///
/// Two rules are equal if they match the same minutes, whatever their fields look like.
#[derive(Clone, Debug)]
pub(crate) struct CalendarRule {
    pub(crate) days: DaySet,
    pub(crate) times: TimeSet,
    /// No minute ever matches.
    pub(crate) is_never: bool,
    /// Every minute matches.
    pub(crate) is_every_minute: bool,
    /// Every day matches.
    pub(crate) is_daily: bool,
    per_day: i64,
}

impl CalendarRule {
    pub(crate) fn new(days: DaySet, times: TimeSet) -> CalendarRule {
        let is_daily = days.is_full();
        CalendarRule {
            is_never: times.is_empty() || days.is_empty(),
            is_every_minute: is_daily && times.is_full(),
            is_daily,
            per_day: times.per_day() as i64,
            days,
            times,
        }
    }

    /// Returns the first matching minute at or after `minute`.
    #[inline]
    pub(crate) fn at_or_after(&self, minute: u64) -> Option<u64> {
        let (day, time) = split_minute(minute);
        match self.times.at_or_after(time) {
            Some(time) => {
                let found = self.days.at_or_after(day)?;
                Some(join_minute(found, if found == day { time } else { self.times.first() }))
            }
            None => Some(join_minute(self.days.at_or_after(day + 1)?, self.times.first())),
        }
    }

    /// Returns the last matching minute at or before `minute`.
    #[inline]
    pub(crate) fn at_or_before(&self, minute: u64) -> Option<u64> {
        let (day, time) = split_minute(minute);
        match self.times.at_or_before(time) {
            Some(time) => {
                let found = self.days.at_or_before(day)?;
                Some(join_minute(found, if found == day { time } else { self.times.last() }))
            }
            None => Some(join_minute(self.days.at_or_before(day - 1)?, self.times.last())),
        }
    }

    /// Counts the matching minutes in `[from, to)`. The result is negative if `to` precedes `from`.
    pub(crate) fn count_between(&self, from: u64, to: u64) -> i64 {
        let (first_day, first_time) = split_minute(from);
        let (last_day, last_time) = split_minute(to);
        let DayCount { days, first_matches, last_matches } =
            self.days.count_between(first_day, last_day);
        let count_before =
            |matches, time| if matches { self.times.count_before(time) as i64 } else { 0 };
        days * self.per_day + count_before(last_matches, last_time)
            - count_before(first_matches, first_time)
    }
}

impl PartialEq for CalendarRule {
    fn eq(&self, other: &CalendarRule) -> bool {
        if self.is_never || other.is_never {
            return self.is_never == other.is_never;
        }
        self.times == other.times && self.days == other.days
    }
}

impl Eq for CalendarRule {}

impl Hash for CalendarRule {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.is_never.hash(state);
        if !self.is_never {
            self.times.hash(state);
            self.days.hash(state);
        }
    }
}

/// Converts a civil minute to jiff's type. Returns None outside jiff's range.
pub(crate) fn to_datetime(minute: u64) -> Option<jiff::civil::DateTime> {
    let (day, time) = split_minute(minute);
    Some(CivilDate::from_day(day).to_jiff()?.at((time / 60) as i8, (time % 60) as i8, 0, 0))
}

/// Splits a civil minute into its day number and its minute of the day.
#[inline]
pub(crate) fn split_minute(minute: u64) -> (u32, u32) {
    let day = minute / u64::from(DAY_MINUTES);
    (day as u32, (minute - day * u64::from(DAY_MINUTES)) as u32)
}

/// Joins a day number and a minute of the day.
#[inline]
pub(crate) fn join_minute(day: u32, time: u32) -> u64 {
    u64::from(day) * u64::from(DAY_MINUTES) + u64::from(time)
}
