//! The coming slots of a schedule, for people and for programs.

use anyhow::anyhow;
use jiff::{SignedDuration, Timestamp, civil::DateTime};
use punctual_schedule::{Schedule, Zone};
use serde::Serialize;

use crate::{args::SlotRange, clock, output};

/// A slot in both clocks, and how far off it is.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SlotRow {
    pub(crate) utc: String,
    pub(crate) local: String,
    pub(crate) in_seconds: i64,
}

/// The slots that a command was asked for.
#[derive(Debug)]
pub(crate) struct SlotList {
    pub(crate) after: Timestamp,
    pub(crate) slots: Vec<SlotRow>,
    /// There is no further slot behind the last one.
    pub(crate) is_exhausted: bool,
}

impl SlotList {
    /// Distances are from `now`, wherever the slots begin.
    pub(crate) fn compute(
        schedule: &Schedule,
        after: Timestamp,
        count: u32,
        now: Timestamp,
    ) -> SlotList {
        let zone = schedule.zone();
        let slots: Vec<SlotRow> = schedule
            .after(after)
            .take(count as usize)
            .map(|at| SlotRow::new(zone, at, now))
            .collect();
        let is_exhausted = slots.len() < count as usize;
        SlotList { after, slots, is_exhausted }
    }

    /// The slots that the arguments ask for.
    pub(crate) fn from_args(schedule: &Schedule, range: &SlotRange) -> anyhow::Result<SlotList> {
        let now = clock::now();
        let after = match &range.after {
            Some(text) => parse_instant(text, schedule.zone()).map_err(anyhow::Error::msg)?,
            None => now,
        };
        Ok(SlotList::compute(schedule, after, range.count, now))
    }

    pub(crate) fn table(&self, zone: &Zone) -> String {
        let mut rows = vec![vec![format!("LOCAL ({})", zone.name()), "UTC".into(), "IN".into()]];
        for slot in &self.slots {
            let distance = distance(SignedDuration::from_secs(slot.in_seconds));
            rows.push(vec![weekday_first(&slot.local), slot.utc.clone(), distance]);
        }
        let mut text = if self.slots.is_empty() { String::new() } else { output::table(&rows) };
        if self.is_exhausted {
            text.push_str("no further slot\n");
        }
        text
    }
}

impl SlotRow {
    fn new(zone: &Zone, at: Timestamp, now: Timestamp) -> SlotRow {
        SlotRow {
            utc: at.to_string(),
            local: zone.at(at).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
            in_seconds: at.as_second() - now.as_second(),
        }
    }
}

/// `Mon 2026-11-16 02:30:00 +01:00`
pub(crate) fn weekday_first(local: &str) -> String {
    let (civil, offset) = local.split_at(local.len().saturating_sub(6));
    match civil.parse::<DateTime>() {
        Ok(time) => format!("{} {offset}", time.strftime("%a %Y-%m-%d %H:%M:%S")),
        Err(_) => local.into(),
    }
}

/// The two largest units of a distance: `3d 4h`, `12s`, `5m 3s ago`.
pub(crate) fn distance(span: SignedDuration) -> String {
    let secs = span.as_secs().unsigned_abs();
    let units =
        [(secs / 86_400, "d"), (secs / 3600 % 24, "h"), (secs / 60 % 60, "m"), (secs % 60, "s")];
    let first = units.iter().position(|(count, _)| *count > 0).unwrap_or(units.len() - 1);
    let shown = units.iter().skip(first).take(2).filter(|(count, _)| *count > 0 || secs == 0);
    let text = shown.map(|(count, unit)| format!("{count}{unit}")).collect::<Vec<_>>().join(" ");
    if span.is_negative() { format!("{text} ago") } else { text }
}

/// An instant with an offset, or a civil time in the zone.
pub(crate) fn parse_instant(text: &str, zone: &Zone) -> Result<Timestamp, String> {
    if let Ok(instant) = text.parse() {
        return Ok(instant);
    }
    let civil = text.parse::<DateTime>().ok();
    let zoned = civil.and_then(|civil| civil.to_zoned(zone.time_zone().clone()).ok());
    zoned.map(|zoned| zoned.timestamp()).ok_or_else(|| {
        format!("{text:?} is not a time; write one like 2026-01-31T08:00:00Z or 2026-01-31T08:00")
    })
}

/// The schedule of the words of a command line.
pub(crate) fn parse_schedule(words: &[String], zone: &Zone) -> anyhow::Result<Schedule> {
    let text = words.join(" ");
    Schedule::parse(&text, zone).map_err(|error| match error.field() {
        Some(field) => anyhow!("schedule {text:?}, {field} field: {error}"),
        None => anyhow!("schedule {text:?}: {error}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_have_at_most_two_units() {
        let cases = [
            (0, "0s"),
            (59, "59s"),
            (60, "1m"),
            (3_725, "1h 2m"),
            (86_400 * 400 + 3_600, "400d 1h"),
            (-90, "1m 30s ago"),
        ];
        for (secs, wanted) in cases {
            assert_eq!(distance(SignedDuration::from_secs(secs)), wanted);
        }
    }
}
