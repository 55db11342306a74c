//! One cell for each slot of a CronJob: what happened to past ones, and which ones come.

use jiff::Timestamp;
use punctual_api::slot_record::{RunResult, SlotDecision, SlotRecord};
use punctual_views::{CronJobSnapshot, HistoryRow, UpcomingSlot, describe};

/// What happened to a slot. Each kind has a shape of its own, so that colour is never the only sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CellKind {
    Succeeded,
    Failed,
    Missed,
    Skipped,
    Running,
    /// The run was replaced or deleted, or its result is not known.
    Ended,
    Upcoming,
}

impl CellKind {
    pub(crate) const ALL: [CellKind; 7] = [
        CellKind::Succeeded,
        CellKind::Failed,
        CellKind::Missed,
        CellKind::Skipped,
        CellKind::Running,
        CellKind::Ended,
        CellKind::Upcoming,
    ];

    /// Returns the word of the legend.
    pub(crate) fn label(self) -> &'static str {
        match self {
            CellKind::Succeeded => "succeeded",
            CellKind::Failed => "failed",
            CellKind::Missed => "missed",
            CellKind::Skipped => "skipped",
            CellKind::Running => "running",
            CellKind::Ended => "ended early",
            CellKind::Upcoming => "to come",
        }
    }
}

/// One slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SlotCell {
    pub(crate) slot: Timestamp,
    pub(crate) kind: CellKind,
    /// What happened, in a few words.
    pub(crate) text: String,
    /// A remark about a change of the clocks.
    pub(crate) dst: Option<String>,
}

/// Returns what a record says.
pub(crate) fn record_kind(record: &SlotRecord) -> CellKind {
    match (record.decision, record.result) {
        (SlotDecision::Missed, _) => CellKind::Missed,
        (SlotDecision::Skipped, _) => CellKind::Skipped,
        (SlotDecision::Started, Some(RunResult::Succeeded)) => CellKind::Succeeded,
        (SlotDecision::Started, Some(RunResult::Failed)) => CellKind::Failed,
        (SlotDecision::Started, Some(RunResult::Running)) => CellKind::Running,
        (SlotDecision::Started, _) => CellKind::Ended,
    }
}

/// Returns the last slots that were decided, oldest first.
pub(crate) fn past_cells(snapshot: &CronJobSnapshot, count: usize) -> Vec<SlotCell> {
    let mut cells: Vec<SlotCell> = Vec::new();
    let records = snapshot.ledger.records().iter().filter(|record| record.is_scheduled());
    for record in records {
        let left = count.saturating_sub(cells.len());
        if left == 0 {
            break;
        }
        let kind = record_kind(record);
        let row = HistoryRow::new(record);
        let text = match (kind, record.failure_reason.as_str()) {
            (CellKind::Missed | CellKind::Skipped, _) => {
                format!("{}: {}", row.outcome(), record.reason)
            }
            (CellKind::Failed, reason) if !reason.is_empty() => format!("Failed: {reason}"),
            _ => row.outcome(),
        };
        let slots = slots_of(snapshot, record, left);
        cells.extend(slots.into_iter().map(|slot| SlotCell {
            slot,
            kind,
            text: text.clone(),
            dst: None,
        }));
    }
    cells.reverse();
    cells
}

/// Returns the newest slots of a record, newest first.
fn slots_of(snapshot: &CronJobSnapshot, record: &SlotRecord, limit: usize) -> Vec<Timestamp> {
    let Some(first) = record.slot.map(|slot| slot.timestamp()) else { return Vec::new() };
    let last = record.last_slot().map_or(first, |slot| slot.timestamp());
    if record.slots() <= 1 || last <= first {
        return vec![first];
    }
    let Ok(timetable) = snapshot.timetable() else { return vec![last] };
    // The schedule may have changed since; then only the first and the last slot are known.
    let limit = limit.min(usize::try_from(record.slots()).unwrap_or(limit));
    let earlier = timetable.schedule().before(last).take_while(|slot| *slot >= first);
    std::iter::once(last).chain(earlier).take(limit).collect()
}

/// Returns the next slots, with remarks about changes of the clocks.
pub(crate) fn upcoming_cells(
    snapshot: &CronJobSnapshot,
    count: usize,
    now: Timestamp,
) -> Vec<SlotCell> {
    upcoming_slots(snapshot, count, now)
        .into_iter()
        .map(|upcoming| SlotCell {
            slot: upcoming.slot,
            kind: CellKind::Upcoming,
            text: "To come".to_owned(),
            dst: upcoming.note,
        })
        .collect()
}

fn upcoming_slots(snapshot: &CronJobSnapshot, count: usize, now: Timestamp) -> Vec<UpcomingSlot> {
    describe(snapshot, count, now).upcoming
}

#[cfg(test)]
mod tests {
    use punctual_schedule::Zones;
    use punctual_views::{Ledger, RecordSource};
    use serde_json::json;

    use super::*;

    fn snapshot(records: serde_json::Value) -> CronJobSnapshot {
        let cron_job = serde_json::from_value(json!({
            "apiVersion": "batch/v1", "kind": "CronJob",
            "metadata": {"name": "a", "namespace": "n", "uid": "u"},
            "spec": {"schedule": "0 * * * *", "timeZone": "Europe/Berlin", "jobTemplate": {"spec": {"template": {"spec": {}}}}},
        }))
        .unwrap();
        let mut snapshot = CronJobSnapshot::new(cron_job, &Zones::bundled().utc());
        snapshot.ledger =
            Ledger::new(serde_json::from_value(records).unwrap(), RecordSource::Status, true);
        snapshot
    }

    #[test]
    fn a_range_has_a_cell_for_each_slot() {
        let snapshot = snapshot(json!([
            {"slot": "2026-01-01T04:00:00Z", "decision": "Started", "result": "Failed", "failureReason": "BackoffLimitExceeded"},
            {"slot": "2026-01-01T01:00:00Z", "through": "2026-01-01T03:00:00Z", "count": 3, "decision": "Missed",
             "reason": "DeadlineExceeded"},
            {"slot": "2026-01-01T00:00:00Z", "decision": "Started", "result": "Succeeded"},
        ]));
        let kinds = |count| -> Vec<CellKind> {
            past_cells(&snapshot, count).iter().map(|cell| cell.kind).collect()
        };
        use CellKind::{Failed, Missed, Succeeded};
        assert_eq!(kinds(9), [Succeeded, Missed, Missed, Missed, Failed]);
        assert_eq!(kinds(3), [Missed, Missed, Failed]);
        let cells = past_cells(&snapshot, 2);
        assert_eq!(cells[0].slot.to_string(), "2026-01-01T03:00:00Z");
        assert_eq!(cells[1].text, "Failed: BackoffLimitExceeded");
    }

    #[test]
    fn a_slot_after_a_skipped_hour_has_a_remark() {
        let now = "2026-03-28T23:30:00Z".parse().unwrap();
        let cells = upcoming_cells(&snapshot(json!([])), 3, now);
        let remarks: Vec<bool> = cells.iter().map(|cell| cell.dst.is_some()).collect();
        assert_eq!(remarks, [false, true, false]);
    }
}
