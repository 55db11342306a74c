//! cron with chrono. It has a seconds field, and both day fields must match.

use std::str::FromStr;

use chrono::{DateTime, TimeZone, Utc};
use cron::Schedule;

use super::{Library, NEVER, Query, convert, count_until};
use crate::workload::{BenchZone, CountRange, Operation, WorkItem};

pub(super) struct CronCrate;

impl Library for CronCrate {
    fn name(&self) -> &'static str {
        "cron"
    }

    fn prepare(&self, item: &WorkItem) -> Option<Query> {
        // Weekday numbers start at 1 for Sunday, so the text uses names.
        let text = format!("0 {}", item.expression.named);
        let schedule = Schedule::from_str(&text).expect("the schedule is valid for cron");
        match item.zone {
            BenchZone::Utc => prepare(schedule, item.operation, Utc),
            BenchZone::NewYork => prepare(schedule, item.operation, chrono_tz::America::New_York),
        }
    }
}

fn prepare<Z: TimeZone + 'static>(
    schedule: Schedule,
    operation: Operation,
    zone: Z,
) -> Option<Query> {
    let at = move |t| convert::chrono(&zone, t);
    Some(match operation {
        Operation::Next => Box::new(move |t| unix(schedule.after(&at(t)).next())),
        // It searches strictly before a whole second, so `t + 1` includes `t`.
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
