//! cronexpr, on jiff. It has no way back.

use std::iter;

use cronexpr::{Crontab, MakeTimestamp};
use jiff::Timestamp;

use super::{Ask, Library, NEVER, count_until, instant::timestamp};
use crate::workload::{Question, Row, Span};

pub(super) struct Cronexpr;

impl Library for Cronexpr {
    fn name(&self) -> &'static str {
        "cronexpr"
    }

    fn prepare(&self, row: &Row) -> Option<Ask> {
        // The zone is part of the text.
        let text = format!("{} {}", row.expression.text, row.zone.name());
        let crontab = cronexpr::parse_crontab(&text).expect("cronexpr reads the usual dialect");
        Some(match row.question {
            Question::Next => {
                Box::new(move |t| next(&crontab, timestamp(t)).map_or(NEVER, Timestamp::as_second))
            }
            // What its iterator does, without the copy of the schedule that the iterator makes.
            Question::Count(Span::Day) => Box::new(move |t| {
                let mut slot = timestamp(Span::Day.before(t));
                let slots = iter::from_fn(|| {
                    slot = next(&crontab, slot)?;
                    Some(slot.as_second())
                });
                count_until(t, slots)
            }),
            _ => return None,
        })
    }
}

fn next(crontab: &Crontab, after: Timestamp) -> Option<Timestamp> {
    crontab.find_next(MakeTimestamp(after)).ok().map(|slot| slot.timestamp())
}
