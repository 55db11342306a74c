//! `punctual next --stdin`: a request a line, an answer a line, for programs that ask a lot.

use jiff::Timestamp;
use punctual_schedule::{Schedule, Zone};
use serde::{Deserialize, Serialize};

use crate::{
    args::{COUNT_MAX, NextArgs, SlotRange},
    clock, slots, stdin_lines,
};

/// Keys that we do not know are passed over, so that a recorded answer can be asked again.
#[derive(Deserialize)]
struct NextRequest {
    expr: String,
    tz: Option<String>,
    after: Option<String>,
    count: Option<u32>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum NextReply {
    Next(Vec<String>),
    Error(String),
}

pub(crate) fn run(args: &NextArgs, zone: &Zone) -> anyhow::Result<()> {
    stdin_lines::answer_each(|line| {
        let answer = line.and_then(|line| answer(&line, &args.range, zone));
        stdin_lines::to_json_line(&answer.map_or_else(NextReply::Error, NextReply::Next))
    })
}

fn read_request(line: &[u8]) -> Result<NextRequest, String> {
    let wanted = "expected an object like {\"expr\":\"0 9 * * *\",\"tz\":\"Europe/Berlin\"}";
    // serde would take an array of the values as well.
    if !line.trim_ascii_start().starts_with(b"{") {
        return Err(wanted.into());
    }
    serde_json::from_slice(line).map_err(|error| format!("{wanted}: {error}"))
}

fn answer(line: &[u8], defaults: &SlotRange, default_zone: &Zone) -> Result<Vec<String>, String> {
    let request = read_request(line)?;
    let count = request.count.unwrap_or(defaults.count);
    if count > COUNT_MAX {
        return Err(format!("count must be at most {COUNT_MAX}, not {count}"));
    }
    let zone = match &request.tz {
        Some(name) => default_zone.zones().get(name).map_err(|error| error.to_string())?,
        None => default_zone.clone(),
    };
    let schedule = Schedule::parse(&request.expr, &zone).map_err(|error| error.to_string())?;
    let after = match request.after.as_ref().or(defaults.after.as_ref()) {
        Some(text) => slots::parse_instant(text, schedule.zone())?,
        None => clock::now(),
    };
    Ok(next_slots(&schedule, after, count as usize))
}

/// Up to so many slots, and an empty string behind the last one there is.
fn next_slots(schedule: &Schedule, after: Timestamp, count: usize) -> Vec<String> {
    let slots = schedule.after(after).map(|slot| slot.to_string());
    slots.chain([String::new()]).take(count).collect()
}
