//! croner with chrono and with jiff.

use std::{iter, str::FromStr};

use chrono::{TimeZone, Utc};
use croner::{Cron, CronDateTime};

use super::{NEVER, Query, convert, count_until};
use crate::workload::{BenchZone, CountRange, Operation, WorkItem};

pub(super) fn prepare_chrono(item: &WorkItem) -> Option<Query> {
    match item.zone {
        BenchZone::Utc => on_chrono(item, Utc),
        BenchZone::NewYork => on_chrono(item, chrono_tz::America::New_York),
    }
}

pub(super) fn prepare_jiff(item: &WorkItem) -> Option<Query> {
    let zone = convert::jiff_zone(item.zone);
    prepare(item, move |t| convert::jiff(&zone, t), |slot| slot.timestamp().as_second())
}

fn on_chrono<Z: TimeZone + 'static>(item: &WorkItem, zone: Z) -> Option<Query> {
    prepare(item, move |t| convert::chrono(&zone, t), |slot| slot.timestamp())
}

fn prepare<T: CronDateTime + 'static>(
    item: &WorkItem,
    at: impl Fn(i64) -> T + 'static,
    unix: impl Fn(&T) -> i64 + Copy + 'static,
) -> Option<Query> {
    let cron = Cron::from_str(item.expression.text).expect("the schedule is valid for croner");
    Some(match item.operation {
        Operation::Next => Box::new(move |t| {
            cron.find_next_occurrence(&at(t), false).map_or(NEVER, |slot| unix(&slot))
        }),
        Operation::Latest => Box::new(move |t| {
            cron.find_previous_occurrence(&at(t), true).map_or(NEVER, |slot| unix(&slot))
        }),
        // Equivalent to `iter_after`, which would clone the schedule.
        Operation::Count(CountRange::Day) => Box::new(move |t| {
            let mut slot = at(CountRange::Day.start(t));
            let slots = iter::from_fn(|| {
                slot = cron.find_next_occurrence(&slot, false).ok()?;
                Some(unix(&slot))
            });
            count_until(t, slots)
        }),
        _ => return None,
    })
}
