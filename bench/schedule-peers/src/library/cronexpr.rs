//! cronexpr with jiff. It does not search backwards.

use std::iter;

use cronexpr::{Crontab, MakeTimestamp};
use jiff::Timestamp;

use super::{NEVER, Query, convert::timestamp, count_until};
use crate::workload::{CountRange, Operation, WorkItem};

pub(super) fn prepare(item: &WorkItem) -> Option<Query> {
    // The zone is part of the text.
    let text = format!("{} {}", item.expression.text, item.zone.name());
    let crontab = cronexpr::parse_crontab(&text).expect("the schedule is valid for cronexpr");
    Some(match item.operation {
        Operation::Next => {
            Box::new(move |t| next(&crontab, timestamp(t)).map_or(NEVER, Timestamp::as_second))
        }
        // The same as its iterator, without the iterator's copy of the schedule.
        Operation::Count(CountRange::Day) => Box::new(move |t| {
            let mut slot = timestamp(CountRange::Day.start(t));
            let slots = iter::from_fn(|| {
                slot = next(&crontab, slot)?;
                Some(slot.as_second())
            });
            count_until(t, slots)
        }),
        _ => return None,
    })
}

fn next(crontab: &Crontab, after: Timestamp) -> Option<Timestamp> {
    crontab.find_next(MakeTimestamp(after)).ok().map(|slot| slot.timestamp())
}
