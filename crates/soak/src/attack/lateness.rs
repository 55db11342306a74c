//! How late the runs of a CronJob start.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Context;
use bytes::Bytes;
use jiff::Timestamp;
use punctual_testing::manifest;
use serde_json::json;

const SLOT_FIELD: &str = "metadata.annotations['batch.kubernetes.io/cronjob-scheduled-timestamp']";

/// The file to which each run of a CronJob writes its slot and its start.
pub(super) struct StartLog {
    path: PathBuf,
}

/// How late the slots of a span of time started.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Lateness {
    pub(super) slots: usize,
    pub(super) started: usize,
    /// A slot that has not started yet counts with the time since it was due.
    pub(super) worst: Duration,
}

impl StartLog {
    pub(super) fn new(folder: &Path) -> StartLog {
        StartLog { path: folder.join("starts") }
    }

    /// The request body of a CronJob that runs every second.
    pub(super) fn cron_job_body(&self) -> Bytes {
        let script = "printf '%s %s\\n' \"$SLOT\" \"$(date +%s%N)\" >> \"$STARTS\"";
        let container = json!({
            "name": "main",
            "image": "busybox:1.37",
            "command": ["/bin/sh", "-c", script],
            "env": [
                {"name": "STARTS", "value": self.path.display().to_string()},
                {"name": "SLOT", "valueFrom": {"fieldRef": {"fieldPath": SLOT_FIELD}}},
            ],
        });
        let spec = json!({
            "schedule": "@every 1s",
            "concurrencyPolicy": "Allow",
            "successfulJobsHistoryLimit": 1,
            "failedJobsHistoryLimit": 1,
            "jobTemplate": {"spec": manifest::job_spec(container)},
        });
        Bytes::from(manifest::cron_job("every-second", spec).to_string())
    }

    /// The lateness of the slots in a span of time, as known now.
    pub(super) fn lateness(&self, from: Timestamp, until: Timestamp) -> anyhow::Result<Lateness> {
        let text = fs::read_to_string(&self.path).context("no run has started")?;
        evaluate(&text, from, until)
    }
}

fn evaluate(text: &str, from: Timestamp, until: Timestamp) -> anyhow::Result<Lateness> {
    let mut starts = Vec::new();
    for line in text.lines() {
        let (slot, started) = line.split_once(' ').context("a line has no start")?;
        let slot: Timestamp = slot.parse()?;
        starts.push((slot.as_second(), Timestamp::from_nanosecond(started.trim().parse()?)?));
    }
    let mut lateness = Lateness { slots: 0, started: 0, worst: Duration::ZERO };
    for second in from.as_second() + 1..=until.as_second() {
        let slot = Timestamp::from_second(second)?;
        let start = starts.iter().find(|(started, _)| *started == second).map(|(_, at)| *at);
        let late = start.unwrap_or(until).duration_since(slot);
        lateness.slots += 1;
        lateness.started += usize::from(start.is_some());
        lateness.worst = lateness.worst.max(late.try_into().unwrap_or_default());
    }
    Ok(lateness)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_slot_counts_and_one_that_never_started_is_late() {
        let text = "1970-01-01T00:00:11Z 11050000000\n1970-01-01T00:00:12Z 12700000000\n";
        let at = |second| Timestamp::from_second(second).unwrap();
        let found = evaluate(text, at(10), at(12)).unwrap();
        let worst = Duration::from_millis(700);
        assert_eq!(found, Lateness { slots: 2, started: 2, worst });
        let found = evaluate(text, at(10), at(15)).unwrap();
        let worst = Duration::from_secs(2);
        assert_eq!(found, Lateness { slots: 5, started: 2, worst });
    }
}
