//! saffron: UTC only, and no way back.

use chrono::{DateTime, Utc};
use saffron::Cron;

use super::{Ask, Library, NEVER, count_until, instant};
use crate::workload::{Question, Row, Span, Zone};

pub(super) struct Saffron;

impl Library for Saffron {
    fn name(&self) -> &'static str {
        "saffron"
    }

    fn prepare(&self, row: &Row) -> Option<Ask> {
        if row.zone != Zone::Utc {
            return None;
        }
        // Weekdays are numbered from 1 for Sunday.
        let cron: Cron = row.expression.named.parse().expect("saffron reads its own dialect");
        Some(match row.question {
            Question::Next => Box::new(move |t| unix(cron.next_after(instant::chrono(&Utc, t)))),
            Question::Count(Span::Day) => Box::new(move |t| {
                let after = instant::chrono(&Utc, Span::Day.before(t));
                count_until(t, cron.clone().iter_after(after).map(|slot| slot.timestamp()))
            }),
            _ => return None,
        })
    }
}

fn unix(slot: Option<DateTime<Utc>>) -> i64 {
    slot.map_or(NEVER, |slot| slot.timestamp())
}
