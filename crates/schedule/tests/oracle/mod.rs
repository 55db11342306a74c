//! A slow reference implementation: it checks the civil time of every minute.
//!
//! It uses nothing of the library. Expressions are generated together with their values, so the
//! parser is checked as well.

pub(crate) mod rng;

use std::ops::RangeInclusive;

use jiff::{Timestamp, civil::DateTime, tz::TimeZone};

use rng::TestRng;

/// The text of a field and its values.
#[derive(Clone, Debug)]
pub(crate) struct FieldSample {
    pub(crate) text: String,
    values: Vec<bool>,
    star: bool,
}

/// The five fields of a random schedule.
#[derive(Clone, Debug)]
pub(crate) struct Expression {
    pub(crate) minute: FieldSample,
    pub(crate) hour: FieldSample,
    pub(crate) day_of_month: FieldSample,
    pub(crate) month: FieldSample,
    pub(crate) day_of_week: FieldSample,
}

impl Expression {
    /// Generates an expression that often matches near the given civil time.
    pub(crate) fn random(rng: &mut TestRng, near: DateTime) -> Expression {
        let weekday = near.weekday().to_sunday_zero_offset() as u64;
        Expression {
            minute: FieldSample::random(rng, 0, 59, near.minute() as u64),
            hour: FieldSample::random(rng, 0, 23, near.hour() as u64),
            day_of_month: FieldSample::random_day(rng, 1, 31, near.day() as u64),
            month: FieldSample::random_day(rng, 1, 12, near.month() as u64),
            day_of_week: FieldSample::random_day(rng, 0, 6, weekday),
        }
    }

    pub(crate) fn text(&self) -> String {
        let fields = [&self.minute, &self.hour, &self.day_of_month, &self.month, &self.day_of_week];
        fields.map(|field| field.text.as_str()).join(" ")
    }

    pub(crate) fn matches(&self, civil: DateTime) -> bool {
        let on_day = self.day_of_month.has(civil.day() as u64);
        let on_weekday = self.day_of_week.has(civil.weekday().to_sunday_zero_offset() as u64);
        let day_matches = if self.day_of_month.star || self.day_of_week.star {
            on_day && on_weekday
        } else {
            on_day || on_weekday
        };
        day_matches
            && self.month.has(civil.month() as u64)
            && self.hour.has(civil.hour() as u64)
            && self.minute.has(civil.minute() as u64)
    }
}

impl FieldSample {
    fn has(&self, value: u64) -> bool {
        self.values[value as usize]
    }

    /// Generates mostly stars, so that most random schedules have slots.
    fn random_day(rng: &mut TestRng, min: u64, max: u64, near: u64) -> FieldSample {
        if rng.below(3) > 0 {
            FieldSample::star()
        } else {
            FieldSample::random(rng, min, max, near)
        }
    }

    fn star() -> FieldSample {
        FieldSample { text: "*".into(), values: vec![true; 64], star: true }
    }

    fn random(rng: &mut TestRng, min: u64, max: u64, near: u64) -> FieldSample {
        let mut field = FieldSample { text: String::new(), values: vec![false; 64], star: false };
        for item in 0..=rng.below(3).saturating_sub(1) {
            if item > 0 {
                field.text.push(',');
            }
            field.add_item(rng, min..=max, near);
        }
        field
    }

    fn add_item(&mut self, rng: &mut TestRng, bounds: RangeInclusive<u64>, near: u64) {
        let min = *bounds.start();
        let max = *bounds.end();
        let value = if rng.below(2) == 0 { near } else { min + rng.below(max - min + 1) };
        let last = value + rng.below(max - value + 1);
        let step = rng.pick(&[1, 2, 3, 5, 7, 15, 20, 61]);
        let (text, first, last, step) = match rng.below(6) {
            0 => ("*".into(), min, max, 1),
            1 => (format!("*/{step}"), min, max, step),
            2 => (format!("{value}/{step}"), value, max, step),
            3 => (format!("{value}-{last}"), value, last, 1),
            4 => (format!("{value}-{last}/{step}"), value, last, step),
            _ => (value.to_string(), value, value, 1),
        };
        self.star |= text.starts_with('*') && step == 1;
        self.text.push_str(&text);
        for value in (first..=last).step_by(step as usize) {
            self.values[value as usize] = true;
        }
    }
}

/// Returns the matching Unix minutes of a window by checking each of them.
pub(crate) fn slots(
    expression: &Expression,
    zone: &TimeZone,
    window: std::ops::Range<i64>,
) -> Vec<i64> {
    window.filter(|minute| expression.matches(civil(zone, *minute))).collect()
}

/// Returns the civil time of a zone at a Unix minute.
pub(crate) fn civil(zone: &TimeZone, minute: i64) -> DateTime {
    zone.to_datetime(instant(minute))
}

pub(crate) fn instant(minute: i64) -> Timestamp {
    Timestamp::from_second(minute * 60).expect("within jiff's range")
}
