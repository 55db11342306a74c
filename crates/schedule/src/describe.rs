//! A schedule in plain English.

use std::fmt::Write;

use jiff::SignedDuration;

use crate::{
    calendar_rule::CalendarRule,
    day_set::DayFields,
    schedule::{Schedule, ScheduleKind},
    time_set::TimeSet,
};

/// At most so many times of day are named one by one.
const TIMES_NAMED_MAX: u64 = 6;

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
    /// The schedule in plain English.
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
        match (self.kind(), self.calendar()) {
            (_, Some(calendar)) if calendar.is_never => format!("Never, in {zone}"),
            (_, Some(calendar)) => format!("{}, in {zone}", describe_calendar(calendar)),
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

fn describe_calendar(calendar: &CalendarRule) -> String {
    let fields = calendar.days.fields;
    let mut text = describe_times(calendar.times);
    text.push_str(&describe_days(fields));
    let months: Vec<u32> = (1..=12).filter(|month| fields.month >> month & 1 == 1).collect();
    if months.len() < 12 {
        // Writing to a String cannot fail.
        let _ = write!(text, " in {}", list(&months, |month| name(&MONTHS, month - 1)));
    }
    text
}

fn describe_times(times: TimeSet) -> String {
    let hours: Vec<u32> = (0..24).filter(|hour| times.hours >> hour & 1 == 1).collect();
    let minutes: Vec<u32> = (0..60).filter(|minute| times.minutes >> minute & 1 == 1).collect();
    let every_hour = hours.len() == 24;
    let all_day = if every_hour { String::new() } else { hours_of_day(&hours, &minutes) };
    match (minutes.as_slice(), even_step(&minutes, 60)) {
        (_, Some(1)) => format!("Every minute{all_day}"),
        (_, Some(step)) if even_run(&hours) == Some(1) => format!("Every {step} minutes{all_day}"),
        ([0], _) if every_hour => "Every hour, on the hour".into(),
        ([minute], _) if every_hour => format!("Every hour at minute {minute}"),
        _ if times.per_day() <= TIMES_NAMED_MAX => named_times(&hours, &minutes),
        ([_], _) if even_run(&hours).is_some() => {
            format!("Every {}{all_day}", plural(even_run(&hours).unwrap_or(1), "hour"))
        }
        _ => {
            let minutes = counted("minute", &minutes);
            let hours = if every_hour {
                "every hour".into()
            } else {
                format!("the {}", counted("hour", &hours))
            };
            format!("At {minutes} of {hours}")
        }
    }
}

/// ` from 09:00 through 17:55`, or the hours one by one.
fn hours_of_day(hours: &[u32], minutes: &[u32]) -> String {
    match (hours.first(), hours.last(), minutes.first(), minutes.last()) {
        (Some(first), Some(last), Some(from), Some(until))
            if even_run(hours).is_some_and(|run| run == 1 || minutes.len() == 1) =>
        {
            format!(" from {first:02}:{from:02} through {last:02}:{until:02}")
        }
        _ => format!(" of the {}", counted("hour", hours)),
    }
}

fn named_times(hours: &[u32], minutes: &[u32]) -> String {
    let times: Vec<String> = hours
        .iter()
        .flat_map(|hour| minutes.iter().map(move |minute| format!("{hour:02}:{minute:02}")))
        .collect();
    format!("At {}", enumerate(&times))
}

fn describe_days(fields: DayFields) -> String {
    let days: Vec<u32> = (1..=31).filter(|day| fields.day_of_month >> day & 1 == 1).collect();
    let weekdays: Vec<u32> = (0..7).filter(|day| fields.day_of_week >> day & 1 == 1).collect();
    let by_month = format!(" on {} of the month", counted("day", &days));
    let by_week =
        |every: &str| format!(" on {every}{}", list(&weekdays, |day| name(&WEEKDAYS, day)));
    match (days.len(), weekdays.len(), fields.both) {
        (31, 7, true) | (31, _, false) | (_, 7, false) => String::new(),
        (31, _, true) | (0, _, false) => by_week(""),
        (_, 7, true) | (_, 0, false) => by_month,
        _ => format!("{by_month} and{}", by_week("every ")),
    }
}

/// The step of values that go from 0 up to a modulus evenly, the step dividing the modulus.
fn even_step(values: &[u32], modulus: u32) -> Option<u32> {
    let step = modulus.checked_div(values.len() as u32)?;
    let even = values.iter().enumerate().all(|(at, value)| *value == at as u32 * step);
    (values.len() > 1 && modulus.is_multiple_of(step) && even).then_some(step)
}

/// The distance of values that follow each other evenly.
fn even_run(values: &[u32]) -> Option<u32> {
    let mut steps = values.windows(2).map(|pair| match pair {
        [a, b] => b - a,
        _ => 0,
    });
    let Some(first) = steps.next() else { return (values.len() == 1).then_some(1) };
    steps.all(|step| step == first).then_some(first)
}

fn describe_interval(interval: SignedDuration) -> String {
    let secs = interval.as_secs();
    let parts = [(secs / 3600, "hour"), (secs / 60 % 60, "minute"), (secs % 60, "second")];
    let parts = parts.iter().filter(|(count, _)| *count > 0);
    parts
        .map(|(count, unit)| format!("{count} {unit}{}", if *count == 1 { "" } else { "s" }))
        .collect::<Vec<_>>()
        .join(" ")
}

/// `hour`, `2 hours`.
fn plural(count: u32, unit: &str) -> String {
    if count == 1 { unit.into() } else { format!("{count} {unit}s") }
}

/// `day 13`, `days 1 through 5 and 13`.
fn counted(unit: &str, values: &[u32]) -> String {
    let plural = if values.len() == 1 { "" } else { "s" };
    format!("{unit}{plural} {}", list(values, |value| value.to_string()))
}

/// Values in order, three and more in a row as `a through b`.
fn list(values: &[u32], name: impl Fn(u32) -> String) -> String {
    let runs = values.chunk_by(|a, b| a + 1 == *b);
    let items: Vec<String> = runs
        .flat_map(|run| match run {
            [first, _, .., last] => vec![format!("{} through {}", name(*first), name(*last))],
            _ => run.iter().map(|value| name(*value)).collect(),
        })
        .collect();
    enumerate(&items)
}

/// `a`, `a and b`, `a, b and c`.
fn enumerate(items: &[String]) -> String {
    match items {
        [] => "none".into(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

fn name(names: &[&str], at: u32) -> String {
    names.get(at as usize).copied().unwrap_or_default().into()
}
