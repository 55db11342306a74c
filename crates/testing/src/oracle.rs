//! An independent evaluation of schedules: it tests each minute of a range against the schedule. It is
//! slow and simple, and shares no code with the controllers. A minute that matches is a slot (a
//! scheduled time).

use std::ops::RangeInclusive;

use jiff::tz::TimeZone;
use jiff::{Timestamp, civil};

/// An instant in seconds since 1970. Durations in seconds are plain `i64`.
pub type UnixSeconds = i64;

const MINUTE: i64 = 60;

/// A schedule in a time zone.
#[derive(Debug)]
pub enum ScheduleOracle {
    /// Every minute whose civil time matches five fields.
    Fields(Box<ScheduleFields>, ZoneOffsets),
    /// This many seconds after the last run.
    Every(i64),
    /// One instant.
    At(UnixSeconds),
}

/// The values of the five fields as bit sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleFields {
    minutes: ScheduleField,
    hours: ScheduleField,
    days: ScheduleField,
    months: ScheduleField,
    weekdays: ScheduleField,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ScheduleField {
    bits: u64,
    /// Whether the field is `*`, which determines how days and weekdays are combined.
    is_star: bool,
}

impl ScheduleOracle {
    /// Parses a schedule. Returns `None` if this parser does not support it. Looks up the zone's offsets in
    /// advance for a range of time.
    pub fn parse(
        text: &str,
        zone: Option<&str>,
        range: RangeInclusive<UnixSeconds>,
    ) -> Option<ScheduleOracle> {
        let zone = match zone {
            None => TimeZone::UTC,
            Some(name) => TimeZone::get(name).ok()?,
        };
        ScheduleOracle::parse_in_zone(text, zone, range)
    }

    /// Like [`ScheduleOracle::parse`], with a zone that was looked up.
    pub fn parse_in_zone(
        text: &str,
        zone: TimeZone,
        range: RangeInclusive<UnixSeconds>,
    ) -> Option<ScheduleOracle> {
        if let Some(interval) = text.strip_prefix("@every ") {
            return Some(ScheduleOracle::Every(parse_interval(interval)?));
        }
        if let Some(instant) = text.strip_prefix("@at ") {
            return Some(ScheduleOracle::At(parse_instant(instant, &zone)?));
        }
        let fields = ScheduleFields::parse(expand_shorthand(text))?;
        Some(ScheduleOracle::Fields(Box::new(fields), ZoneOffsets::new(zone, range)))
    }

    /// Whether there is a slot at this second. An interval may have one at any second.
    pub fn has(&self, at: UnixSeconds) -> bool {
        match self {
            ScheduleOracle::Fields(fields, offsets) => {
                at.rem_euclid(MINUTE) == 0 && fields.match_civil(at + offsets.at(at))
            }
            ScheduleOracle::At(instant) => at == *instant,
            ScheduleOracle::Every(_) => true,
        }
    }

    /// The slots in `(after, until]`; none for an interval, whose slots depend on the previous runs.
    pub fn slots(&self, after: UnixSeconds, until: UnixSeconds) -> Vec<UnixSeconds> {
        match self {
            ScheduleOracle::Fields(..) => {
                let first = (after.div_euclid(MINUTE) + 1) * MINUTE;
                (0..)
                    .map(|n| first + n * MINUTE)
                    .take_while(|at| *at <= until)
                    .filter(|at| self.has(*at))
                    .collect()
            }
            ScheduleOracle::At(instant) if (after + 1..=until).contains(instant) => vec![*instant],
            ScheduleOracle::At(_) | ScheduleOracle::Every(_) => Vec::new(),
        }
    }

    /// The time since the previous slot, if it is at most `within` seconds.
    pub fn gap_before(&self, slot: UnixSeconds, within: i64) -> Option<i64> {
        match self {
            ScheduleOracle::Every(interval) => Some(*interval),
            ScheduleOracle::At(_) => Some(0),
            ScheduleOracle::Fields(..) => {
                (1..=within / MINUTE).map(|n| n * MINUTE).find(|gap| self.has(slot - gap))
            }
        }
    }
}

/// Expands `@hourly` and its like.
fn expand_shorthand(text: &str) -> &str {
    match text {
        "@hourly" => "0 * * * *",
        "@daily" | "@midnight" => "0 0 * * *",
        "@weekly" => "0 0 * * 0",
        "@monthly" => "0 0 1 * *",
        "@yearly" | "@annually" => "0 0 1 1 *",
        text => text,
    }
}

/// `90s`, `1h30m`.
fn parse_interval(text: &str) -> Option<i64> {
    let mut total = 0;
    let mut number = None;
    for letter in text.trim().chars() {
        if let Some(digit) = letter.to_digit(10) {
            number = Some(number.unwrap_or(0) * 10 + i64::from(digit));
            continue;
        }
        let unit = match letter {
            'h' => 3600,
            'm' => MINUTE,
            's' => 1,
            _ => return None,
        };
        total += number.take()? * unit;
    }
    (number.is_none() && total > 0).then_some(total)
}

