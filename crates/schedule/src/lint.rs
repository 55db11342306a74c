//! What is probably not meant, though it can be done. Each finding gives its reason.

use std::fmt;

use jiff::{SignedDuration, Timestamp, civil::DateTime};

use crate::{
    calendar_rule::{self, CalendarRule},
    error::CronField,
    offset_table::Transition,
    parse::{self, FieldRange},
    schedule::{Schedule, ScheduleKind},
    utc_minute,
    zone::Zone,
};

/// How far ahead changes of the clocks are looked at: two years.
const AHEAD_DAYS: i64 = 2 * 365 + 1;

/// Something about a schedule that surprises people.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lint {
    /// There is no such minute.
    NeverMatches {
        /// The fields that have no value, or no date, in common.
        reason: String,
    },
    /// Both day fields are restricted, so a day needs to match only one of them.
    EitherDay,
    /// A time that the clocks skip, so it does not come on that day.
    SkippedByDst {
        /// The first such time.
        civil: DateTime,
        /// Where the clocks are set to.
        until: DateTime,
        /// Whose clocks.
        zone: String,
    },
    /// A time that comes twice, because the clocks go back.
    RepeatedByDst {
        /// The first such time.
        civil: DateTime,
        /// Whose clocks.
        zone: String,
    },
    /// An `@at` whose civil time is skipped or comes twice.
    AmbiguousTime {
        /// The time that is written.
        civil: DateTime,
        /// When it runs: the first of the two, or as much later as the clocks are put forward.
        runs: DateTime,
        /// Whose clocks.
        zone: String,
    },
    /// A step that does not divide its field, so the last gap is a shorter one.
    UnevenStep {
        /// The field.
        field: CronField,
        /// What is written there, such as `*/40`.
        item: String,
        /// The step, and the gap before the field starts anew.
        step: u64,
        /// The gap between the last value and the first one of the next round.
        last_gap: u64,
    },
    /// A step beyond the whole field, so only its first value is left.
    StepBeyondField {
        /// The field.
        field: CronField,
        /// What is written there, such as `*/90`.
        item: String,
        /// The only value that matches.
        only: u64,
    },
    /// `@every` with less than a minute.
    SubMinute {
        /// The interval.
        every: SignedDuration,
    },
}

impl Lint {
    /// A short name that does not change: `never-matches`, `either-day`, `skipped-by-dst`,
    /// `repeated-by-dst`, `ambiguous-time`, `uneven-step`, `step-beyond-field` or `sub-minute`.
    pub fn code(&self) -> &'static str {
        match self {
            Lint::NeverMatches { .. } => "never-matches",
            Lint::EitherDay => "either-day",
            Lint::SkippedByDst { .. } => "skipped-by-dst",
            Lint::RepeatedByDst { .. } => "repeated-by-dst",
            Lint::AmbiguousTime { .. } => "ambiguous-time",
            Lint::UnevenStep { .. } => "uneven-step",
            Lint::StepBeyondField { .. } => "step-beyond-field",
            Lint::SubMinute { .. } => "sub-minute",
        }
    }
}

impl fmt::Display for Lint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lint::NeverMatches { reason } => write!(f, "never runs: {reason}"),
            Lint::EitherDay => f.write_str(
                "runs on days that match the day of month or the day of week, not only on days \
                 that match both; write * in one of the two fields to restrict by the other alone",
            ),
            Lint::SkippedByDst { civil, until, zone } => write!(
                f,
                "does not run at {} because the clocks of {zone} are put forward to {} then; \
                 a time outside the change, or UTC, runs every day",
                shown(*civil),
                until.strftime("%H:%M"),
            ),
            Lint::RepeatedByDst { civil, zone } => write!(
                f,
                "runs twice at {} because the clocks of {zone} are put back then; \
                 a time outside the change, or UTC, runs once",
                shown(*civil),
            ),
            Lint::AmbiguousTime { civil, runs, zone } if civil == runs => write!(
                f,
                "{} comes twice in {zone} and runs the first time; give an offset to choose",
                shown(*civil),
            ),
            Lint::AmbiguousTime { civil, runs, zone } => write!(
                f,
                "there is no {} in {zone}, where the clocks are put forward then; runs at {}",
                shown(*civil),
                runs.strftime("%H:%M"),
            ),
            Lint::UnevenStep { field, item, step, last_gap } => write!(
                f,
                "{item} in the {field} field is uneven: {step} apart, but {last_gap} before it \
                 starts anew",
            ),
            Lint::StepBeyondField { field, item, only } => {
                write!(
                    f,
                    "{item} in the {field} field matches only {only}: the step leaves the field"
                )
            }
            Lint::SubMinute { every } => write!(
                f,
                "runs every {} s; Kubernetes names Jobs by the minute and would start about one \
                 of them a minute",
                every.as_secs()
            ),
        }
    }
}

fn shown(civil: DateTime) -> impl fmt::Display {
    civil.strftime("%H:%M on %Y-%m-%d")
}

