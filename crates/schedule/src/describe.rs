//! Describes a schedule in English.

use std::fmt::Write;

use jiff::SignedDuration;

use crate::{
    calendar_rule::CalendarRule,
    day_set::DayFields,
    schedule::{Schedule, ScheduleKind},
    time_set::TimeSet,
};

/// A description lists at most this many times of day one by one.
const LISTED_TIMES_MAX: u64 = 6;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const WEEKDAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

impl Schedule {
    /// Describes the schedule in English.
    ///
    /// ```
    /// # use punctual_schedule::{Schedule, Zones};
    /// let berlin = Zones::bundled().get("Europe/Berlin")?;
    /// let describe = |text| Schedule::parse(text, &berlin).unwrap().describe();
    /// assert_eq!(describe("30 2 * * 1-5"), "At 02:30 on Monday through Friday, in Europe/Berlin");
    /// assert_eq!(describe("*/5 9-17 * * *"), "Every 5 minutes from 09:00 through 17:55, in Europe/Berlin");
    /// assert_eq!(
    ///     describe("0 0 13 * 5"),
    ///     "At 00:00 on day 13 of the month and on every Friday, in Europe/Berlin"
    /// );
    /// assert_eq!(describe("@every 90m"), "Every 1 hour 30 minutes, counted from the last time");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn describe(&self) -> String {
        let zone = self.zone().name();
        match (self.kind(), self.calendar_rule()) {
            (_, Some(rule)) if rule.is_never => format!("Never, in {zone}"),
            (_, Some(rule)) => format!("{}, in {zone}", describe_calendar(rule)),
            (ScheduleKind::At(at), _) => {
                format!("Once, at {}, in {zone}", self.zone().at(at).strftime("%Y-%m-%d %H:%M:%S"))
            }
            (ScheduleKind::Every(interval), _) => {
                format!("Every {}, counted from the last time", describe_interval(interval))
            }
            (ScheduleKind::Calendar, None) => String::new(),
        }
    }
}

fn describe_calendar(rule: &CalendarRule) -> String {
    let fields = rule.days.fields;
    let mut text = describe_times(rule.times);
    text.push_str(&describe_days(fields));
    let months: Vec<u32> = (1..=12).filter(|month| fields.month >> month & 1 == 1).collect();
    if months.len() < 12 {
        // Writing to a String cannot fail.
        let _ = write!(text, " in {}", join_ranges(&months, |month| name(&MONTHS, month - 1)));
    }
    text
}

fn describe_times(times: TimeSet) -> String {
    let hours: Vec<u32> = (0..24).filter(|hour| times.hours >> hour & 1 == 1).collect();
    let minutes: Vec<u32> = (0..60).filter(|minute| times.minutes >> minute & 1 == 1).collect();
    let is_hourly = hours.len() == 24;
    let hour_step = common_step(&hours);
    let range = if is_hourly { String::new() } else { describe_hours(&hours, &minutes) };
    match (minutes.as_slice(), full_cycle_step(&minutes, 60)) {
        (_, Some(1)) => format!("Every minute{range}"),
        (_, Some(step)) if hour_step == Some(1) => format!("Every {step} minutes{range}"),
        ([0], _) if is_hourly => "Every hour, on the hour".into(),
        ([minute], _) if is_hourly => format!("Every hour at minute {minute}"),
        _ if times.per_day() <= LISTED_TIMES_MAX => list_times(&hours, &minutes),
        ([_], _) if hour_step.is_some() => {
            format!("Every {}{range}", with_unit(hour_step.unwrap_or(1), "hour"))
        }
        _ => {
            let minutes = list_values("minute", &minutes);
            let hours = if is_hourly {
                "every hour".into()
            } else {
                format!("the {}", list_values("hour", &hours))
            };
            format!("At {minutes} of {hours}")
        }
    }
}

