//! The values of the five fields of a calendar schedule, and their text in the grammar of CronJobs.
//!
//! In that grammar two restricted day fields are alternatives. cron and systemd can also require both.
//! Such a schedule is converted to its days of the month, and the command is run only on its weekdays.

use punctual_schedule::{Schedule, Zone};

/// A schedule in the grammar of CronJobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConvertedSchedule {
    /// The schedule.
    pub text: String,
    /// The weekdays on which the command runs, if the schedule alone cannot say it. Bit 0 is Sunday.
    pub only_weekdays: Option<u8>,
}

impl ConvertedSchedule {
    /// A schedule that has no restriction to weekdays.
    pub(crate) fn new(text: impl Into<String>) -> ConvertedSchedule {
        ConvertedSchedule { text: text.into(), only_weekdays: None }
    }

    /// Uses the text of the source if it has the same slots.
    pub(crate) fn prefer_source(self, source: &str, zone: &Zone) -> ConvertedSchedule {
        let is_same = Schedule::parse(source, zone)
            .is_ok_and(|parsed| Schedule::parse(&self.text, zone).is_ok_and(|own| own == parsed));
        if is_same { ConvertedSchedule { text: source.into(), ..self } } else { self }
    }
}

/// Which days match if both day fields are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DayFieldRule {
    /// The day must match both fields.
    Both,
    /// The day must match one of the fields.
    Either,
}

/// The values of the fields as bit sets. Bit n is the value n; Sunday is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CalendarFields {
    pub(crate) minutes: u64,
    pub(crate) hours: u64,
    pub(crate) days: u64,
    pub(crate) months: u64,
    pub(crate) weekdays: u64,
    pub(crate) day_field_rule: DayFieldRule,
}

pub(crate) const MINUTES: FieldBounds = FieldBounds { first: 0, last: 59 };
pub(crate) const HOURS: FieldBounds = FieldBounds { first: 0, last: 23 };
pub(crate) const DAYS: FieldBounds = FieldBounds { first: 1, last: 31 };
pub(crate) const MONTHS: FieldBounds = FieldBounds { first: 1, last: 12 };
pub(crate) const WEEKDAYS: FieldBounds = FieldBounds { first: 0, last: 6 };

/// The smallest and the largest value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FieldBounds {
    pub(crate) first: u64,
    pub(crate) last: u64,
}

impl FieldBounds {
    /// The set of all values.
    pub(crate) fn all(self) -> u64 {
        bits(self.first, self.last, 1)
    }

    /// Formats a set of values as a field.
    fn format(self, set: u64) -> String {
        if set == self.all() {
            return "*".into();
        }
        let values: Vec<u64> = (self.first..=self.last).filter(|n| set >> n & 1 == 1).collect();
        self.format_progression(&values).unwrap_or_else(|| format_list(&values))
    }

    /// Formats three or more values that have the same distance, which is above 1.
    fn format_progression(self, values: &[u64]) -> Option<String> {
        let [first, second, .., last] = values else { return None };
        let step = second - first;
        let is_even = values.windows(2).all(|pair| matches!(pair, [a, b] if b - a == step));
        if step < 2 || !is_even || values.len() < 3 {
            return None;
        }
        let is_whole = *first == self.first && last + step > self.last;
        Some(if is_whole { format!("*/{step}") } else { format!("{first}-{last}/{step}") })
    }
}

/// The set of the values from `first` to `last` with a step.
pub(crate) fn bits(first: u64, last: u64, step: u64) -> u64 {
    let values = (first..=last.min(63)).step_by(usize::try_from(step.max(1)).unwrap_or(64));
    values.fold(0, |set, value| set | 1 << value)
}

/// Formats values as a list of values and ranges of at least three.
fn format_list(values: &[u64]) -> String {
    let mut items: Vec<String> = Vec::new();
    let mut rest = values;
    while let Some(first) = rest.first() {
        let run = (0..).zip(rest).take_while(|(index, value)| **value == first + index).count();
        let (run, after) = rest.split_at(run.max(1));
        match run {
            [first, _, .., last] if run.len() > 2 => items.push(format!("{first}-{last}")),
            few => items.extend(few.iter().map(u64::to_string)),
        }
        rest = after;
    }
    items.join(",")
}

impl CalendarFields {
    /// Converts the fields into a schedule with the same slots, except for `only_weekdays`.
    pub(crate) fn convert(&self) -> ConvertedSchedule {
        let is_every_day = self.days == DAYS.all();
        let is_every_weekday = self.weekdays == WEEKDAYS.all();
        let either_is_all = is_every_day || is_every_weekday;
        let (days, weekdays, guard) = match self.day_field_rule {
            DayFieldRule::Either if either_is_all => (DAYS.all(), WEEKDAYS.all(), None),
            DayFieldRule::Both if !either_is_all => {
                (self.days, WEEKDAYS.all(), u8::try_from(self.weekdays).ok())
            }
            _ => (self.days, self.weekdays, None),
        };
        let text = format!(
            "{} {} {} {} {}",
            MINUTES.format(self.minutes),
            HOURS.format(self.hours),
            DAYS.format(days),
            MONTHS.format(self.months),
            WEEKDAYS.format(weekdays),
        );
        ConvertedSchedule { text, only_weekdays: guard }
    }
}

/// Returns the names of weekdays, such as `Monday and Friday`.
pub(crate) fn weekday_names(set: u8) -> String {
    const NAMES: [&str; 7] =
        ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
    let names = (0..).zip(NAMES).filter(|(index, _)| set >> index & 1 == 1);
    names.map(|(_, name)| name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_formatted_as_short_fields() {
        for (bounds, set, wanted) in [
            (MINUTES, bits(0, 59, 1), "*"),
            (MINUTES, bits(0, 59, 5), "*/5"),
            (MINUTES, bits(3, 43, 10), "3-43/10"),
            (MINUTES, bits(0, 0, 1) | bits(30, 30, 1), "0,30"),
            (HOURS, bits(8, 17, 1) | bits(20, 21, 1), "8-17,20,21"),
            (WEEKDAYS, bits(0, 6, 2), "*/2"),
            (DAYS, bits(31, 31, 1), "31"),
        ] {
            assert_eq!(bounds.format(set), wanted);
        }
    }
}
