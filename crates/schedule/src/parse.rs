//! Parses a text into a schedule rule.
//!
//! The grammar and the error messages are those of robfig/cron v3's `ParseStandard`, plus `@at`.
//! A text that makes robfig/cron panic (`TZ=UTC` without a schedule) is an error here.

use std::fmt;

use jiff::{Timestamp, civil::DateTime, tz::Disambiguation};

use crate::{
    calendar_rule::CalendarRule,
    day_set::{DayFields, DaySet},
    error::{CronField, ParseError},
    go_compat,
    time_set::TimeSet,
    zone::Zone,
};

/// The slots of a schedule, without its zone.
#[expect(clippy::large_enum_variant, reason = "most schedules are calendar rules")]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ScheduleRule {
    /// Five fields, or a descriptor such as `@daily`.
    Calendar(CalendarRule),
    /// `@every`: the interval in seconds, at least one.
    Every(i64),
    /// `@at`: a single instant.
    At(Timestamp),
}

/// Parses a schedule. A `TZ=` or `CRON_TZ=` prefix overrides `zone`.
pub(crate) fn parse(text: &str, zone: &Zone) -> Result<(ScheduleRule, Zone), ParseError> {
    if text.is_empty() {
        return Err(ParseError::new("empty spec string"));
    }
    let (body, zone) = match split_zone_prefix(text) {
        Some(prefix) => {
            let (name, body) = prefix?;
            (body.trim(), find_prefix_zone(name, zone)?)
        }
        None => (text, zone.clone()),
    };
    let rule =
        if body.starts_with('@') { parse_descriptor(body, &zone) } else { parse_fields(body) }?;
    Ok((rule, zone))
}

/// Returns the text without its zone prefix.
pub(crate) fn strip_zone_prefix(text: &str) -> &str {
    match split_zone_prefix(text) {
        Some(Ok((_, body))) => body.trim(),
        _ => text,
    }
}

/// Splits a text with a zone prefix into the zone's name and the schedule.
fn split_zone_prefix(text: &str) -> Option<Result<(&str, &str), ParseError>> {
    let named = text.strip_prefix("TZ=").or_else(|| text.strip_prefix("CRON_TZ="))?;
    Some(named.split_once(' ').ok_or_else(|| {
        ParseError::new(format!(
            "expected a schedule after the time zone, separated by a blank: {text}"
        ))
    }))
}

/// Looks up the zone of a prefix with the rules of Go's `time.LoadLocation`. `Local`, in exactly this
/// case, is the zone that applies without a prefix.
fn find_prefix_zone(name: &str, local: &Zone) -> Result<Zone, ParseError> {
    let bad_location =
        |reason: String| ParseError::new(format!("provided bad location {name}: {reason}"));
    match name {
        "" | "UTC" => Ok(local.zones().utc()),
        "Local" => Ok(local.clone()),
        _ if name.contains("..") || name.starts_with(['/', '\\']) => {
            Err(bad_location("time: invalid location name".into()))
        }
        _ => local.zones().get(name).map_err(|_| bad_location(format!("unknown time zone {name}"))),
    }
}

fn parse_descriptor(text: &str, zone: &Zone) -> Result<ScheduleRule, ParseError> {
    let fields = match text {
        "@yearly" | "@annually" => "0 0 1 1 *",
        "@monthly" => "0 0 1 * *",
        "@weekly" => "0 0 * * 0",
        "@daily" | "@midnight" => "0 0 * * *",
        "@hourly" => "0 * * * *",
        _ => return parse_every_or_at(text, zone),
    };
    parse_fields(fields)
}

fn parse_every_or_at(text: &str, zone: &Zone) -> Result<ScheduleRule, ParseError> {
    if let Some(interval) = text.strip_prefix("@every ") {
        let nanos = go_compat::parse_duration(interval).map_err(|error| {
            ParseError::new(format!("failed to parse duration {text}: {error}"))
        })?;
        return Ok(ScheduleRule::Every((nanos / 1_000_000_000).max(1)));
    }
    if let Some(instant) = text.strip_prefix("@at ") {
        return parse_instant(instant, zone)
            .map(ScheduleRule::At)
            .map_err(|error| ParseError::new(format!("failed to parse time {text}: {error}")));
    }
    Err(ParseError::new(format!("unrecognized descriptor: {text}")))
}

/// The error of the time of an `@at` schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AtTimeError {
    Syntax,
    OutOfRange,
    Subsecond,
}

impl fmt::Display for AtTimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AtTimeError::Syntax => {
                "expected a time like 2026-12-31T23:59:00Z, 2026-12-31T23:59:00+01:00 or, \
                 in the schedule's zone, 2026-12-31T23:59"
            }
            AtTimeError::OutOfRange => "out of range",
            AtTimeError::Subsecond => "expected a whole second",
        })
    }
}

/// Parses an instant with an offset, or a civil time in the zone.
///
/// A repeated civil time means its first occurrence. A skipped civil time moves forward by the
/// length of the gap.
fn parse_instant(text: &str, zone: &Zone) -> Result<Timestamp, AtTimeError> {
    if text.contains('[') {
        return Err(AtTimeError::Syntax);
    }
    let instant = match (text.parse::<Timestamp>(), parse_civil(text)) {
        (Ok(instant), _) => instant,
        (_, Some(civil)) => zone
            .time_zone()
            .to_ambiguous_zoned(civil)
            .disambiguate(Disambiguation::Compatible)
            .map_err(|_| AtTimeError::OutOfRange)?
            .timestamp(),
        _ => return Err(AtTimeError::Syntax),
    };
    if instant.subsec_nanosecond() != 0 {
        return Err(AtTimeError::Subsecond);
    }
    Ok(instant)
}

