//! The slot records of one CronJob, newest first, and what can be read from them.

use std::cmp::Reverse;

use jiff::{SignedDuration, Timestamp};
use punctual_api::slot_record::{RunResult, SlotDecision, SlotRecord};
use punctual_api::time::Time;
use serde::Serialize;

/// Where slot records were read from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum RecordSource {
    /// The resource `slotrecords`.
    SlotRecords,
    /// The status of the CronJob, which keeps the newest records only.
    Status,
    /// Jobs and Events, because the cluster has no records. Skipped slots and deleted Jobs are missing.
    #[default]
    Reconstructed,
}

impl RecordSource {
    /// Returns a sentence about what is missing; `None` if nothing is.
    pub fn note(self) -> Option<&'static str> {
        match self {
            RecordSource::SlotRecords => None,
            RecordSource::Status => {
                Some("The records are those of the CronJob's status, which keeps only the newest.")
            }
            RecordSource::Reconstructed => Some(
                "The cluster keeps no slot records of this CronJob; they are reconstructed from its Jobs and \
                 Events, so slots whose Job or Event is deleted are missing.",
            ),
        }
    }
}

/// The slot records of one CronJob, newest first.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    records: Vec<SlotRecord>,
    source: RecordSource,
    is_complete: bool,
}

impl Ledger {
    /// Sorts records. `is_complete` says whether these are all records of the source.
    pub fn new(mut records: Vec<SlotRecord>, source: RecordSource, is_complete: bool) -> Ledger {
        records.sort_by_key(|record| Reverse((record.slot, record.created_time)));
        Ledger { records, source, is_complete }
    }

    /// Returns the records, newest first.
    pub fn records(&self) -> &[SlotRecord] {
        &self.records
    }

    /// Returns where the records were read from.
    pub fn source(&self) -> RecordSource {
        self.source
    }

    /// Whether no older records were left out.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Returns the record of a slot: that of the schedule, else that of a request.
    pub fn record_of(&self, slot: Timestamp) -> Option<&SlotRecord> {
        let mut covering = self.records.iter().filter(|record| covers(record, slot));
        covering.clone().find(|record| record.is_scheduled()).or_else(|| covering.next())
    }

    /// Returns the record of a Job.
    pub fn record_of_job(&self, name: &str) -> Option<&SlotRecord> {
        self.records.iter().find(|record| record.job.as_ref().is_some_and(|job| job.name == name))
    }

    /// Returns the records of runs, newest first.
    pub fn runs(&self) -> impl Iterator<Item = &SlotRecord> {
        self.records.iter().filter(|record| record.decision == SlotDecision::Started)
    }

    /// Returns the newest record of the schedule whose slot did not run.
    pub fn latest_not_run(&self) -> Option<&SlotRecord> {
        let not_run = |record: &&SlotRecord| {
            record.is_scheduled() && record.decision != SlotDecision::Started
        };
        self.records.iter().find(not_run)
    }

    /// Returns the first run of a later slot.
    pub fn next_run_after(&self, slot: Timestamp) -> Option<&SlotRecord> {
        let is_later = |record: &&SlotRecord| instant(record.slot) > Some(slot);
        self.runs().take_while(is_later).last()
    }

    /// Returns the run that was active at an instant: the newest one.
    pub fn run_active_at(&self, at: Timestamp) -> Option<&SlotRecord> {
        self.runs().find(|record| {
            let started = instant(record.created_time.or(record.start_time).or(record.slot));
            let ended = instant(record.completion_time);
            let is_ended = ended.is_some_and(|ended| ended <= at);
            started.is_some_and(|started| started <= at) && !is_ended
        })
    }

    /// Returns the slot of the oldest record.
    pub fn oldest_slot(&self) -> Option<Timestamp> {
        self.records.iter().rev().find_map(|record| instant(record.slot))
    }

    /// Returns the median time that a run took; `None` without a finished run.
    pub fn median_duration(&self) -> Option<SignedDuration> {
        let mut durations: Vec<SignedDuration> = self.runs().filter_map(run_duration).collect();
        durations.sort();
        durations.get(durations.len() / 2).copied()
    }
}

/// Whether a record covers a slot.
fn covers(record: &SlotRecord, slot: Timestamp) -> bool {
    let first = instant(record.slot);
    first.is_some_and(|first| first <= slot) && instant(record.last_slot()) >= Some(slot)
}

/// Returns how long a finished run took; `None` if that is not known.
pub(crate) fn run_duration(record: &SlotRecord) -> Option<SignedDuration> {
    let is_measured = matches!(record.result, Some(RunResult::Succeeded | RunResult::Failed));
    if !is_measured {
        return None;
    }
    let started = record.start_time.or(record.created_time)?;
    Some(record.completion_time?.timestamp().duration_since(started.timestamp()))
}

/// Returns the instant of a field.
pub(crate) fn instant(time: Option<Time>) -> Option<Timestamp> {
    time.map(Time::timestamp)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger(records: serde_json::Value) -> Ledger {
        Ledger::new(serde_json::from_value(records).unwrap(), RecordSource::Status, true)
    }

    #[test]
    fn a_range_covers_its_slots_and_a_scheduled_record_comes_first() {
        let ledger = ledger(serde_json::json!([
            {"slot": "2026-01-01T00:00:00Z", "through": "2026-01-01T05:00:00Z", "count": 6, "decision": "Skipped"},
            {"slot": "2026-01-01T03:00:00Z", "decision": "Started", "request": "fix", "job": {"name": "a", "uid": "u"}},
        ]));
        let record = ledger.record_of("2026-01-01T03:00:00Z".parse().unwrap()).unwrap();
        assert_eq!(record.decision, SlotDecision::Skipped);
        assert_eq!(ledger.record_of_job("a").unwrap().request, "fix");
        assert!(ledger.record_of("2026-01-01T06:00:00Z".parse().unwrap()).is_none());
        assert_eq!(ledger.oldest_slot().unwrap().to_string(), "2026-01-01T00:00:00Z");
    }

    #[test]
    fn the_median_ignores_runs_that_were_replaced_or_are_active() {
        let run = |minute: u32, result: &str, took: u32| {
            serde_json::json!({"slot": format!("2026-01-01T00:{minute:02}:00Z"), "decision": "Started",
                "startTime": "2026-01-01T01:00:00Z", "completionTime": format!("2026-01-01T01:00:{took:02}Z"),
                "result": result})
        };
        let records = [run(1, "Succeeded", 10), run(2, "Replaced", 1), run(3, "Failed", 30)];
        let median = ledger(serde_json::json!(records)).median_duration();
        assert_eq!(median, Some(SignedDuration::from_secs(30)));
        assert_eq!(ledger(serde_json::json!([])).median_duration(), None);
    }
}
