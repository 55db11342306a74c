//! `punctual next --stdin`: answers a stream of requests, one JSON object per line.

use anyhow::{Context as _, bail, ensure};
use jiff::Timestamp;
use punctual_schedule::{Schedule, Zone};
use serde::{Deserialize, Serialize};

use crate::{
    args::{COUNT_MAX, NextArgs, SlotRange},
    clock, slots,
    stdin_lines::{self, LineAnswer},
};

const EXPECTED: &str = "expected an object like {\"expr\":\"0 9 * * *\",\"tz\":\"Europe/Berlin\"}";

/// One request. Unknown keys are ignored so that a recorded reply can be sent again as a request.
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
        let slots = line.and_then(|line| answer(&line, &args.range, zone));
        let reply = match slots {
            Ok(slots) => NextReply::Next(slots),
            Err(error) => NextReply::Error(format!("{error:#}")),
        };
        let is_failure = matches!(reply, NextReply::Error(_));
        Ok(LineAnswer { text: stdin_lines::to_json_line(&reply)?, is_failure })
    })
}

fn read_request(line: &[u8]) -> anyhow::Result<NextRequest> {
    // serde also accepts an array of the field values.
    if !line.trim_ascii_start().starts_with(b"{") {
        bail!(EXPECTED);
    }
    serde_json::from_slice(line).context(EXPECTED)
}

fn answer(line: &[u8], defaults: &SlotRange, default_zone: &Zone) -> anyhow::Result<Vec<String>> {
    let request = read_request(line)?;
    let count = request.count.unwrap_or(defaults.count);
    ensure!(count <= COUNT_MAX, "count must be at most {COUNT_MAX}, not {count}");
    let zone = match &request.tz {
        Some(name) => default_zone.zones().get(name)?,
        None => default_zone.clone(),
    };
    let schedule = Schedule::parse(&request.expr, &zone)?;
    let after = match request.after.as_ref().or(defaults.after.as_ref()) {
        Some(text) => slots::parse_instant(text, schedule.zone())?,
        None => clock::now(),
    };
    Ok(next_slots(&schedule, after, count as usize))
}

/// Returns up to `count` slots. If the schedule has fewer, an empty string follows the last slot.
fn next_slots(schedule: &Schedule, after: Timestamp, count: usize) -> Vec<String> {
    let slots = schedule.after(after).map(|slot| slot.to_string());
    slots.chain([String::new()]).take(count).collect()
}
