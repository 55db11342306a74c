//! The lanes of the timeline: what ran, and what is expected to run.

use jiff::{SignedDuration, Timestamp};
use punctual_api::slot_record::SlotRecord;
use punctual_views::{CronJobSnapshot, expected_runs, format_duration};

use super::slot_cells::{CellKind, record_kind};
use crate::data::CronJobId;

/// The most bars of a lane. A lane with more is drawn as one band for each part of the time.
const BARS_MAX: usize = 120;
/// The most runs that are predicted for a lane.
const RUNS_MAX: usize = 1_500;

/// The time that a timeline shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimelineRange {
    pub(crate) from: Timestamp,
    pub(crate) until: Timestamp,
    pub(crate) now: Timestamp,
}

impl TimelineRange {
    /// Returns the place of an instant from 0 to 1.
    pub(crate) fn fraction(&self, at: Timestamp) -> f64 {
        let length = self.until.duration_since(self.from).as_secs_f64().max(1.0);
        (at.duration_since(self.from).as_secs_f64() / length).clamp(0.0, 1.0)
    }
}

/// The runs of one CronJob.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Lane {
    pub(crate) id: CronJobId,
    pub(crate) bars: Vec<Bar>,
    /// How many runs are expected.
    pub(crate) expected: usize,
    /// Whether there are too many runs to draw each.
    pub(crate) is_dense: bool,
}

/// What a bar stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BarKind {
    /// A slot of the past.
    Past(CellKind),
    /// A run that is expected.
    Expected,
}

/// One run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bar {
    pub(crate) start: Timestamp,
    pub(crate) end: Timestamp,
    pub(crate) kind: BarKind,
    /// The slot, if the bar is one.
    pub(crate) slot: Option<Timestamp>,
    pub(crate) text: String,
}

/// The inputs of a lane.
pub(crate) struct LaneInput<'a> {
    pub(crate) id: &'a CronJobId,
    pub(crate) snapshot: &'a CronJobSnapshot,
    pub(crate) median: Option<SignedDuration>,
}

/// Computes the lane of a CronJob.
pub(crate) fn lane(input: &LaneInput<'_>, range: TimelineRange) -> Lane {
    let records = input.snapshot.ledger.records().iter().rev();
    let mut bars: Vec<Bar> = records.filter_map(|record| past_bar(record, range)).collect();
    let from = range.now.max(range.from);
    let runs = expected_runs(input.snapshot, input.median, from, range.until, RUNS_MAX);
    let expected = runs.len();
    let last = if expected >= RUNS_MAX { runs.last() } else { None };
    let counted_until = last.map(|run| run.end);
    let took = input
        .median
        .map_or_else(String::new, |took| format!(", takes about {}", format_duration(took)));
    bars.extend(runs.into_iter().map(|run| Bar {
        start: run.start,
        end: run.end,
        kind: BarKind::Expected,
        slot: None,
        text: format!("expected{took}"),
    }));
    bars.extend(counted_until.map(|start| Bar {
        start,
        end: range.until,
        kind: BarKind::Expected,
        slot: None,
        text: "further runs, not counted".to_owned(),
    }));
    let is_dense = bars.len() > BARS_MAX;
    if is_dense {
        bars = merge(bars, range);
    }
    Lane { id: input.id.clone(), bars, expected, is_dense }
}

fn past_bar(record: &SlotRecord, range: TimelineRange) -> Option<Bar> {
    let slot = record.slot?.timestamp();
    let last = record.last_slot()?.timestamp();
    let kind = record_kind(record);
    let is_run = !matches!(kind, CellKind::Missed | CellKind::Skipped);
    let started = record.start_time.or(record.created_time).map(|time| time.timestamp());
    let start = if is_run { started.unwrap_or(slot) } else { slot };
    let end = match record.completion_time {
        Some(ended) if is_run => ended.timestamp(),
        _ if kind == CellKind::Running => range.now,
        _ => last,
    };
    let is_shown = end >= range.from && start <= range.until;
    let text = match record.failure_reason.as_str() {
        "" if record.decision == punctual_api::slot_record::SlotDecision::Started => {
            kind.label().to_owned()
        }
        "" => format!("{}: {}", kind.label(), record.reason),
        reason => format!("{}: {reason}", kind.label()),
    };
    is_shown.then_some(Bar { start, end, kind: BarKind::Past(kind), slot: Some(slot), text })
}

/// Joins bars of the same kind that are closer to each other than the page can show.
fn merge(bars: Vec<Bar>, range: TimelineRange) -> Vec<Bar> {
    let length = range.until.duration_since(range.from);
    let gap = SignedDuration::from_secs(length.as_secs() / 200);
    let mut merged: Vec<(Bar, usize)> = Vec::new();
    for bar in bars {
        if let Some((last, count)) = merged.last_mut()
            && last.kind == bar.kind
            && bar.start.duration_since(last.end) < gap
        {
            last.end = last.end.max(bar.end);
            last.slot = None;
            *count += 1;
            continue;
        }
        merged.push((bar, 1));
    }
    let bars = merged.into_iter().take(BARS_MAX * 4).map(|(mut bar, count)| {
        if count > 1 {
            bar.text = format!("{count} runs, {}", bar.text);
        }
        bar
    });
    bars.collect()
}

#[cfg(test)]
mod tests {
    use punctual_schedule::Zones;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_lane_of_every_minute_is_joined_and_counts_its_runs() {
        let cron_job = serde_json::from_value(json!({
            "apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "a", "namespace": "n", "uid": "u"},
            "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": {"spec": {}}}}},
        }))
        .unwrap();
        let snapshot = CronJobSnapshot::new(cron_job, &Zones::bundled().utc());
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let range =
            TimelineRange { from: now, until: "2026-01-01T12:00:00Z".parse().unwrap(), now };
        let id = CronJobId::of(&snapshot);
        let median = Some(SignedDuration::from_secs(10));
        let lane = lane(&LaneInput { id: &id, snapshot: &snapshot, median }, range);
        assert_eq!((lane.expected, lane.is_dense, lane.bars.len()), (720, true, 1));
        assert!(lane.bars[0].text.starts_with("720 runs"), "{}", lane.bars[0].text);
        assert!((range.fraction("2026-01-01T06:00:00Z".parse().unwrap()) - 0.5).abs() < 1e-9);
    }
}
