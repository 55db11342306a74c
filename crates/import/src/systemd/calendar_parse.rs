//! Parses the calendar expressions of `OnCalendar=`, such as `Mon..Fri *-*-* 02:30:00 Europe/Berlin`.

use punctual_schedule::{Zone, Zones};

/// The error of a calendar expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CalendarError {
    #[error("{0:?} is not a calendar expression")]
    Syntax(String),
    #[error("{value} is not between {first} and {last} in {text:?}")]
    OutOfRange { text: String, value: u64, first: u64, last: u64 },
    #[error("{0:?} restricts the years, which a CronJob cannot express")]
    Years(String),
    #[error("{0:?} never elapses")]
    Never(String),
}

/// A calendar expression. `None` in a component means every value.
#[derive(Clone, Debug, Default)]
pub(crate) struct CalendarSpec {
    /// Bit 0 is Sunday. All days if no weekday is given.
    pub(super) weekdays: u64,
    pub(super) year: Option<Vec<CalendarRange>>,
    pub(super) month: Option<Vec<CalendarRange>>,
    pub(super) day: Option<Vec<CalendarRange>>,
    /// Whether days count from the end of the month.
    pub(super) is_from_month_end: bool,
    pub(super) hour: Option<Vec<CalendarRange>>,
    pub(super) minute: Option<Vec<CalendarRange>>,
    pub(super) second: Option<Vec<CalendarRange>>,
    /// The second of an expression like `@1395716396`.
    pub(super) unix_seconds: Option<i64>,
    pub(super) zone: Option<Zone>,
}

/// `start`, `start..stop`, `start/repeat` or `start..stop/repeat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CalendarRange {
    pub(super) start: u64,
    pub(super) stop: Option<u64>,
    pub(super) repeat: Option<u64>,
    /// Whether a number has a fraction, which only seconds may have.
    pub(super) has_fraction: bool,
}

const ALL_WEEKDAYS: u64 = 0x7f;
/// The names of weekdays, Monday first, as ranges of systemd have them.
const WEEKDAYS: [(&str, u64); 7] = [
    ("monday", 1),
    ("tuesday", 2),
    ("wednesday", 3),
    ("thursday", 4),
    ("friday", 5),
    ("saturday", 6),
    ("sunday", 0),
];

/// Parses an expression. A zone must be in the database.
pub(crate) fn parse(text: &str, zones: &Zones) -> Result<CalendarSpec, CalendarError> {
    let syntax = || CalendarError::Syntax(text.into());
    let mut words: Vec<&str> = text.split_whitespace().collect();
    let mut zone = None;
    if let [_, .., last] = words.as_slice()
        && last.starts_with(|c: char| c.is_ascii_alphabetic())
        && parse_weekdays(last).is_none()
    {
        let name = if last.eq_ignore_ascii_case("utc") { "UTC" } else { last };
        zone = Some(zones.get(name).map_err(|_| syntax())?);
        words.pop();
    }
    let spec = match words.as_slice() {
        [seconds] if seconds.starts_with('@') => {
            let unix_seconds = seconds.strip_prefix('@').and_then(|text| text.parse().ok());
            let unix_seconds = Some(unix_seconds.ok_or_else(syntax)?);
            CalendarSpec { weekdays: ALL_WEEKDAYS, unix_seconds, ..CalendarSpec::default() }
        }
        [name] if named(name).is_some() => {
            let named: Vec<&str> = named(name).unwrap_or_default().split_whitespace().collect();
            parse_words(&named).ok_or_else(syntax)?
        }
        words => parse_words(words).ok_or_else(syntax)?,
    };
    let spec = CalendarSpec { zone, ..spec };
    check_bounds(&spec, text)?;
    Ok(spec)
}

/// Returns the expression that a name stands for.
fn named(name: &str) -> Option<&'static str> {
    Some(match name.to_ascii_lowercase().as_str() {
        "minutely" => "*-*-* *:*:00",
        "hourly" => "*-*-* *:00:00",
        "daily" => "*-*-* 00:00:00",
        "weekly" => "Mon *-*-* 00:00:00",
        "monthly" => "*-*-01 00:00:00",
        "quarterly" => "*-01,04,07,10-01 00:00:00",
        "yearly" | "annually" | "anually" => "*-01-01 00:00:00",
        "biannually" | "bi-annually" | "semiannually" | "semi-annually" => "*-01,07-01 00:00:00",
        _ => return None,
    })
}

/// Parses the weekdays, the date and the time, each of which may be absent.
fn parse_words(words: &[&str]) -> Option<CalendarSpec> {
    let zero =
        || Some(vec![CalendarRange { start: 0, stop: None, repeat: None, has_fraction: false }]);
    let mut spec = CalendarSpec {
        weekdays: ALL_WEEKDAYS,
        hour: zero(),
        minute: zero(),
        second: zero(),
        ..CalendarSpec::default()
    };
    let mut rest = words;
    if let [first, after @ ..] = rest
        && first.starts_with(|c: char| c.is_ascii_alphabetic())
    {
        spec.weekdays = parse_weekdays(first)?;
        rest = after;
    }
    if let [date, after @ ..] = rest
        && !date.contains(':')
    {
        parse_date(date, &mut spec)?;
        rest = after;
    }
    if let [time, after @ ..] = rest {
        parse_time(time, &mut spec)?;
        rest = after;
    }
    (rest.is_empty() && !words.is_empty()).then_some(spec)
}

