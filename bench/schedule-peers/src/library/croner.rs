//! croner, once on chrono and once on jiff.

use std::{iter, str::FromStr};

use chrono::{TimeZone, Utc};
use croner::{Cron, CronDateTime};

use super::{Ask, Library, NEVER, count_until, instant};
use crate::workload::{Question, Row, Span, Zone};

pub(super) struct CronerChrono;

impl Library for CronerChrono {
    fn name(&self) -> &'static str {
        "croner"
    }

    fn prepare(&self, row: &Row) -> Option<Ask> {
        match row.zone {
            Zone::Utc => on_chrono(row, Utc),
            Zone::NewYork => on_chrono(row, chrono_tz::America::New_York),
        }
    }
}

pub(super) struct CronerJiff;

impl Library for CronerJiff {
    fn name(&self) -> &'static str {
        "croner-jiff"
    }

    fn package(&self) -> &'static str {
        "croner"
    }

    fn prepare(&self, row: &Row) -> Option<Ask> {
        let zone = instant::jiff_zone(row.zone);
        prepare(row, move |t| instant::jiff(&zone, t), |slot| slot.timestamp().as_second())
    }
}

fn on_chrono<Z: TimeZone + 'static>(row: &Row, zone: Z) -> Option<Ask> {
    prepare(row, move |t| instant::chrono(&zone, t), |slot| slot.timestamp())
}

fn prepare<T: CronDateTime + 'static>(
    row: &Row,
    at: impl Fn(i64) -> T + 'static,
    unix: impl Fn(&T) -> i64 + Copy + 'static,
) -> Option<Ask> {
    let cron = Cron::from_str(row.expression.text).expect("croner reads the usual dialect");
    Some(match row.question {
        Question::Next => Box::new(move |t| {
            cron.find_next_occurrence(&at(t), false).map_or(NEVER, |slot| unix(&slot))
        }),
        Question::Latest => Box::new(move |t| {
            cron.find_previous_occurrence(&at(t), true).map_or(NEVER, |slot| unix(&slot))
        }),
        // What its iterator does, without the copy of the schedule that the iterator makes.
        Question::Count(Span::Day) => Box::new(move |t| {
            let mut slot = at(Span::Day.before(t));
            let slots = iter::from_fn(|| {
                slot = cron.find_next_occurrence(&slot, false).ok()?;
                Some(unix(&slot))
            });
            count_until(t, slots)
        }),
        _ => return None,
    })
}
