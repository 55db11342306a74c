//! jiff-cron: `cron` ported to jiff, with the same grammar and the same rule for the day fields.

use std::str::FromStr;

use jiff::Zoned;
use jiff_cron::Schedule;

use super::{NEVER, Query, convert, count_until};
use crate::workload::{CountRange, Operation, WorkItem};

pub(super) fn prepare(item: &WorkItem) -> Option<Query> {
    let text = format!("0 {}", item.expression.named);
    let schedule = Schedule::from_str(&text).expect("the schedule is valid for jiff-cron");
    let zone = convert::jiff_zone(item.zone);
    let at = move |t| convert::jiff(&zone, t);
    Some(match item.operation {
        Operation::Next => Box::new(move |t| unix(schedule.after(at(t)).next())),
        // `next_back` finds times before its argument, so `t + 1` includes `t`.
        Operation::Latest => Box::new(move |t| unix(schedule.after(at(t + 1)).next_back())),
        Operation::Count(CountRange::Day) => Box::new(move |t| {
            let after = at(CountRange::Day.start(t));
            count_until(t, schedule.after(after).map(|slot| slot.timestamp().as_second()))
        }),
        _ => return None,
    })
}

fn unix(slot: Option<Zoned>) -> i64 {
    slot.map_or(NEVER, |slot| slot.timestamp().as_second())
}