fn parse_weekdays(text: &str) -> Option<u64> {
    text.split(',').try_fold(0, |set, item| {
        let (first, last) = match item.split_once("..").or_else(|| item.split_once('-')) {
            Some((first, last)) => (weekday_index(first)?, weekday_index(last)?),
            None => (weekday_index(item)?, weekday_index(item)?),
        };
        let range = WEEKDAYS.get(first..=last).filter(|range| !range.is_empty())?;
        Some(range.iter().fold(set, |set, (_, bit)| set | 1 << bit))
    })
}

/// Returns the place of a weekday in the week, Monday first.
fn weekday_index(text: &str) -> Option<usize> {
    let lower = text.to_ascii_lowercase();
    let is_name = |name: &str| name == lower || lower.len() == 3 && name.starts_with(&lower);
    WEEKDAYS.iter().position(|(name, _)| is_name(name))
}

fn parse_date(text: &str, spec: &mut CalendarSpec) -> Option<()> {
    let (before_day, day) = match text.split_once('~') {
        Some((before, day)) => {
            spec.is_from_month_end = true;
            (before, day)
        }
        None => text.rsplit_once('-')?,
    };
    let month = match before_day.split_once('-') {
        Some((year, month)) => {
            spec.year = parse_chain(year)?;
            full_years(&mut spec.year);
            month
        }
        None => before_day,
    };
    spec.month = parse_chain(month)?;
    spec.day = parse_chain(day)?;
    Some(())
}

/// Adds the century to years of two digits.
fn full_years(years: &mut Option<Vec<CalendarRange>>) {
    let full = |year: u64| match year {
        0..70 => year + 2000,
        70..100 => year + 1900,
        _ => year,
    };
    for range in years.iter_mut().flatten() {
        range.start = full(range.start);
        range.stop = range.stop.map(full);
    }
}

fn parse_time(text: &str, spec: &mut CalendarSpec) -> Option<()> {
    let mut parts = text.split(':');
    spec.hour = parse_chain(parts.next()?)?;
    spec.minute = parse_chain(parts.next()?)?;
    if let Some(second) = parts.next() {
        spec.second = parse_chain(second)?;
    }
    parts.next().is_none().then_some(())
}

/// Parses a component. The outer `None` is an error, the inner one means every value.
#[expect(clippy::option_option, reason = "an absent chain means every value")]
fn parse_chain(text: &str) -> Option<Option<Vec<CalendarRange>>> {
    if text == "*" {
        return Some(None);
    }
    text.split(',').map(parse_range).collect::<Option<Vec<_>>>().map(Some)
}

fn parse_range(text: &str) -> Option<CalendarRange> {
    let (range, repeat) = match text.split_once('/') {
        Some((range, repeat)) => (range, Some(repeat)),
        None => (text, None),
    };
    let (start, stop) = match range.split_once("..") {
        Some((start, stop)) => (start, Some(stop)),
        None => (range, None),
    };
    let numbers = [Some(start), stop, repeat];
    let has_fraction = numbers.iter().flatten().any(|text| text.contains('.'));
    let start = parse_number(start)?;
    let stop = match stop {
        Some(stop) => Some(parse_number(stop).filter(|stop| *stop >= start)?),
        None => None,
    };
    let repeat = match repeat {
        Some(repeat) => Some(parse_number(repeat).filter(|n| *n > 0 || has_fraction)?),
        None => None,
    };
    Some(CalendarRange { start, stop, repeat, has_fraction })
}

/// Parses digits, and ignores a fraction.
fn parse_number(text: &str) -> Option<u64> {
    let whole = text.split_once('.').map_or(text, |(whole, _)| whole);
    let is_digits = !whole.is_empty() && whole.bytes().all(|byte| byte.is_ascii_digit());
    if is_digits { whole.parse().ok() } else { None }
}

fn check_bounds(spec: &CalendarSpec, text: &str) -> Result<(), CalendarError> {
    let last_day = if spec.is_from_month_end { 28 } else { 31 };
    let components = [
        (&spec.year, 1970, 2199),
        (&spec.month, 1, 12),
        (&spec.day, 1, last_day),
        (&spec.hour, 0, 23),
        (&spec.minute, 0, 59),
        (&spec.second, 0, 59),
    ];
    for (ranges, first, last) in components {
        let values = ranges.iter().flatten().flat_map(|range| [Some(range.start), range.stop]);
        if let Some(value) = values.flatten().find(|value| *value < first || *value > last) {
            return Err(CalendarError::OutOfRange { text: text.into(), value, first, last });
        }
    }
    Ok(())
}
