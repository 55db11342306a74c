//! saffron. It supports UTC only and does not search backwards.

use chrono::{DateTime, Utc};
use saffron::Cron;

use super::{NEVER, Query, convert, count_until};
use crate::workload::{BenchZone, CountRange, Operation, WorkItem};

pub(super) fn prepare(item: &WorkItem) -> Option<Query> {
    if item.zone != BenchZone::Utc {
        return None;
    }
    // Weekday numbers start at 1 for Sunday, so the text uses names.
    let cron: Cron = item.expression.named.parse().expect("the schedule is valid for saffron");
    Some(match item.operation {
        Operation::Next => Box::new(move |t| unix(cron.next_after(convert::chrono(&Utc, t)))),
        Operation::Count(CountRange::Day) => Box::new(move |t| {
            let after = convert::chrono(&Utc, CountRange::Day.start(t));
            count_until(t, cron.clone().iter_after(after).map(|slot| slot.timestamp()))
        }),
        _ => return None,
    })
}

fn unix(slot: Option<DateTime<Utc>>) -> i64 {
    slot.map_or(NEVER, |slot| slot.timestamp())
}
