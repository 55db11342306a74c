//! The rows of a history: slot records, selected and formatted.

use jiff::{SignedDuration, Timestamp};
use punctual_api::slot_record::{RunResult, SlotDecision, SlotRecord};
use punctual_schedule::Zone;
use serde::Serialize;

use crate::ledger::{Ledger, instant, run_duration};
use crate::time_text::{format_duration, local_time, plural};

/// Selects records.
#[derive(Clone, Debug, Default)]
pub struct HistoryFilter {
    /// Only these decisions; empty means all.
    pub decisions: Vec<SlotDecision>,
    /// Only these results; empty means all.
    pub results: Vec<RunResult>,
    /// Only slots at or after this time.
    pub since: Option<Timestamp>,
    /// Only slots before this time.
    pub until: Option<Timestamp>,
}

impl HistoryFilter {
    /// Whether a record is selected.
    pub fn matches(&self, record: &SlotRecord) -> bool {
        let last = instant(record.last_slot());
        let first = instant(record.slot);
        let is_in_range = self.since.is_none_or(|since| last >= Some(since))
            && self.until.is_none_or(|until| first.is_some_and(|first| first < until));
        is_in_range
            && (self.decisions.is_empty() || self.decisions.contains(&record.decision))
            && (self.results.is_empty()
                || record.result.is_some_and(|result| self.results.contains(&result)))
    }

    /// Returns the rows of the selected records, newest first.
    pub fn rows(&self, ledger: &Ledger, limit: usize) -> Vec<HistoryRow> {
        let selected = ledger.records().iter().filter(|record| self.matches(record));
        selected.take(limit).map(HistoryRow::new).collect()
    }
}

/// One slot record with what follows from it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HistoryRow {
    /// The record.
    #[serde(flatten)]
    pub record: SlotRecord,
    /// How many seconds after its effective time the Job was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late_seconds: Option<i64>,
    /// How many seconds the run took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub took_seconds: Option<i64>,
}

impl HistoryRow {
    /// The header of [`HistoryRow::csv_cells`].
    pub const CSV_HEADER: [&str; 16] = [
        "slot",
        "through",
        "count",
        "decision",
        "reason",
        "result",
        "lateSeconds",
        "tookSeconds",
        "job",
        "request",
        "effectiveTime",
        "createdTime",
        "startTime",
        "completionTime",
        "failureReason",
        "message",
    ];

    /// Computes the row of a record.
    pub fn new(record: &SlotRecord) -> HistoryRow {
        let due = instant(record.effective_time.or(record.slot));
        let created = instant(record.created_time);
        let late = due.zip(created).map(|(due, created)| created.duration_since(due).as_secs());
        HistoryRow {
            record: record.clone(),
            // A run that was requested is not late.
            late_seconds: if record.is_scheduled() { late.map(|late| late.max(0)) } else { None },
            took_seconds: run_duration(record).map(|took| took.as_secs()),
        }
    }

    /// Returns what happened, in a few words: `Succeeded`, `Missed: DeadlineExceeded`.
    pub fn outcome(&self) -> String {
        match (self.record.decision, self.record.result) {
            (SlotDecision::Started, Some(result)) => result.to_string(),
            (decision, _) => decision.to_string(),
        }
    }

    /// Returns how long the run took.
    pub fn took(&self) -> Option<SignedDuration> {
        self.took_seconds.map(SignedDuration::from_secs)
    }

    /// Returns the row as one sentence.
    pub fn sentence(&self, zone: &Zone) -> String {
        let record = &self.record;
        let slot = instant(record.slot).map_or_else(String::new, |slot| local_time(zone, slot));
        let more = match record.slots() {
            1 => String::new(),
            count => format!(" and {} after it", plural(count - 1, "slot")),
        };
        let cause = match (record.failure_reason.as_str(), record.message.as_str()) {
            ("", "") => record.reason.clone(),
            ("", message) => format!("{}: {message}", record.reason),
            (failure, _) => failure.to_owned(),
        };
        let job = record.job.as_ref().map_or_else(String::new, |job| format!(", Job {}", job.name));
        let took = self
            .took()
            .map_or_else(String::new, |took| format!(" after {}", format_duration(took)));
        format!("{slot}{more}: {}{took} ({cause}{job})", self.outcome())
    }