/// Writes a range such as ` from 09:00 through 17:55`, or lists the hours.
fn describe_hours(hours: &[u32], minutes: &[u32]) -> String {
    match (hours.first(), hours.last(), minutes.first(), minutes.last()) {
        (Some(first), Some(last), Some(from), Some(until))
            if common_step(hours).is_some_and(|step| step == 1 || minutes.len() == 1) =>
        {
            format!(" from {first:02}:{from:02} through {last:02}:{until:02}")
        }
        _ => format!(" of the {}", list_values("hour", hours)),
    }
}

fn list_times(hours: &[u32], minutes: &[u32]) -> String {
    let times: Vec<String> = hours
        .iter()
        .flat_map(|hour| minutes.iter().map(move |minute| format!("{hour:02}:{minute:02}")))
        .collect();
    format!("At {}", join_items(&times))
}

fn describe_days(fields: DayFields) -> String {
    let days: Vec<u32> = (1..=31).filter(|day| fields.day_of_month >> day & 1 == 1).collect();
    let weekdays: Vec<u32> = (0..7).filter(|day| fields.day_of_week >> day & 1 == 1).collect();
    let by_month = format!(" on {} of the month", list_values("day", &days));
    let by_week =
        |every: &str| format!(" on {every}{}", join_ranges(&weekdays, |day| name(&WEEKDAYS, day)));
    match (days.len(), weekdays.len(), fields.requires_both) {
        (31, 7, true) | (31, _, false) | (_, 7, false) => String::new(),
        (31, _, true) | (0, _, false) => by_week(""),
        (_, 7, true) | (_, 0, false) => by_month,
        _ => format!("{by_month} and{}", by_week("every ")),
    }
}

/// Returns the step of values that divide the range from 0 to a modulus evenly.
fn full_cycle_step(values: &[u32], modulus: u32) -> Option<u32> {
    let step = modulus.checked_div(values.len() as u32)?;
    let is_even = values.iter().enumerate().all(|(at, value)| *value == at as u32 * step);
    (values.len() > 1 && modulus % step == 0 && is_even).then_some(step)
}

/// Returns the difference between neighbours if it is the same for all; 1 for a single value.
fn common_step(values: &[u32]) -> Option<u32> {
    let mut steps = values.windows(2).map(|pair| match pair {
        [a, b] => b - a,
        _ => 0,
    });
    let Some(first) = steps.next() else { return (values.len() == 1).then_some(1) };
    steps.all(|step| step == first).then_some(first)
}

fn describe_interval(interval: SignedDuration) -> String {
    let secs = interval.as_secs();
    [(secs / 3600, "hour"), (secs / 60 % 60, "minute"), (secs % 60, "second")]
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, unit)| format!("{count} {unit}{}", if *count == 1 { "" } else { "s" }))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Writes `hour`, `2 hours`.
fn with_unit(count: u32, unit: &str) -> String {
    if count == 1 { unit.into() } else { format!("{count} {unit}s") }
}

/// Writes `day 13`, `days 1 through 5 and 13`.
fn list_values(unit: &str, values: &[u32]) -> String {
    let plural = if values.len() == 1 { "" } else { "s" };
    format!("{unit}{plural} {}", join_ranges(values, |value| value.to_string()))
}

/// Writes values in order; three or more consecutive values become `a through b`.
fn join_ranges(values: &[u32], name: impl Fn(u32) -> String) -> String {
    let runs = values.chunk_by(|a, b| a + 1 == *b);
    let items: Vec<String> = runs
        .flat_map(|run| match run {
            [first, _, .., last] => vec![format!("{} through {}", name(*first), name(*last))],
            _ => run.iter().map(|value| name(*value)).collect(),
        })
        .collect();
    join_items(&items)
}

/// Writes `a`, `a and b`, `a, b and c`.
fn join_items(items: &[String]) -> String {
    match items {
        [] => "none".into(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

fn name(names: &[&str], index: u32) -> String {
    names.get(index as usize).copied().unwrap_or_default().into()
}