/// Parses a time without an offset.
pub(crate) fn parse_civil(text: &str) -> Option<DateTime> {
    text.parse().ok()
}

fn parse_fields(text: &str) -> Result<ScheduleRule, ParseError> {
    let fields: Vec<&str> = text.split_whitespace().collect();
    let [minute, hour, day_of_month, month, day_of_week] = fields.as_slice() else {
        return Err(ParseError::new(format!(
            "expected exactly 5 fields, found {}: [{}]",
            fields.len(),
            fields.join(" ")
        )));
    };
    let minute = parse_field(minute, CronField::Minute)?;
    let hour = parse_field(hour, CronField::Hour)?;
    let day_of_month = parse_field(day_of_month, CronField::DayOfMonth)?;
    let month = parse_field(month, CronField::Month)?;
    let day_of_week = parse_field(day_of_week, CronField::DayOfWeek)?;
    let days = DaySet::new(DayFields {
        day_of_month: day_of_month.bits as u32,
        month: month.bits as u16,
        day_of_week: day_of_week.bits as u8,
        requires_both: day_of_month.is_star || day_of_week.is_star,
    });
    Ok(ScheduleRule::Calendar(CalendarRule::new(
        days,
        TimeSet { hours: hour.bits as u32, minutes: minute.bits },
    )))
}

/// The values of a field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct FieldValues {
    /// Bit n is the value n.
    bits: u64,
    /// The list contains `*` or `?` without a step or with a step of 1.
    is_star: bool,
}

fn parse_field(text: &str, field: CronField) -> Result<FieldValues, ParseError> {
    let mut values = FieldValues::default();
    // Empty items are ignored, so a single comma is a field without values.
    for item in text.split(',').filter(|item| !item.is_empty()) {
        let range = FieldRange::parse(item, field).map_err(|error| error.in_field(field))?;
        values.bits |= range.bits();
        values.is_star |= range.is_star && range.step == 1;
    }
    Ok(values)
}

/// One item of a field's list: `first-last/step`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldRange {
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) step: u64,
    is_star: bool,
}

impl FieldRange {
    /// Parses one item. The checks have the order of robfig/cron, which decides the error message.
    pub(crate) fn parse(item: &str, field: CronField) -> Result<FieldRange, ParseError> {
        let mut parts = item.split('/');
        let interval = parts.next().unwrap_or_default();
        let step = parts.next();
        let has_more = parts.next().is_some();
        let (min, max) = bounds(field);
        let (first, mut last, is_star) = parse_interval(interval, item, field)?;
        let step = match step {
            _ if has_more => {
                return Err(ParseError::new(format!("too many slashes: {item}")));
            }
            None => 1,
            Some(step) => {
                if !interval.contains('-') {
                    last = max;
                }
                parse_number(step)?
            }
        };
        let message = if first < min {
            format!("beginning of range ({first}) below minimum ({min}): {item}")
        } else if last > max {
            format!("end of range ({last}) above maximum ({max}): {item}")
        } else if first > last {
            format!("beginning of range ({first}) beyond end of range ({last}): {item}")
        } else if step == 0 {
            format!("step of range should be a positive number: {item}")
        } else {
            return Ok(FieldRange { first, last, step, is_star });
        };
        Err(ParseError::new(message))
    }

    fn bits(self) -> u64 {
        let mut bits = 0;
        let mut value = self.first;
        while value <= self.last {
            bits |= 1 << value;
            value = value.saturating_add(self.step);
        }
        bits
    }
}

/// Parses `*`, `a` or `a-b` into its first value, its last value and whether it is a star. Like
/// robfig/cron, it ignores the text after the hyphen of `*-5`.
fn parse_interval(
    interval: &str,
    item: &str,
    field: CronField,
) -> Result<(u64, u64, bool), ParseError> {
    let mut ends = interval.split('-');
    let first = ends.next().unwrap_or_default();
    let last = ends.next();
    let has_more = ends.next().is_some();
    if first == "*" || first == "?" {
        let (min, max) = bounds(field);
        return Ok((min, max, true));
    }
    let first = parse_value(first, field)?;
    match last {
        _ if has_more => Err(ParseError::new(format!("too many hyphens: {item}"))),
        None => Ok((first, first, false)),
        Some(last) => Ok((first, parse_value(last, field)?, false)),
    }
}

/// Returns the smallest and the largest value of a field.
pub(crate) fn bounds(field: CronField) -> (u64, u64) {
    match field {
        CronField::Minute => (0, 59),
        CronField::Hour => (0, 23),
        CronField::DayOfMonth => (1, 31),
        CronField::Month => (1, 12),
        CronField::DayOfWeek => (0, 6),
    }
}

pub(crate) const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
pub(crate) const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// Parses a number, or the name of a month or weekday in any case.
fn parse_value(text: &str, field: CronField) -> Result<u64, ParseError> {
    let (names, first_value): (&[&str], u64) = match field {
        CronField::Month => (&MONTHS, 1),
        CronField::DayOfWeek => (&WEEKDAYS, 0),
        _ => (&[], 0),
    };
    // Go maps each character to a single lower-case character, so a dotted capital I becomes i.
    let lower = || text.chars().filter_map(|char| char.to_lowercase().next());
    match names.iter().position(|name| name.chars().eq(lower())) {
        Some(index) => Ok(first_value + index as u64),
        None => parse_number(text),
    }
}

fn parse_number(text: &str) -> Result<u64, ParseError> {
    let number = go_compat::atoi(text).map_err(|error| {
        ParseError::new(format!("failed to parse int from {text}: {}", error.message(text)))
    })?;
    u64::try_from(number)
        .map_err(|_| ParseError::new(format!("negative number ({number}) not allowed: {text}")))
}