fn parse_instant(text: &str, zone: &TimeZone) -> Option<UnixSeconds> {
    if let Ok(instant) = text.trim().parse::<Timestamp>() {
        return Some(instant.as_second());
    }
    let civil: civil::DateTime = text.trim().parse().ok()?;
    Some(zone.to_timestamp(civil).ok()?.as_second())
}

impl ScheduleFields {
    fn parse(text: &str) -> Option<ScheduleFields> {
        let mut words = text.split_whitespace();
        let mut next = |min, max| ScheduleField::parse(words.next()?, min, max);
        let fields = ScheduleFields {
            minutes: next(0, 59)?,
            hours: next(0, 23)?,
            days: next(1, 31)?,
            months: next(1, 12)?,
            weekdays: next(0, 6)?,
        };
        words.next().is_none().then_some(fields)
    }

    /// Whether a civil time matches, given as seconds since 1970 in that civil time.
    fn match_civil(&self, at: UnixSeconds) -> bool {
        let minute = at.div_euclid(MINUTE);
        if !self.minutes.has(minute.rem_euclid(60))
            || !self.hours.has(minute.div_euclid(60).rem_euclid(24))
        {
            return false;
        }
        let day = at.div_euclid(24 * 60 * MINUTE);
        // The first day of 1970 was a Thursday.
        let on_weekday = self.weekdays.has((day + 4).rem_euclid(7));
        let (month, day) = month_and_day(day);
        let on_day = self.days.has(day);
        let is_day = if self.days.is_star || self.weekdays.is_star {
            on_day && on_weekday
        } else {
            on_day || on_weekday
        };
        is_day && self.months.has(month)
    }
}

/// The month and the day of the month, found by counting years and months from 1970.
fn month_and_day(mut day: i64) -> (i64, i64) {
    // The calendar repeats after 400 years.
    day = day.rem_euclid(146_097);
    let is_leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let mut year = 1970;
    loop {
        let length = if is_leap(year) { 366 } else { 365 };
        if day < length {
            break;
        }
        day -= length;
        year += 1;
    }
    let february = if is_leap(year) { 29 } else { 28 };
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if day < length {
            break;
        }
        day -= length;
        month += 1;
    }
    (month, day + 1)
}

impl ScheduleField {
    /// A list of ranges with steps.
    fn parse(text: &str, min: u32, max: u32) -> Option<ScheduleField> {
        text.split(',').try_fold(ScheduleField::default(), |field, part| {
            let part = ScheduleField::parse_range(part, min, max)?;
            Some(ScheduleField {
                bits: field.bits | part.bits,
                is_star: field.is_star || part.is_star,
            })
        })
    }

    fn parse_range(text: &str, min: u32, max: u32) -> Option<ScheduleField> {
        let (range, step) = match text.split_once('/') {
            Some((range, step)) => {
                (range, Some(step.parse::<u32>().ok().filter(|step| *step > 0)?))
            }
            None => (text, None),
        };
        let number = |text: &str| text.parse::<u32>().ok();
        let (low, high, is_star) = match range.split_once('-') {
            _ if range == "*" || range == "?" => (min, max, true),
            Some((low, high)) => (number(low)?, number(high)?, false),
            // A single number with a step is the start of a range.
            None if step.is_some() => (number(range)?, max, false),
            None => (number(range)?, number(range)?, false),
        };
        let step = step.unwrap_or(1);
        if low < min || high > max || low > high {
            return None;
        }
        let bits = (low..=high)
            .filter(|n| (n - low).is_multiple_of(step))
            .fold(0, |bits, n| bits | 1 << n);
        // A star with a step above one is a list of values.
        Some(ScheduleField { bits, is_star: is_star && step == 1 })
    }

    fn has(&self, value: i64) -> bool {
        (0..64).contains(&value) && self.bits >> value & 1 == 1
    }
}

/// The offsets of a time zone, looked up in advance.
#[derive(Debug)]
pub struct ZoneOffsets {
    zone: TimeZone,
    range: RangeInclusive<UnixSeconds>,
    /// The start of each offset, in order of time.
    spans: Vec<(UnixSeconds, i64)>,
}

impl ZoneOffsets {
    fn new(zone: TimeZone, range: RangeInclusive<UnixSeconds>) -> ZoneOffsets {
        let start = *range.start();
        let mut spans = vec![(start, offset(&zone, start))];
        if let Ok(start) = Timestamp::from_second(start) {
            let changes = zone.following(start).map(|change| change.timestamp().as_second());
            spans.extend(
                changes.take_while(|at| at <= range.end()).map(|at| (at, offset(&zone, at))),
            );
        }
        ZoneOffsets { zone, range, spans }
    }

    fn at(&self, at: UnixSeconds) -> i64 {
        if !self.range.contains(&at) {
            return offset(&self.zone, at);
        }
        let span = self.spans.iter().rev().find(|(from, _)| *from <= at);
        span.map_or_else(|| offset(&self.zone, at), |(_, offset)| *offset)
    }
}

fn offset(zone: &TimeZone, at: UnixSeconds) -> i64 {
    let at = Timestamp::from_second(at).unwrap_or(Timestamp::UNIX_EPOCH);
    i64::from(zone.to_offset(at).seconds())
}

#[cfg(test)]
mod tests;
