//! cron, on chrono. It has a field for seconds and ANDs the two day fields.

use std::str::FromStr;

use chrono::{DateTime, TimeZone, Utc};
use cron::Schedule;

use super::{Ask, Library, NEVER, count_until, instant};
use crate::workload::{Question, Row, Span, Zone};

pub(super) struct CronCrate;

impl Library for CronCrate {
    fn name(&self) -> &'static str {
        "cron"
    }

    fn prepare(&self, row: &Row) -> Option<Ask> {
        // Weekdays are numbered from 1 for Sunday.
        let text = format!("0 {}", row.expression.named);
        let schedule = Schedule::from_str(&text).expect("cron reads its own dialect");
        match row.zone {
            Zone::Utc => prepare(schedule, row.question, Utc),
            Zone::NewYork => prepare(schedule, row.question, chrono_tz::America::New_York),
        }
    }
}

fn prepare<Z: TimeZone + 'static>(schedule: Schedule, question: Question, zone: Z) -> Option<Ask> {
    let at = move |t| instant::chrono(&zone, t);
    Some(match question {
        Question::Next => Box::new(move |t| unix(schedule.after(&at(t)).next())),
        // It looks strictly before a whole second, so the second after `t` asks for `t` as well.
        Question::Latest => Box::new(move |t| unix(schedule.after(&at(t + 1)).next_back())),
        Question::Count(Span::Day) => Box::new(move |t| {
            let after = at(Span::Day.before(t));
            count_until(t, schedule.after(&after).map(|slot| slot.timestamp()))
        }),
        _ => return None,
    })
}

fn unix<Z: TimeZone>(slot: Option<DateTime<Z>>) -> i64 {
    slot.map_or(NEVER, |slot| slot.timestamp())
}