    /// Returns the cells of a CSV line.
    pub fn csv_cells(&self) -> [String; 16] {
        let record = &self.record;
        let time = |time: Option<punctual_api::Time>| {
            time.map_or_else(String::new, |time| time.to_string())
        };
        let number =
            |number: Option<i64>| number.map_or_else(String::new, |number| number.to_string());
        [
            time(record.slot),
            time(record.last_slot()),
            record.slots().to_string(),
            record.decision.to_string(),
            record.reason.clone(),
            record.result.map_or_else(String::new, |result| result.to_string()),
            number(self.late_seconds),
            number(self.took_seconds),
            record.job.as_ref().map_or_else(String::new, |job| job.name.clone()),
            record.request.clone(),
            time(record.effective_time),
            time(record.created_time),
            time(record.start_time),
            time(record.completion_time),
            record.failure_reason.clone(),
            record.message.clone(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ledger::RecordSource;

    fn ledger() -> Ledger {
        let records = json!([
            {"slot": "2026-01-01T03:00:00Z", "decision": "Started", "reason": "Scheduled", "result": "Failed",
             "createdTime": "2026-01-01T03:00:12Z", "completionTime": "2026-01-01T03:01:12Z",
             "failureReason": "BackoffLimitExceeded", "job": {"name": "a-1", "uid": "u"}},
            {"slot": "2026-01-01T01:00:00Z", "through": "2026-01-01T02:00:00Z", "count": 2, "decision": "Missed",
             "reason": "DeadlineExceeded"},
            {"slot": "2026-01-01T00:00:00Z", "decision": "Started", "reason": "Requested", "request": "fix",
             "createdTime": "2026-01-01T09:00:00Z", "result": "Succeeded"},
        ]);
        Ledger::new(serde_json::from_value(records).unwrap(), RecordSource::Status, true)
    }

    fn slots(filter: &HistoryFilter) -> Vec<String> {
        let rows = filter.rows(&ledger(), 10);
        rows.iter().map(|row| row.record.slot.unwrap().to_string()).collect()
    }

    #[test]
    fn records_are_selected_by_decision_result_and_time() {
        let all = HistoryFilter::default();
        assert_eq!(slots(&all).len(), 3);
        let missed = HistoryFilter { decisions: vec![SlotDecision::Missed], ..all.clone() };
        assert_eq!(slots(&missed), ["2026-01-01T01:00:00Z"]);
        let failed = HistoryFilter { results: vec![RunResult::Failed], ..all.clone() };
        assert_eq!(slots(&failed), ["2026-01-01T03:00:00Z"]);
        let since = Some("2026-01-01T02:00:00Z".parse().unwrap());
        let until = Some("2026-01-01T03:00:00Z".parse().unwrap());
        assert_eq!(slots(&HistoryFilter { since, until, ..all }), ["2026-01-01T01:00:00Z"]);
    }

    #[test]
    fn a_row_has_the_lateness_and_the_duration() {
        let rows = HistoryFilter::default().rows(&ledger(), 10);
        assert_eq!((rows[0].late_seconds, rows[0].took_seconds), (Some(12), Some(60)));
        assert_eq!(rows[2].late_seconds, None, "a requested run is not late");
        let zone = punctual_schedule::Zones::bundled().utc();
        assert_eq!(
            rows[0].sentence(&zone),
            "Thu 2026-01-01 03:00 +00:00: Failed after 1m (BackoffLimitExceeded, Job a-1)"
        );
        assert_eq!(
            rows[1].sentence(&zone),
            "Thu 2026-01-01 01:00 +00:00 and 1 slot after it: Missed (DeadlineExceeded)"
        );
    }
}
