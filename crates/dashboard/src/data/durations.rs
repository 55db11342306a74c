//! How long the last runs of each CronJob took, in a few bytes each.

use std::collections::HashMap;

use jiff::SignedDuration;
use punctual_api::slot_record::SlotRecord;
use punctual_views::HistoryRow;

/// How many runs of each CronJob are kept.
const RUNS_MAX: usize = 9;

/// How long the last runs of each CronJob took.
#[derive(Default)]
pub(crate) struct Durations {
    by_uid: HashMap<String, RecentRuns>,
}

/// The last finished runs of one CronJob, newest last.
#[derive(Default)]
struct RecentRuns {
    runs: Vec<TimedRun>,
}

#[derive(Clone, Copy)]
struct TimedRun {
    /// Tells runs apart: seconds of the slot since 1970.
    slot: i64,
    seconds: u32,
}

impl Durations {
    /// Adds the runs of records that have finished.
    pub(crate) fn add<'a>(&mut self, uid: &str, records: impl Iterator<Item = &'a SlotRecord>) {
        for record in records {
            let took = HistoryRow::new(record).took_seconds;
            let run = record.slot.zip(took).map(|(slot, took)| TimedRun {
                slot: slot.timestamp().as_second(),
                seconds: u32::try_from(took.max(0)).unwrap_or(u32::MAX),
            });
            if let Some(run) = run {
                self.by_uid.entry(uid.to_owned()).or_default().add(run);
            }
        }
    }

    /// Forgets a CronJob.
    pub(crate) fn remove(&mut self, uid: &str) {
        self.by_uid.remove(uid);
    }

    /// Returns the median of the last runs.
    pub(crate) fn median(&self, uid: &str) -> Option<SignedDuration> {
        let runs = &self.by_uid.get(uid)?.runs;
        let mut seconds: Vec<u32> = runs.iter().map(|run| run.seconds).collect();
        seconds.sort_unstable();
        let median = seconds.get(seconds.len() / 2)?;
        Some(SignedDuration::from_secs(i64::from(*median)))
    }
}

impl RecentRuns {
    fn add(&mut self, run: TimedRun) {
        if let Some(known) = self.runs.iter_mut().find(|known| known.slot == run.slot) {
            known.seconds = run.seconds;
            return;
        }
        let position = self.runs.partition_point(|known| known.slot < run.slot);
        self.runs.insert(position, run);
        if self.runs.len() > RUNS_MAX {
            self.runs.remove(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_that_of_the_newest_runs_and_a_run_counts_once() {
        let record = |minute: i64, took: i64| -> SlotRecord {
            let at = |second: i64| jiff::Timestamp::from_second(second).unwrap().to_string();
            serde_json::from_value(serde_json::json!({"slot": at(minute * 60), "decision": "Started",
                "startTime": at(minute * 60), "completionTime": at(minute * 60 + took), "result": "Succeeded"}))
            .unwrap()
        };
        let mut durations = Durations::default();
        let records: Vec<SlotRecord> = (0..50).map(|minute| record(minute, minute)).collect();
        durations.add("u", records.iter());
        durations.add("u", records.iter().skip(45));
        assert_eq!(durations.median("u"), Some(SignedDuration::from_secs(45)));
        assert_eq!(durations.median("v"), None);
    }
}
