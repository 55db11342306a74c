//! When a schedule has its slots, found by looking at every minute: slow, plain, and made of nothing
//! that the controllers use.

use jiff::tz::TimeZone;
use jiff::{Timestamp, civil};

/// Seconds since 1970.
pub(super) type Seconds = i64;

const MINUTE: Seconds = 60;

/// A schedule in a zone.
#[derive(Debug)]
pub(super) enum Oracle {
    /// Minutes whose civil time matches five fields.
    Fields(Box<Fields>, Offsets),
    /// So many seconds after the last run.
    Every(Seconds),
    /// One instant.
    At(Seconds),
}

/// The sets of a schedule's fields, as bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fields {
    minutes: Field,
    hours: Field,
    days: Field,
    months: Field,
    weekdays: Field,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Field {
    bits: u64,
    /// Whether the field says nothing, which decides how days and weekdays go together.
    is_star: bool,
}

impl Oracle {
    /// Reads a schedule; none if this reader does not know the like of it. Offsets are looked up
    /// ahead for a range of time.
    pub(super) fn read(
        text: &str,
        zone: Option<&str>,
        range: (Seconds, Seconds),
    ) -> Option<Oracle> {
        let zone = match zone {
            None => TimeZone::UTC,
            Some(name) => TimeZone::get(name).ok()?,
        };
        if let Some(distance) = text.strip_prefix("@every ") {
            return Some(Oracle::Every(distance_of(distance)?));
        }
        if let Some(instant) = text.strip_prefix("@at ") {
            return Some(Oracle::At(instant_of(instant, &zone)?));
        }
        let fields = Fields::read(spelled_out(text))?;
        Some(Oracle::Fields(Box::new(fields), Offsets::new(zone, range)))
    }

    /// Whether there is a slot at this second. An interval may have one at any.
    pub(super) fn has(&self, at: Seconds) -> bool {
        match self {
            Oracle::Fields(fields, offsets) => {
                at.rem_euclid(MINUTE) == 0 && fields.match_civil(at + offsets.at(at))
            }
            Oracle::At(instant) => at == *instant,
            Oracle::Every(_) => true,
        }
    }

    /// The slots in `(after, until]`; none of an interval, whose slots depend on what ran.
    pub(super) fn slots(&self, after: Seconds, until: Seconds) -> Vec<Seconds> {
        match self {
            Oracle::Fields(..) => {
                let first = (after.div_euclid(MINUTE) + 1) * MINUTE;
                (0..)
                    .map(|n| first + n * MINUTE)
                    .take_while(|at| *at <= until)
                    .filter(|at| self.has(*at))
                    .collect()
            }
            Oracle::At(instant) if (after + 1..=until).contains(instant) => vec![*instant],
            Oracle::At(_) | Oracle::Every(_) => Vec::new(),
        }
    }

    /// How far back the slot before this one is, if it is within so many seconds.
    pub(super) fn gap_before(&self, slot: Seconds, within: Seconds) -> Option<Seconds> {
        match self {
            Oracle::Every(distance) => Some(*distance),
            Oracle::At(_) => Some(0),
            Oracle::Fields(..) => {
                (1..=within / MINUTE).map(|n| n * MINUTE).find(|gap| self.has(slot - gap))
            }
        }
    }
}

/// What the short names stand for.
fn spelled_out(text: &str) -> &str {
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
fn distance_of(text: &str) -> Option<Seconds> {
    let (mut total, mut number) = (0, None);
    for letter in text.trim().chars() {
        if let Some(digit) = letter.to_digit(10) {
            number = Some(number.unwrap_or(0) * 10 + Seconds::from(digit));
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

fn instant_of(text: &str, zone: &TimeZone) -> Option<Seconds> {
    if let Ok(instant) = text.trim().parse::<Timestamp>() {
        return Some(instant.as_second());
    }
    let civil: civil::DateTime = text.trim().parse().ok()?;
    Some(zone.to_timestamp(civil).ok()?.as_second())
}

impl Fields {
    fn read(text: &str) -> Option<Fields> {
        let mut words = text.split_whitespace();
        let mut next = |min, max| Field::read(words.next()?, min, max);
        let fields = Fields {
            minutes: next(0, 59)?,
            hours: next(0, 23)?,
            days: next(1, 31)?,
            months: next(1, 12)?,
            weekdays: next(0, 6)?,
        };
        words.next().is_none().then_some(fields)
    }

    /// Whether a civil time matches, given as if it were in UTC.
    fn match_civil(&self, at: Seconds) -> bool {
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
        let is_day = match self.days.is_star || self.weekdays.is_star {
            true => on_day && on_weekday,
            false => on_day || on_weekday,
        };
        is_day && self.months.has(month)
    }
}

/// Month and day of the month, by counting years and months from 1970.
fn month_and_day(mut day: i64) -> (i64, i64) {
    // Four hundred years always have as many days, so counting starts near by.
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

impl Field {
    /// A list of ranges with steps.
    fn read(text: &str, min: u32, max: u32) -> Option<Field> {
        text.split(',').try_fold(Field::default(), |field, part| {
            let part = Field::read_range(part, min, max)?;
            Some(Field { bits: field.bits | part.bits, is_star: field.is_star || part.is_star })
        })
    }

    fn read_range(text: &str, min: u32, max: u32) -> Option<Field> {
        let (range, step) = match text.split_once('/') {
            Some((range, step)) => {
                (range, Some(step.parse::<u32>().ok().filter(|step| *step > 0)?))
            }
            None => (text, None),
        };
        let number = |text: &str| text.parse::<u32>().ok();
        let (low, high, is_any) = match range.split_once('-') {
            _ if range == "*" || range == "?" => (min, max, true),
            Some((low, high)) => (number(low)?, number(high)?, false),
            // A step makes a single number the beginning of a range.
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
        // A star with a step above one is a list like any other.
        Some(Field { bits, is_star: is_any && step == 1 })
    }

    fn has(&self, value: i64) -> bool {
        (0..64).contains(&value) && self.bits >> value & 1 == 1
    }
}

/// The offsets of a zone, looked up ahead.
#[derive(Debug)]
pub(super) struct Offsets {
    zone: TimeZone,
    range: (Seconds, Seconds),
    /// From when which offset holds, in the order of time.
    spans: Vec<(Seconds, Seconds)>,
}

impl Offsets {
    fn new(zone: TimeZone, range: (Seconds, Seconds)) -> Offsets {
        let mut spans = vec![(range.0, offset(&zone, range.0))];
        if let Ok(start) = Timestamp::from_second(range.0) {
            let changes = zone.following(start).map(|change| change.timestamp().as_second());
            spans.extend(changes.take_while(|at| *at <= range.1).map(|at| (at, offset(&zone, at))));
        }
        Offsets { zone, range, spans }
    }

    fn at(&self, at: Seconds) -> Seconds {
        if at < self.range.0 || at > self.range.1 {
            return offset(&self.zone, at);
        }
        let span = self.spans.iter().rev().find(|(from, _)| *from <= at);
        span.map_or_else(|| offset(&self.zone, at), |(_, offset)| *offset)
    }
}

fn offset(zone: &TimeZone, at: Seconds) -> Seconds {
    let at = Timestamp::from_second(at).unwrap_or(Timestamp::UNIX_EPOCH);
    Seconds::from(zone.to_offset(at).seconds())
}

#[cfg(test)]
mod tests;
