//! Warnings about valid schedules that probably do not do what their author expects.

use std::fmt;

use jiff::{SignedDuration, Timestamp, civil::DateTime};

use crate::{
    calendar_rule::{self, CalendarRule},
    error::CronField,
    offset_table::Transition,
    parse::{self, FieldRange},
    schedule::{Schedule, ScheduleKind},
    time_set::DAY_MINUTES,
    utc_minute,
    zone::Zone,
};

/// DST transitions are checked for two years from the given instant.
const DST_DAYS: u64 = 2 * 365 + 1;

/// A warning about a valid schedule. Its `Display` explains the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lint {
    /// The schedule has no slot.
    NeverMatches {
        /// The field without a value, or the reason why no date matches.
        reason: String,
    },
    /// Both day fields are restricted, so a day that matches one of them is enough.
    EitherDay,
    /// A DST transition skips a time of the schedule, so it has no slot on that day.
    SkippedByDst {
        /// The first skipped time.
        civil: DateTime,
        /// The end of the gap.
        until: DateTime,
        /// The name of the zone.
        zone: String,
    },
    /// A DST transition repeats a time of the schedule, so it has two slots on that day.
    RepeatedByDst {
        /// The first repeated time.
        civil: DateTime,
        /// The name of the zone.
        zone: String,
    },
    /// The civil time of an `@at` schedule is skipped or repeated.
    AmbiguousTime {
        /// The time in the text.
        civil: DateTime,
        /// The time of the slot: the first of two, or moved forward by the length of the gap.
        slot: DateTime,
        /// The name of the zone.
        zone: String,
    },
    /// The step does not divide the field, so the last gap is shorter.
    UnevenStep {
        /// The field.
        field: CronField,
        /// The text of the item, such as `*/40`.
        item: String,
        /// The step.
        step: u64,
        /// The gap between the last value and the first value of the next round.
        last_gap: u64,
    },
    /// The step is larger than the field, so only the first value matches.
    StepBeyondField {
        /// The field.
        field: CronField,
        /// The text of the item, such as `*/90`.
        item: String,
        /// The only value that matches.
        only: u64,
    },
    /// The interval of `@every` is shorter than a minute.
    SubMinute {
        /// The interval.
        every: SignedDuration,
    },
}

impl Lint {
    /// Returns a stable short name: `never-matches`, `either-day`, `skipped-by-dst`,
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
                "does not run at {} because the clocks of {zone} are set forward to {} then; \
                 choose a time outside the transition, or UTC, to run every day",
                display_civil(*civil),
                until.strftime("%H:%M"),
            ),
            Lint::RepeatedByDst { civil, zone } => write!(
                f,
                "runs twice at {} because the clocks of {zone} are set back then; \
                 choose a time outside the transition, or UTC, to run once",
                display_civil(*civil),
            ),
            Lint::AmbiguousTime { civil, slot, zone } if civil == slot => write!(
                f,
                "{} occurs twice in {zone} and runs the first time; add an offset to choose",
                display_civil(*civil),
            ),
            Lint::AmbiguousTime { civil, slot, zone } => write!(
                f,
                "{} does not exist in {zone}, where the clocks are set forward then; runs at {}",
                display_civil(*civil),
                slot.strftime("%H:%M"),
            ),
            Lint::UnevenStep { field, item, step, last_gap } => write!(
                f,
                "{item} in the {field} field is uneven: values are {step} apart, but the last gap is \
                 {last_gap}",
            ),
            Lint::StepBeyondField { field, item, only } => {
                write!(
                    f,
                    "{item} in the {field} field matches only {only}: the step is larger than the field"
                )
            }
            Lint::SubMinute { every } => write!(
                f,
                "runs every {} s as written; other schedulers may start only one run per minute",
                every.as_secs()
            ),
        }
    }
}

fn display_civil(civil: DateTime) -> impl fmt::Display {
    civil.strftime("%H:%M on %Y-%m-%d")
}

impl Schedule {
    /// Returns warnings about the schedule. DST transitions are checked for two years after `now`.
    ///
    /// ```
    /// # use punctual_schedule::{Lint, Schedule, Zones};
    /// let zone = Zones::bundled().get("America/New_York")?;
    /// let lints = Schedule::parse("30 2 * * *", &zone)?.lints("2026-01-01T00:00:00Z".parse()?);
    /// assert_eq!(
    ///     lints[0].to_string(),
    ///     "does not run at 02:30 on 2026-03-08 because the clocks of America/New_York are set \
    ///      forward to 03:00 then; choose a time outside the transition, or UTC, to run every day"
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn lints(&self, now: Timestamp) -> Vec<Lint> {
        match (self.kind(), self.calendar_rule()) {
            (_, Some(rule)) => lint_calendar(self, rule, now),
            (ScheduleKind::Every(every), _) if every.as_secs() < 60 => {
                vec![Lint::SubMinute { every }]
            }
            (ScheduleKind::At(at), _) => lint_at(self, at).into_iter().collect(),
            _ => Vec::new(),
        }
    }
}

