//! The rule itself, slowly: look at the clock on the wall every minute.
//!
//! Nothing of the library is used here. Expressions are made together with the values they stand
//! for, so that the parser is checked as well.

pub(crate) mod dice;

use jiff::{Timestamp, civil::DateTime, tz::TimeZone};

use dice::Dice;

/// A field: its text, and what it stands for.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) text: String,
    values: Vec<bool>,
    star: bool,
}

/// Five fields.
#[derive(Clone, Debug)]
pub(crate) struct Expression {
    pub(crate) minute: Field,
    pub(crate) hour: Field,
    pub(crate) day_of_month: Field,
    pub(crate) month: Field,
    pub(crate) day_of_week: Field,
}

impl Expression {
    /// A random expression that often has something to do with the given civil time.
    pub(crate) fn random(dice: &mut Dice, near: DateTime) -> Expression {
        let weekday = near.weekday().to_sunday_zero_offset() as u64;
        Expression {
            minute: Field::random(dice, 0, 59, near.minute() as u64),
            hour: Field::random(dice, 0, 23, near.hour() as u64),
            day_of_month: Field::random_day(dice, 1, 31, near.day() as u64),
            month: Field::random_day(dice, 1, 12, near.month() as u64),
            day_of_week: Field::random_day(dice, 0, 6, weekday),
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

impl Field {
    fn has(&self, value: u64) -> bool {
        self.values[value as usize]
    }

    /// Mostly a star, so that schedules with random times are not too rare.
    fn random_day(dice: &mut Dice, min: u64, max: u64, near: u64) -> Field {
        if dice.below(3) > 0 { Field::star() } else { Field::random(dice, min, max, near) }
    }

    fn star() -> Field {
        Field { text: "*".into(), values: vec![true; 64], star: true }
    }

    fn random(dice: &mut Dice, min: u64, max: u64, near: u64) -> Field {
        let mut field = Field { text: String::new(), values: vec![false; 64], star: false };
        for item in 0..=dice.below(3).saturating_sub(1) {
            if item > 0 {
                field.text.push(',');
            }
            field.add_item(dice, (min, max), near);
        }
        field
    }

    fn add_item(&mut self, dice: &mut Dice, (min, max): (u64, u64), near: u64) {
        let value = if dice.below(2) == 0 { near } else { min + dice.below(max - min + 1) };
        let last = value + dice.below(max - value + 1);
        let step = dice.pick(&[1, 2, 3, 5, 7, 15, 20, 61]);
        let (text, first, last, step) = match dice.below(6) {
            0 => ("*".into(), min, max, 1),
            1 => (format!("*/{step}"), min, max, step),
            2 => (format!("{value}/{step}"), value, max, step),
            3 => (format!("{value}-{last}"), value, last, 1),
            4 => (format!("{value}-{last}/{step}"), value, last, step),
            _ => (value.to_string(), value, value, 1),
        };
        self.star |= text.starts_with('*') && step == 1;
        self.text.push_str(&text);
        (first..=last).step_by(step as usize).for_each(|value| self.values[value as usize] = true);
    }
}

/// The Unix minutes of a window that match, found by looking at each of them.
pub(crate) fn slots(
    expression: &Expression,
    zone: &TimeZone,
    window: std::ops::Range<i64>,
) -> Vec<i64> {
    window.filter(|minute| expression.matches(civil(zone, *minute))).collect()
}

/// What the clocks of a zone show at a Unix minute.
pub(crate) fn civil(zone: &TimeZone, minute: i64) -> DateTime {
    zone.to_datetime(instant(minute))
}

pub(crate) fn instant(minute: i64) -> Timestamp {
    Timestamp::from_second(minute * 60).expect("within jiff's range")
}
