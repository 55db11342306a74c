//! The five fields of a crontab line, with the rules of Vixie cron and cronie.
//!
//! These rules differ from those of CronJobs: Sunday is also 7, a day must match both day fields if one
//! of them begins with `*` (also `*/2`), and a single value has no step.

use crate::calendar_fields::{
    CalendarFields, DAYS, DayFieldRule, FieldBounds, HOURS, MINUTES, MONTHS, WEEKDAYS, bits,
};

const MONTH_NAMES: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAY_NAMES: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// The error of a field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CronFieldError {
    #[error("the {field} field {text:?} is not valid")]
    Syntax { field: &'static str, text: String },
    #[error("{value} in the {field} field is not between {first} and {last}")]
    OutOfRange { field: &'static str, value: u64, first: u64, last: u64 },
    #[error(
        "the range {text:?} of the {field} field ends before it begins; cron does not wrap around, \
         so write it as a list"
    )]
    Backwards { field: &'static str, text: String },
    #[error(
        "cron programs disagree on {text:?} in the {field} field: cronie rejects it, Vixie cron \
         ignores the step, others repeat to the end; write {first} or {first}-{last}/N"
    )]
    StepOfValue { field: &'static str, text: String, first: u64, last: u64 },
    #[error(
        "the random value {text:?} of the {field} field is chosen when cron starts; write a fixed \
         value, or set a jitter"
    )]
    Random { field: &'static str, text: String },
    #[error("the step of {text:?} in the {field} field is not a positive number")]
    Step { field: &'static str, text: String },
    #[error(
        "{text:?} in the {field} field is not a name; cron knows names of three letters, such as \
         {example}"
    )]
    Name { field: &'static str, text: String, example: &'static str },
}

/// One of the fields of a line.
#[derive(Clone, Copy)]
struct CronFieldRules {
    name: &'static str,
    bounds: FieldBounds,
    names: &'static [&'static str],
}

/// Weekdays may be 7 for Sunday.
const WEEKDAYS_WITH_7: FieldBounds = FieldBounds { first: 0, last: 7 };

const MINUTE: CronFieldRules = CronFieldRules { name: "minute", bounds: MINUTES, names: &[] };
const HOUR: CronFieldRules = CronFieldRules { name: "hour", bounds: HOURS, names: &[] };
const DAY: CronFieldRules = CronFieldRules { name: "day-of-month", bounds: DAYS, names: &[] };
const MONTH: CronFieldRules = CronFieldRules { name: "month", bounds: MONTHS, names: &MONTH_NAMES };
const WEEKDAY: CronFieldRules =
    CronFieldRules { name: "day-of-week", bounds: WEEKDAYS_WITH_7, names: &WEEKDAY_NAMES };

/// Parses the five fields.
pub(crate) fn parse(fields: [&str; 5]) -> Result<CalendarFields, CronFieldError> {
    let [minutes, hours, days, months, weekdays] = fields;
    let has_star = days.starts_with('*') || weekdays.starts_with('*');
    let weekday_set = WEEKDAY.parse(weekdays)?;
    Ok(CalendarFields {
        minutes: MINUTE.parse(minutes)?,
        hours: HOUR.parse(hours)?,
        days: DAY.parse(days)?,
        months: MONTH.parse(months)?,
        weekdays: (weekday_set | weekday_set >> 7) & WEEKDAYS.all(),
        day_field_rule: if has_star { DayFieldRule::Both } else { DayFieldRule::Either },
    })
}

impl CronFieldRules {
    fn parse(self, text: &str) -> Result<u64, CronFieldError> {
        text.split(',').try_fold(0, |set, item| Ok(set | self.parse_item(item)?))
    }

    fn parse_item(self, item: &str) -> Result<u64, CronFieldError> {
        if item.contains('~') {
            return Err(CronFieldError::Random { field: self.name, text: item.into() });
        }
        let (range, step) = match item.split_once('/') {
            Some((range, step)) => (range, Some(self.parse_step(step, item)?)),
            None => (item, None),
        };
        let FieldBounds { first, last } = self.bounds;
        if range == "*" {
            return Ok(bits(first, last, step.unwrap_or(1)));
        }
        let Some((from, to)) = range.split_once('-') else {
            let value = self.parse_value(range)?;
            if step.is_some() {
                let field = self.name;
                return Err(CronFieldError::StepOfValue {
                    field,
                    text: item.into(),
                    first: value,
                    last,
                });
            }
            return Ok(bits(value, value, 1));
        };
        let from = self.parse_value(from)?;
        let to = self.parse_value(to)?;
        if from > to {
            return Err(CronFieldError::Backwards { field: self.name, text: item.into() });
        }
        Ok(bits(from, to, step.unwrap_or(1)))
    }

    fn parse_step(self, step: &str, item: &str) -> Result<u64, CronFieldError> {
        let number = parse_number(step).filter(|step| *step > 0);
        number.ok_or_else(|| CronFieldError::Step { field: self.name, text: item.into() })
    }

    fn parse_value(self, text: &str) -> Result<u64, CronFieldError> {
        let field = self.name;
        let FieldBounds { first, last } = self.bounds;
        if let Some(value) = parse_number(text) {
            if value < first || value > last {
                return Err(CronFieldError::OutOfRange { field, value, first, last });
            }
            return Ok(value);
        }
        let named = self.names.iter().position(|name| name.eq_ignore_ascii_case(text));
        if let Some(index) = named {
            return Ok(first + index as u64);
        }
        match self.names.first() {
            Some(example) if text.chars().all(char::is_alphabetic) && !text.is_empty() => {
                Err(CronFieldError::Name { field, text: text.into(), example })
            }
            _ => Err(CronFieldError::Syntax { field, text: text.into() }),
        }
    }
}

/// Parses digits without a sign.
fn parse_number(text: &str) -> Option<u64> {
    let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_digits { text.parse().ok() } else { None }
}