fn lint_calendar(schedule: &Schedule, rule: &CalendarRule, now: Timestamp) -> Vec<Lint> {
    let fields = rule.days.fields;
    let mut lints = Vec::new();
    if rule.is_never {
        lints.push(Lint::NeverMatches { reason: explain_never(rule) });
    }
    if !fields.requires_both && fields.day_of_month != 0 && fields.day_of_week != 0 {
        lints.push(Lint::EitherDay);
    }
    lints.extend(lint_steps(schedule));
    if !rule.is_never {
        lints.extend(lint_transitions(schedule.zone(), rule, now));
    }
    lints
}

fn explain_never(rule: &CalendarRule) -> String {
    let fields = rule.days.fields;
    let empty_fields = [
        (CronField::Minute, rule.times.minutes == 0),
        (CronField::Hour, rule.times.hours == 0),
        (CronField::Month, fields.month == 0),
        (CronField::DayOfMonth, fields.requires_both && fields.day_of_month == 0),
        (CronField::DayOfWeek, fields.requires_both && fields.day_of_week == 0),
        (CronField::DayOfWeek, fields.day_of_month == 0 && fields.day_of_week == 0),
    ];
    match empty_fields.iter().find(|(_, is_empty)| *is_empty) {
        Some((field, _)) => format!("the {field} field has no value"),
        None => "none of its months has any of its days".into(),
    }
}

/// Reports the first skipped time and the first repeated time.
fn lint_transitions(zone: &Zone, rule: &CalendarRule, now: Timestamp) -> Vec<Lint> {
    let after = utc_minute::floor_minute(now);
    let until = after + DST_DAYS * u64::from(DAY_MINUTES);
    let is_hourly = rule.times.hours.count_ones() == 24;
    let mut lints: Vec<Lint> = Vec::new();
    for transition in zone.offsets().transitions(after, until) {
        // An hourly schedule stays hourly when whole hours are skipped or repeated.
        let minutes = transition.civil_before.abs_diff(transition.civil_after);
        if is_hourly && minutes % 60 == 0 {
            continue;
        }
        let Some(lint) = lint_transition(zone, rule, transition) else { continue };
        if lints.iter().all(|earlier| earlier.code() != lint.code()) {
            lints.push(lint);
        }
    }
    lints
}

fn lint_transition(zone: &Zone, rule: &CalendarRule, transition: Transition) -> Option<Lint> {
    let first = transition.civil_before.min(transition.civil_after);
    let end = transition.civil_before.max(transition.civil_after);
    let found = rule.at_or_after(first).filter(|minute| *minute < end)?;
    let civil = calendar_rule::to_datetime(found)?;
    let zone = zone.name().to_string();
    Some(if transition.is_forward() {
        let until = calendar_rule::to_datetime(transition.civil_after)?;
        Lint::SkippedByDst { civil, until, zone }
    } else {
        Lint::RepeatedByDst { civil, zone }
    })
}

fn lint_steps(schedule: &Schedule) -> Vec<Lint> {
    let texts = parse::strip_zone_prefix(schedule.text()).split_whitespace();
    CronField::ALL
        .into_iter()
        .zip(texts)
        .flat_map(|(field, text)| lint_field(field, text))
        .collect()
}

fn lint_field(field: CronField, text: &str) -> impl Iterator<Item = Lint> {
    let items = text.split(',').filter(|item| item.contains('/'));
    items.filter_map(move |item| lint_step(field, item))
}

fn lint_step(field: CronField, item: &str) -> Option<Lint> {
    let range = FieldRange::parse(item, field).ok()?;
    let (min, max) = parse::bounds(field);
    let length = max - min + 1;
    let step = range.step;
    if step >= length {
        return Some(Lint::StepBeyondField { field, item: item.into(), only: range.first });
    }
    let is_whole_field = range.first == min && range.last == max;
    let last_gap = length % step;
    if is_whole_field && last_gap != 0 {
        return Some(Lint::UnevenStep { field, item: item.into(), step, last_gap });
    }
    None
}

/// Reports an `@at` schedule whose civil time is skipped or repeated.
fn lint_at(schedule: &Schedule, at: Timestamp) -> Option<Lint> {
    let text = parse::strip_zone_prefix(schedule.text()).strip_prefix("@at ")?;
    let civil = parse::parse_civil(text)?;
    let zone = schedule.zone();
    if !zone.time_zone().to_ambiguous_timestamp(civil).is_ambiguous() {
        return None;
    }
    Some(Lint::AmbiguousTime { civil, slot: zone.at(at).datetime(), zone: zone.name().into() })
}
