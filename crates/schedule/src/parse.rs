//! The grammar: a text to a rule.
//!
//! It is robfig/cron v3's `ParseStandard` to the letter, odd cases and error texts included, and
//! `@at` besides. Where that parser panics (`TZ=UTC` with nothing behind it) there is an error.

use jiff::{Timestamp, civil::DateTime, tz::Disambiguation};

use crate::{
    calendar_rule::CalendarRule,
    day_set::{DayFields, DaySet},
    error::{CronField, ParseError},
    go_compat,
    time_set::TimeSet,
    zone::Zone,
};

/// What a text says.
#[expect(clippy::large_enum_variant, reason = "nearly every schedule is the large one")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ScheduleRule {
    /// Five fields, or a descriptor that stands for them.
    Calendar(CalendarRule),
    /// `@every`: so many seconds after the last time, at least one.
    Every(i64),
    /// `@at`: once.
    At(Timestamp),
}

/// Reads a schedule. A `TZ=` or `CRON_TZ=` prefix overrides `zone`.
pub(crate) fn parse(text: &str, zone: &Zone) -> Result<(ScheduleRule, Zone), ParseError> {
    if text.is_empty() {
        return Err(ParseError::new("empty spec string"));
    }
    let (body, zone) = match zone_prefix(text) {
        Some(prefix) => {
            let (name, body) = prefix?;
            (body.trim(), named_zone(name, zone)?)
        }
        None => (text, zone.clone()),
    };
    let rule =
        if body.starts_with('@') { parse_descriptor(body, &zone) } else { parse_fields(body) }?;
    Ok((rule, zone))
}

/// The text without its zone.
pub(crate) fn body(text: &str) -> &str {
    match zone_prefix(text) {
        Some(Ok((_, body))) => body.trim(),
        _ => text,
    }
}

/// The zone's name and what follows it, if the text begins with a zone.
fn zone_prefix(text: &str) -> Option<Result<(&str, &str), ParseError>> {
    let named = text.strip_prefix("TZ=").or_else(|| text.strip_prefix("CRON_TZ="))?;
    Some(named.split_once(' ').ok_or_else(|| {
        ParseError::new(format!(
            "expected a schedule after the time zone, separated by a blank: {text}"
        ))
    }))
}

/// The zone of a prefix, by the rules of Go's `time.LoadLocation`. `Local`, in this very case, is
/// the zone that the schedule would have had without it.
fn named_zone(name: &str, local: &Zone) -> Result<Zone, ParseError> {
    let bad = |why: String| ParseError::new(format!("provided bad location {name}: {why}"));
    match name {
        "" | "UTC" => Ok(local.zones().utc()),
        "Local" => Ok(local.clone()),
        _ if name.contains("..") || name.starts_with(['/', '\\']) => {
            Err(bad("time: invalid location name".into()))
        }
        _ => local.zones().get(name).map_err(|_| bad(format!("unknown time zone {name}"))),
    }
}

fn parse_descriptor(text: &str, zone: &Zone) -> Result<ScheduleRule, ParseError> {
    let fields = match text {
        "@yearly" | "@annually" => "0 0 1 1 *",
        "@monthly" => "0 0 1 * *",
        "@weekly" => "0 0 * * 0",
        "@daily" | "@midnight" => "0 0 * * *",
        "@hourly" => "0 * * * *",
        _ => return parse_single(text, zone),
    };
    parse_fields(fields)
}

fn parse_single(text: &str, zone: &Zone) -> Result<ScheduleRule, ParseError> {
    if let Some(interval) = text.strip_prefix("@every ") {
        let nanos = go_compat::parse_duration(interval)
            .map_err(|why| ParseError::new(format!("failed to parse duration {text}: {why}")))?;
        return Ok(ScheduleRule::Every((nanos / 1_000_000_000).max(1)));
    }
    if let Some(instant) = text.strip_prefix("@at ") {
        return parse_instant(instant, zone)
            .map(ScheduleRule::At)
            .map_err(|why| ParseError::new(format!("failed to parse time {text}: {why}")));
    }
    Err(ParseError::new(format!("unrecognized descriptor: {text}")))
}

/// An instant with its offset, or a civil time in the zone. A civil time that comes twice is the
/// first of the two; one that is skipped is as much later as the clocks were put forward.
fn parse_instant(text: &str, zone: &Zone) -> Result<Timestamp, String> {
    let wanted = "expected a time like 2026-12-31T23:59:00Z, 2026-12-31T23:59:00+01:00 or, \
                  in the schedule's zone, 2026-12-31T23:59";
    if text.contains('[') {
        return Err(wanted.into());
    }
    let instant = match (text.parse::<Timestamp>(), parse_civil(text)) {
        (Ok(instant), _) => instant,
        (_, Some(civil)) => zone
            .time_zone()
            .to_ambiguous_zoned(civil)
            .disambiguate(Disambiguation::Compatible)
            .map_err(|_| "out of range".to_string())?
            .timestamp(),
        _ => return Err(wanted.into()),
    };
    if instant.subsec_nanosecond() != 0 {
        return Err("expected a whole second".into());
    }
    Ok(instant)
}

/// A time without an offset.
pub(crate) fn parse_civil(text: &str) -> Option<DateTime> {
    text.parse().ok()
}

