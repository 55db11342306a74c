//! Formats the next slots (scheduled times) of a schedule as a table and as JSON.

use anyhow::{Context as _, anyhow};
use jiff::{SignedDuration, Timestamp, civil::DateTime};
use punctual_schedule::{Schedule, Zone};
pub(crate) use punctual_views::format_duration;
use serde::Serialize;

use crate::{args::SlotRange, clock, output};

/// One slot in UTC and in local time.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SlotRow {
    pub(crate) utc: String,
    pub(crate) local: String,
    /// Seconds from the start of the list to the slot.
    pub(crate) in_seconds: i64,
}

/// The slots that a command prints.
#[derive(Debug)]
pub(crate) struct SlotList {
    pub(crate) after: Timestamp,
    pub(crate) slots: Vec<SlotRow>,
    /// Whether the schedule has no slot after the last one listed.
    pub(crate) is_exhausted: bool,
}

impl SlotList {
    /// Lists the first `count` slots after `after`. Distances count from `after` too, so that the same
    /// arguments give the same output at any time.
    pub(crate) fn compute(schedule: &Schedule, after: Timestamp, count: u32) -> SlotList {
        let zone = schedule.zone();
        let slots: Vec<SlotRow> = schedule
            .after(after)
            .take(count as usize)
            .map(|slot| SlotRow::new(zone, slot, after))
            .collect();
        let is_exhausted = slots.len() < count as usize;
        SlotList { after, slots, is_exhausted }
    }

    /// Lists the slots that `--after` and `--count` select.
    pub(crate) fn from_args(schedule: &Schedule, range: &SlotRange) -> anyhow::Result<SlotList> {
        let after = match &range.after {
            Some(text) => parse_instant(text, schedule.zone())?,
            None => clock::now(),
        };
        Ok(SlotList::compute(schedule, after, range.count))
    }

    pub(crate) fn table(&self, zone: &Zone) -> String {
        let mut rows = vec![vec![format!("LOCAL ({})", zone.name()), "UTC".into(), "IN".into()]];
        for slot in &self.slots {
            let distance = format_duration(SignedDuration::from_secs(slot.in_seconds));
            rows.push(vec![format_local(&slot.local), slot.utc.clone(), distance]);
        }
        let mut text = if self.slots.is_empty() { String::new() } else { output::table(&rows) };
        if self.is_exhausted {
            text.push_str("no further slot\n");
        }
        text
    }
}

impl SlotRow {
    fn new(zone: &Zone, slot: Timestamp, after: Timestamp) -> SlotRow {
        SlotRow {
            utc: slot.to_string(),
            local: zone.at(slot).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
            in_seconds: slot.as_second() - after.as_second(),
        }
    }
}

/// Formats an RFC 3339 time as `Mon 2026-11-16 02:30:00 +01:00`.
pub(crate) fn format_local(local: &str) -> String {
    let (civil, offset) = local.split_at(local.len().saturating_sub(6));
    match civil.parse::<DateTime>() {
        Ok(time) => format!("{} {offset}", time.strftime("%a %Y-%m-%d %H:%M:%S")),
        Err(_) => local.into(),
    }
}

/// Parses an RFC 3339 instant, or a civil time in `zone`.
pub(crate) fn parse_instant(text: &str, zone: &Zone) -> anyhow::Result<Timestamp> {
    if let Ok(instant) = text.parse() {
        return Ok(instant);
    }
    let civil = text.parse::<DateTime>().ok();
    let zoned = civil.and_then(|civil| civil.to_zoned(zone.time_zone().clone()).ok());
    zoned.map(|zoned| zoned.timestamp()).with_context(|| {
        format!("{text:?} is not a time; write one like 2026-01-31T08:00:00Z or 2026-01-31T08:00")
    })
}

/// Parses the schedule that the arguments of a command line form together.
pub(crate) fn parse_schedule(args: &[String], zone: &Zone) -> anyhow::Result<Schedule> {
    let text = args.join(" ");
    Schedule::parse(&text, zone).map_err(|error| {
        let hint = Schedule::suggest(&text, zone).map(|hint| format!("; {hint}"));
        let hint = hint.unwrap_or_default();
        match error.field() {
            Some(field) => anyhow!("schedule {text:?}, {field} field: {error}{hint}"),
            None => anyhow!("schedule {text:?}: {error}{hint}"),
        }
    })
}

#[cfg(test)]
mod tests {
    use punctual_schedule::Zones;

    use super::*;

    #[test]
    fn distances_count_from_the_start_of_the_list() {
        let schedule = Schedule::parse("0 * * * *", &Zones::bundled().utc()).unwrap();
        let after = "2001-01-01T00:59:30Z".parse().unwrap();
        let list = SlotList::compute(&schedule, after, 2);
        let distances: Vec<i64> = list.slots.iter().map(|slot| slot.in_seconds).collect();
        assert_eq!(distances, [30, 3_630]);
    }
}
