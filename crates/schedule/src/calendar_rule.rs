//! A calendar schedule on the clock on the wall: no zone, no daylight saving, just the line of
//! civil minutes, counted from midnight of day 0 of [`crate::calendar`].

use crate::{
    day_set::DaySet,
    gregorian::CivilDate,
    time_set::{DAY_MINUTES, TimeSet},
};

/// The five fields, ready to be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CalendarRule {
    pub(crate) days: DaySet,
    pub(crate) times: TimeSet,
    pub(crate) is_never: bool,
    /// Whether every minute matches.
    pub(crate) is_always: bool,
    /// Whether every day matches.
    pub(crate) is_daily: bool,
    per_day: i64,
}

impl CalendarRule {
    pub(crate) fn new(days: DaySet, times: TimeSet) -> CalendarRule {
        let is_daily = days.is_always();
        CalendarRule {
            is_never: times.is_never() || days.is_never(),
            is_always: is_daily && times.is_always(),
            is_daily,
            per_day: times.per_day() as i64,
            days,
            times,
        }
    }

    /// The first matching minute at or after `minute`.
    #[inline]
    pub(crate) fn at_or_after(&self, minute: u64) -> Option<u64> {
        let (day, time) = split(minute);
        match self.times.at_or_after(time) {
            Some(time) => {
                let found = self.days.at_or_after(day)?;
                Some(join(found, if found == day { time } else { self.times.first() }))
            }
            None => Some(join(self.days.at_or_after(day + 1)?, self.times.first())),
        }
    }

    /// The last matching minute at or before `minute`.
    #[inline]
    pub(crate) fn at_or_before(&self, minute: u64) -> Option<u64> {
        let (day, time) = split(minute);
        match self.times.at_or_before(time) {
            Some(time) => {
                let found = self.days.at_or_before(day)?;
                Some(join(found, if found == day { time } else { self.times.last() }))
            }
            None => Some(join(self.days.at_or_before(day - 1)?, self.times.last())),
        }
    }

    /// How many matching minutes there are from one minute up to another, negative if that comes
    /// first.
    pub(crate) fn between(&self, from: u64, to: u64) -> i64 {
        let ((first, from), (last, to)) = (split(from), split(to));
        let (days, first_matches, last_matches) = self.days.between(first, last);
        let of_day = |matches, time| if matches { self.times.before(time) as i64 } else { 0 };
        days * self.per_day + of_day(last_matches, to) - of_day(first_matches, from)
    }
}

/// A civil minute as jiff has it.
pub(crate) fn to_datetime(minute: u64) -> Option<jiff::civil::DateTime> {
    let (day, time) = split(minute);
    Some(CivilDate::of(day).civil()?.at((time / 60) as i8, (time % 60) as i8, 0, 0))
}

/// The day and the minute of the day.
#[inline]
pub(crate) fn split(minute: u64) -> (u32, u32) {
    let day = minute / u64::from(DAY_MINUTES);
    (day as u32, (minute - day * u64::from(DAY_MINUTES)) as u32)
}

#[inline]
pub(crate) fn join(day: u32, time: u32) -> u64 {
    u64::from(day) * u64::from(DAY_MINUTES) + u64::from(time)
}
