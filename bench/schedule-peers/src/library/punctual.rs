//! Our library, punctual-schedule, behind the common interface.

use jiff::Timestamp;
use punctual_schedule::{Schedule, Zones};

use super::{NEVER, Query, convert::timestamp};
use crate::workload::{Operation, WorkItem};

pub(super) fn prepare(item: &WorkItem) -> Option<Query> {
    let zone = Zones::bundled().get(item.zone.name()).expect("the bundled database has the zone");
    let schedule = Schedule::parse(item.expression.text, &zone).expect("the schedule is valid");
    Some(match item.operation {
        Operation::Next => Box::new(move |t| unix(schedule.next_after(timestamp(t)))),
        Operation::Latest => Box::new(move |t| unix(schedule.latest_at_or_before(timestamp(t)))),
        Operation::LatestSince1970 => {
            Box::new(move |t| unix(schedule.latest_in(Timestamp::UNIX_EPOCH, timestamp(t))))
        }
        Operation::Count(range) => {
            Box::new(move |t| schedule.count_in(timestamp(range.start(t)), timestamp(t)) as i64)
        }
    })
}

fn unix(slot: Option<Timestamp>) -> i64 {
    slot.map_or(NEVER, Timestamp::as_second)
}
