//! The crate `cron`, with chrono. It has a seconds field, and a time must match both the day of the
//! month and the day of the week.

use std::str::FromStr;

use chrono::{DateTime, TimeZone, Utc};
use cron::Schedule;

use super::{NEVER, Query, convert, count_until};
use crate::workload::{BenchZone, CountRange, Operation, WorkItem};

pub(super) fn prepare(item: &WorkItem) -> Option<Query> {
    // Weekday numbers start at 1 for Sunday, so the text uses names.
    let text = format!("0 {}", item.expression.named);
    let schedule = Schedule::from_str(&text).expect("the schedule is valid for cron");
    match item.zone {
        BenchZone::Utc => prepare_in(schedule, item.operation, Utc),
        BenchZone::NewYork => prepare_in(schedule, item.operation, chrono_tz::America::New_York),
    }
}

fn prepare_in<Z: TimeZone + 'static>(
    schedule: Schedule,
    operation: Operation,
    zone: Z,
) -> Option<Query> {
    let at = move |t| convert::chrono(&zone, t);
    Some(match operation {
        Operation::Next => Box::new(move |t| unix(schedule.after(&at(t)).next())),
        // `next_back` finds times before its argument, so `t + 1` includes `t`.
        Operation::Latest => Box::new(move |t| unix(schedule.after(&at(t + 1)).next_back())),
        Operation::Count(CountRange::Day) => Box::new(move |t| {
            let after = at(CountRange::Day.start(t));
            count_until(t, schedule.after(&after).map(|slot| slot.timestamp()))
        }),
        _ => return None,
    })
}

fn unix<Z: TimeZone>(slot: Option<DateTime<Z>>) -> i64 {
    slot.map_or(NEVER, |slot| slot.timestamp())
}
