//! This project's own library.

use jiff::Timestamp;
use punctual_schedule::{Schedule, Zones};

use super::{Ask, Library, NEVER, instant::timestamp};
use crate::workload::{Question, Row};

pub(super) struct Punctual;

impl Library for Punctual {
    fn name(&self) -> &'static str {
        "punctual"
    }

    fn package(&self) -> &'static str {
        "punctual-schedule"
    }

    fn prepare(&self, row: &Row) -> Option<Ask> {
        let zone = Zones::bundled().get(row.zone.name()).expect("the bundled database is complete");
        let schedule = Schedule::parse(row.expression.text, &zone).expect("the texts are valid");
        Some(match row.question {
            Question::Next => Box::new(move |t| unix(schedule.next_after(timestamp(t)))),
            Question::Latest => Box::new(move |t| unix(schedule.latest_at_or_before(timestamp(t)))),
            Question::LatestSince1970 => {
                Box::new(move |t| unix(schedule.latest_in(Timestamp::UNIX_EPOCH, timestamp(t))))
            }
            Question::Count(span) => {
                Box::new(move |t| schedule.count_in(timestamp(span.before(t)), timestamp(t)) as i64)
            }
        })
    }
}

fn unix(slot: Option<Timestamp>) -> i64 {
    slot.map_or(NEVER, Timestamp::as_second)
}