fn parse_fields(text: &str) -> Result<ScheduleRule, ParseError> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [minute, hour, day_of_month, month, day_of_week] = words.as_slice() else {
        let (found, words) = (words.len(), words.join(" "));
        return Err(ParseError::new(format!(
            "expected exactly 5 fields, found {found}: [{words}]"
        )));
    };
    let minute = parse_field(minute, CronField::Minute)?;
    let hour = parse_field(hour, CronField::Hour)?;
    let day_of_month = parse_field(day_of_month, CronField::DayOfMonth)?;
    let month = parse_field(month, CronField::Month)?;
    let day_of_week = parse_field(day_of_week, CronField::DayOfWeek)?;
    let days = DaySet::new(DayFields {
        day_of_month: day_of_month.values as u32,
        month: month.values as u16,
        day_of_week: day_of_week.values as u8,
        both: day_of_month.star || day_of_week.star,
    });
    Ok(ScheduleRule::Calendar(CalendarRule::new(
        days,
        TimeSet { hours: hour.values as u32, minutes: minute.values },
    )))
}

/// The values of a field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldValues {
    /// Bit n is the value n.
    pub(crate) values: u64,
    /// An item of the list is `*` or `?`, without a step or with one of 1.
    pub(crate) star: bool,
}

pub(crate) fn parse_field(text: &str, field: CronField) -> Result<FieldValues, ParseError> {
    let mut whole = FieldValues::default();
    // Empty items are dropped, so a lone comma is a field without values.
    for item in text.split(',').filter(|item| !item.is_empty()) {
        let range = FieldRange::parse(item, field).map_err(|error| error.in_field(field))?;
        whole.values |= range.values();
        whole.star |= range.star && range.step == 1;
    }
    Ok(whole)
}

/// One item of a field's list: `first-last/step`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldRange {
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) step: u64,
    pub(crate) star: bool,
}

impl FieldRange {
    /// Reads one item. The order of the checks is robfig/cron's: it decides which error is told.
    pub(crate) fn parse(item: &str, field: CronField) -> Result<FieldRange, ParseError> {
        let mut parts = item.split('/');
        let (span, step, more) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
        let (min, max) = bounds(field);
        let (first, mut last, star) = parse_span(span, item, field)?;
        let step = match step {
            _ if more.is_some() => {
                return Err(ParseError::new(format!("too many slashes: {item}")));
            }
            None => 1,
            Some(step) => {
                if !span.contains('-') {
                    last = max;
                }
                parse_number(step)?
            }
        };
        let refused = if first < min {
            format!("beginning of range ({first}) below minimum ({min}): {item}")
        } else if last > max {
            format!("end of range ({last}) above maximum ({max}): {item}")
        } else if first > last {
            format!("beginning of range ({first}) beyond end of range ({last}): {item}")
        } else if step == 0 {
            format!("step of range should be a positive number: {item}")
        } else {
            return Ok(FieldRange { first, last, step, star });
        };
        Err(ParseError::new(refused))
    }

    fn values(self) -> u64 {
        let mut values = 0;
        let mut value = self.first;
        while value <= self.last {
            values |= 1 << value;
            value = value.saturating_add(self.step);
        }
        values
    }
}

/// First and last value of `*`, `a` or `a-b`. What follows the hyphen of `*-5` is not looked at.
fn parse_span(span: &str, item: &str, field: CronField) -> Result<(u64, u64, bool), ParseError> {
    let mut ends = span.split('-');
    let (first, last, more) = (ends.next().unwrap_or_default(), ends.next(), ends.next());
    if first == "*" || first == "?" {
        let (min, max) = bounds(field);
        return Ok((min, max, true));
    }
    let first = parse_value(first, field)?;
    match last {
        _ if more.is_some() => Err(ParseError::new(format!("too many hyphens: {item}"))),
        None => Ok((first, first, false)),
        Some(last) => Ok((first, parse_value(last, field)?, false)),
    }
}

pub(crate) fn bounds(field: CronField) -> (u64, u64) {
    match field {
        CronField::Minute => (0, 59),
        CronField::Hour => (0, 23),
        CronField::DayOfMonth => (1, 31),
        CronField::Month => (1, 12),
        CronField::DayOfWeek => (0, 6),
    }
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// A number, or a name in any case.
fn parse_value(text: &str, field: CronField) -> Result<u64, ParseError> {
    let (names, first): (&[&str], u64) = match field {
        CronField::Month => (&MONTHS, 1),
        CronField::DayOfWeek => (&WEEKDAYS, 0),
        _ => (&[], 0),
    };
    // Go lowers each character to one character: the dotted capital I becomes a plain i.
    let lower = || text.chars().filter_map(|char| char.to_lowercase().next());
    match names.iter().position(|name| name.chars().eq(lower())) {
        Some(at) => Ok(first + at as u64),
        None => parse_number(text),
    }
}

fn parse_number(text: &str) -> Result<u64, ParseError> {
    let number = go_compat::atoi(text).map_err(|error| {
        ParseError::new(format!("failed to parse int from {text}: {}", error.explain(text)))
    })?;
    u64::try_from(number)
        .map_err(|_| ParseError::new(format!("negative number ({number}) not allowed: {text}")))
}
