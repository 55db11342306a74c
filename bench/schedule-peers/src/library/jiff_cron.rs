//! jiff-cron: `cron` made over for jiff, with the same dialect and the same rule for days.

use std::str::FromStr;

use jiff::Zoned;
use jiff_cron::Schedule;

use super::{Ask, Library, NEVER, count_until, instant};
use crate::workload::{Question, Row, Span};

pub(super) struct JiffCron;

impl Library for JiffCron {
    fn name(&self) -> &'static str {
        "jiff-cron"
    }

    fn prepare(&self, row: &Row) -> Option<Ask> {
        let text = format!("0 {}", row.expression.named);
        let schedule = Schedule::from_str(&text).expect("jiff-cron reads its own dialect");
        let zone = instant::jiff_zone(row.zone);
        let at = move |t| instant::jiff(&zone, t);
        Some(match row.question {
            Question::Next => Box::new(move |t| unix(schedule.after(at(t)).next())),
            // Strictly before a whole second, as in `cron`.
            Question::Latest => Box::new(move |t| unix(schedule.after(at(t + 1)).next_back())),
            Question::Count(Span::Day) => Box::new(move |t| {
                let after = at(Span::Day.before(t));
                count_until(t, schedule.after(after).map(|slot| slot.timestamp().as_second()))
            }),
            _ => return None,
        })
    }
}

fn unix(slot: Option<Zoned>) -> i64 {
    slot.map_or(NEVER, |slot| slot.timestamp().as_second())
}