impl Schedule {
    /// What is probably not meant. Changes of the clocks count within two years after `now`.
    ///
    /// ```
    /// # use punctual_schedule::{Lint, Schedule, Zones};
    /// let zone = Zones::bundled().get("America/New_York")?;
    /// let lints = Schedule::parse("30 2 * * *", &zone)?.lints("2026-01-01T00:00:00Z".parse()?);
    /// assert_eq!(
    ///     lints[0].to_string(),
    ///     "does not run at 02:30 on 2026-03-08 because the clocks of America/New_York are put \
    ///      forward to 03:00 then; a time outside the change, or UTC, runs every day"
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn lints(&self, now: Timestamp) -> Vec<Lint> {
        match (self.kind(), self.calendar()) {
            (_, Some(calendar)) => lint_calendar(self, calendar, now),
            (ScheduleKind::Every(every), _) if every.as_secs() < 60 => {
                vec![Lint::SubMinute { every }]
            }
            (ScheduleKind::At(at), _) => lint_instant(self, at).into_iter().collect(),
            _ => Vec::new(),
        }
    }
}

fn lint_calendar(schedule: &Schedule, calendar: &CalendarRule, now: Timestamp) -> Vec<Lint> {
    let fields = calendar.days.fields;
    let mut lints = Vec::new();
    if calendar.is_never {
        lints.push(Lint::NeverMatches { reason: why_never(calendar) });
    }
    if !fields.both && fields.day_of_month != 0 && fields.day_of_week != 0 {
        lints.push(Lint::EitherDay);
    }
    lints.extend(lint_steps(schedule));
    if !calendar.is_never {
        lints.extend(lint_clocks(schedule.zone(), calendar, now));
    }
    lints
}

fn why_never(calendar: &CalendarRule) -> String {
    let fields = calendar.days.fields;
    let empty = [
        (CronField::Minute, calendar.times.minutes == 0),
        (CronField::Hour, calendar.times.hours == 0),
        (CronField::Month, fields.month == 0),
        (CronField::DayOfMonth, fields.both && fields.day_of_month == 0),
        (CronField::DayOfWeek, fields.both && fields.day_of_week == 0),
        (CronField::DayOfWeek, fields.day_of_month == 0 && fields.day_of_week == 0),
    ];
    match empty.iter().find(|(_, is_empty)| *is_empty) {
        Some((field, _)) => format!("the {field} field has no value"),
        None => "none of its months has any of its days".into(),
    }
}

/// The first time that is skipped and the first one that comes twice.
fn lint_clocks(zone: &Zone, calendar: &CalendarRule, now: Timestamp) -> Vec<Lint> {
    let after = utc_minute::floor_minute(now);
    let until = after + AHEAD_DAYS as u64 * 1440;
    let all_hours = calendar.times.hours.count_ones() == 24;
    let mut lints: Vec<Lint> = Vec::new();
    for shift in zone.segments().shifts(after, until) {
        // What runs every hour goes on doing so when whole hours are skipped or repeated.
        if all_hours && shift.from.abs_diff(shift.to).is_multiple_of(60) {
            continue;
        }
        let found = lint_shift(zone, calendar, shift);
        lints.extend(found.filter(|new| lints.iter().all(|known| known.code() != new.code())));
    }
    lints
}

fn lint_shift(zone: &Zone, calendar: &CalendarRule, shift: Transition) -> Option<Lint> {
    let (first, end) = (shift.from.min(shift.to), shift.from.max(shift.to));
    let found = calendar.at_or_after(first).filter(|minute| *minute < end)?;
    let (civil, zone) = (calendar_rule::to_datetime(found)?, zone.name().to_string());
    Some(if shift.from < shift.to {
        Lint::SkippedByDst { civil, until: calendar_rule::to_datetime(shift.to)?, zone }
    } else {
        Lint::RepeatedByDst { civil, zone }
    })
}

fn lint_steps(schedule: &Schedule) -> Vec<Lint> {
    let words = parse::body(schedule.text()).split_whitespace();
    CronField::ALL
        .into_iter()
        .zip(words)
        .flat_map(|(field, word)| lint_field(field, word))
        .collect()
}

fn lint_field(field: CronField, word: &str) -> impl Iterator<Item = Lint> {
    let items = word.split(',').filter(|item| item.contains('/'));
    items.filter_map(move |item| lint_item(field, item))
}

fn lint_item(field: CronField, item: &str) -> Option<Lint> {
    let FieldRange { first, last, step, .. } = FieldRange::parse(item, field).ok()?;
    let (min, max) = parse::bounds(field);
    let (length, item) = (max - min + 1, item.to_string());
    if step >= length {
        return Some(Lint::StepBeyondField { field, item, only: first });
    }
    let whole = (first, last) == (min, max);
    let last_gap = length % step;
    (whole && last_gap != 0).then_some(Lint::UnevenStep { field, item, step, last_gap })
}

/// An `@at` whose civil time is skipped or comes twice.
fn lint_instant(schedule: &Schedule, at: Timestamp) -> Option<Lint> {
    let text = parse::body(schedule.text()).strip_prefix("@at ")?;
    let civil = parse::parse_civil(text)?;
    let zone = schedule.zone();
    let unclear = zone.time_zone().to_ambiguous_timestamp(civil).is_ambiguous();
    let runs = zone.at(at).datetime();
    unclear.then(|| Lint::AmbiguousTime { civil, runs, zone: zone.name().into() })
}
