//! Converts a calendar expression into schedules of CronJobs.

use super::calendar_parse::{CalendarError, CalendarRange, CalendarSpec};
use crate::calendar_fields::{
    CalendarFields, ConvertedSchedule, DAYS, DayFieldRule, FieldBounds, HOURS, MINUTES, MONTHS,
    bits, weekday_names,
};

const SECONDS: FieldBounds = FieldBounds { first: 0, last: 59 };

/// The months by their number of days, as bit sets.
const MONTHS_BY_LENGTH: [(u64, u64); 3] =
    [(31, 0b1_0101_1010_1010), (30, 0b0_1010_0101_0000), (28, 0b0_0000_0000_0100)];

/// The schedules of an expression, and what differs from it.
#[derive(Clone, Debug, Default)]
pub(super) struct ConvertedCalendar {
    pub(super) schedules: Vec<ConvertedSchedule>,
    pub(super) warnings: Vec<String>,
}

/// Converts an expression. `text` is its text in messages.
pub(super) fn convert(spec: &CalendarSpec, text: &str) -> Result<ConvertedCalendar, CalendarError> {
    if let Some(seconds) = spec.unix_seconds {
        let at = jiff::Timestamp::from_second(seconds);
        let at = at.map_err(|_| CalendarError::Syntax(text.into()))?;
        return Ok(single_instant(&at.to_string()));
    }
    if spec.year.is_some() {
        return convert_year(spec, text);
    }
    let mut converted = ConvertedCalendar::default();
    converted.warnings.extend(second_warning(spec));
    if !spec.is_from_month_end || spec.day.is_none() {
        let days = set_of(spec.day.as_deref(), DAYS);
        converted.add(spec, days, set_of(spec.month.as_deref(), MONTHS));
        return Ok(converted);
    }
    for (length, months) in MONTHS_BY_LENGTH {
        let months = months & set_of(spec.month.as_deref(), MONTHS);
        let days = days_from_end(spec.day.as_deref(), length);
        if months == 0 || days == 0 {
            continue;
        }
        converted.add(spec, days, months);
        if length == 28 {
            converted.warnings.push(
                "the days from the end of February are those of a year without a leap day, so in \
                 leap years it runs one day early"
                    .into(),
            );
        }
    }
    Ok(converted)
}

impl ConvertedCalendar {
    fn add(&mut self, spec: &CalendarSpec, days: u64, months: u64) {
        let fields = CalendarFields {
            minutes: set_of(spec.minute.as_deref(), MINUTES),
            hours: set_of(spec.hour.as_deref(), HOURS),
            days,
            months,
            weekdays: spec.weekdays,
            day_field_rule: DayFieldRule::Both,
        };
        let schedule = fields.convert();
        if let Some(weekdays) = schedule.only_weekdays {
            self.warnings.push(format!(
                "a CronJob cannot require a weekday and a day of the month at once, so a Job starts \
                 on each day of the month that matches, and the command runs only if it is {}",
                weekday_names(weekdays),
            ));
        }
        self.schedules.push(schedule);
    }
}

/// The schedule of one instant.
fn single_instant(time: &str) -> ConvertedCalendar {
    let warning = "it runs once; the schedule @at is an extension, which a Kubernetes cluster \
                   accepts only in a ScheduledJob";
    ConvertedCalendar {
        schedules: vec![ConvertedSchedule::new(format!("@at {time}"))],
        warnings: vec![warning.into()],
    }
}

/// Converts an expression that names one year, and with it one instant.
fn convert_year(spec: &CalendarSpec, text: &str) -> Result<ConvertedCalendar, CalendarError> {
    let years = || CalendarError::Years(text.into());
    let year = single_value(spec.year.as_deref()).ok_or_else(years)?;
    let month = single_value(spec.month.as_deref()).ok_or_else(years)?;
    let day = single_value(spec.day.as_deref()).ok_or_else(years)?;
    let hour = single_value(spec.hour.as_deref()).ok_or_else(years)?;
    let minute = single_value(spec.minute.as_deref()).ok_or_else(years)?;
    let second = single_value(spec.second.as_deref()).ok_or_else(years)?;
    if spec.is_from_month_end {
        return Err(years());
    }
    let time = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
    let never = || CalendarError::Never(text.into());
    let civil: jiff::civil::DateTime = time.parse().map_err(|_| never())?;
    let weekday = u32::from(civil.weekday().to_sunday_zero_offset().unsigned_abs());
    if spec.weekdays >> weekday & 1 == 0 {
        return Err(never());
    }
    Ok(single_instant(&time))
}

fn single_value(ranges: Option<&[CalendarRange]>) -> Option<u64> {
    match ranges {
        Some([CalendarRange { start, stop: None, repeat: None, has_fraction: false }]) => {
            Some(*start)
        }
        _ => None,
    }
}

/// Returns the values of a component.
fn set_of(ranges: Option<&[CalendarRange]>, bounds: FieldBounds) -> u64 {
    let Some(ranges) = ranges else { return bounds.all() };
    ranges.iter().fold(0, |set, range| {
        let last = match (range.stop, range.repeat) {
            (Some(stop), _) => stop,
            (None, Some(_)) => bounds.last,
            (None, None) => range.start,
        };
        set | bits(range.start, last, range.repeat.unwrap_or(1))
    })
}

/// Returns the days of a month with `length` days. The ranges count from the end of the month.
fn days_from_end(ranges: Option<&[CalendarRange]>, length: u64) -> u64 {
    let Some(ranges) = ranges else { return bits(1, length, 1) };
    ranges.iter().fold(0, |set, range| {
        let start = (length + 1).saturating_sub(range.start);
        let stop = range.stop.map(|stop| (length + 1).saturating_sub(stop));
        let (first, last) = match (stop, range.repeat) {
            (Some(stop), _) => (stop.min(start), stop.max(start)),
            (None, Some(_)) => (start, length),
            (None, None) => (start, start),
        };
        set | bits(first, last, range.repeat.unwrap_or(1))
    }) & bits(1, length, 1)
}

/// Warns about seconds, which a schedule does not have.
fn second_warning(spec: &CalendarSpec) -> Option<String> {
    let has_fraction = spec.second.iter().flatten().any(|range| range.has_fraction);
    let seconds = set_of(spec.second.as_deref(), SECONDS);
    match seconds.count_ones() {
        1 if seconds == 1 && !has_fraction => None,
        1 => Some(format!(
            "a CronJob has no seconds: it runs at the full minute, {} s early",
            seconds.trailing_zeros()
        )),
        times => Some(format!(
            "a CronJob has no seconds: it runs once a minute, at the full minute, instead of {times} \
             times"
        )),
    }
}
