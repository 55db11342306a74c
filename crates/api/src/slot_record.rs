//! Slot records: what was decided about each slot (scheduled time) of a CronJob, and how its run ended.
//!
//! The records of all slots are the slot ledger. The controller writes new records with the status, in
//! the same write as the counters that they explain. See `docs/ledger.md`.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::time::Time;

/// What was decided about one slot, or about consecutive slots with the same decision and reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SlotRecord {
    /// The slot; for several slots, the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot: Option<Time>,
    /// The last of several slots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub through: Option<Time>,
    /// The number of slots, if there are several. See [`SlotRecord::slots`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<i64>,
    /// The decision.
    pub decision: SlotDecision,
    /// Why this was decided, such as `Superseded`. One of [`reason`].
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The cause, if the reason does not say all: for example the message of the server that rejected a
    /// Job.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The Job of a started slot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<SlotJob>,
    /// The RunRequest that asked for the run; empty for a run of the schedule.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub request: String,
    /// The slot with its jitter; absent if there is no jitter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effective_time: Option<Time>,
    /// When the Job was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_time: Option<Time>,
    /// When the Job started its first Pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Time>,
    /// When the run ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_time: Option<Time>,
    /// How the run of a started slot ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<RunResult>,
    /// Why the run failed, as in the condition of its Job.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub failure_reason: String,
    /// How many Pods of the run ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<i32>,
}

/// The Job of a slot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SlotJob {
    /// The name.
    pub name: String,
    /// The UID.
    pub uid: String,
}

/// What was decided about a slot.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum SlotDecision {
    /// A Job was created.
    #[default]
    Started,
    /// No Job was created, because that is what the CronJob asks for.
    Skipped,
    /// No Job was created, although there should have been one.
    Missed,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum RunResult {
    /// It is active.
    Running,
    /// The Job succeeded.
    Succeeded,
    /// The Job failed.
    Failed,
    /// The policy `Replace` deleted the Job for a later slot.
    Replaced,
    /// The Job was deleted before it ended.
    Deleted,
    /// It is not known how the run ended.
    Unknown,
}

/// The reasons of decisions.
pub mod reason {
    /// Started: the slot was due.
    pub const SCHEDULED: &str = "Scheduled";
    /// Started: later slots were due already, and the policy is `CatchUp`.
    pub const CAUGHT_UP: &str = "CaughtUp";
    /// Started: a RunRequest asked for it.
    pub const REQUESTED: &str = "Requested";
    /// Skipped: a later slot started instead.
    pub const SUPERSEDED: &str = "Superseded";
    /// Skipped: another run was active, and the policy is `Forbid`.
    pub const CONCURRENCY_FORBIDDEN: &str = "ConcurrencyForbidden";
    /// Skipped: the CronJob was suspended.
    pub const SUSPENDED: &str = "Suspended";
    /// Missed: the starting deadline passed before a run could start.
    pub const DEADLINE_EXCEEDED: &str = "DeadlineExceeded";
    /// Missed: the server rejected the Job until the starting deadline passed.
    pub const CREATE_REJECTED: &str = "CreateRejected";
    /// Missed: another Job has the name of the slot's Job.
    pub const NAME_TAKEN: &str = "NameTaken";
    /// Missed: more slots were pending than `CatchUp` runs.
    pub const CATCH_UP_LIMIT_EXCEEDED: &str = "CatchUpLimitExceeded";
}

impl SlotRecord {
    /// Returns the number of slots, at least 1.
    pub fn slots(&self) -> i64 {
        self.count.unwrap_or(1).max(1)
    }

    /// Returns the last slot.
    pub fn last_slot(&self) -> Option<Time> {
        self.through.or(self.slot)
    }

    /// Whether the run is active.
    pub fn is_running(&self) -> bool {
        self.result == Some(RunResult::Running)
    }

    /// Whether it is about a Job with this UID.
    pub fn is_of_job(&self, uid: &str) -> bool {
        self.job.as_ref().is_some_and(|job| job.uid == uid)
    }

    /// Whether it is a record of the schedule, not of a RunRequest.
    pub fn is_scheduled(&self) -> bool {
        self.request.is_empty()
    }
}

impl SlotDecision {
    /// All decisions.
    pub const ALL: [SlotDecision; 3] =
        [SlotDecision::Started, SlotDecision::Skipped, SlotDecision::Missed];

    /// Returns the name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            SlotDecision::Started => "Started",
            SlotDecision::Skipped => "Skipped",
            SlotDecision::Missed => "Missed",
        }
    }

    /// Finds a decision by its name.
    pub fn parse(name: &str) -> Option<SlotDecision> {
        SlotDecision::ALL.into_iter().find(|decision| decision.as_str() == name)
    }
}

impl RunResult {
    /// All results.
    pub const ALL: [RunResult; 6] = [
        RunResult::Running,
        RunResult::Succeeded,
        RunResult::Failed,
        RunResult::Replaced,
        RunResult::Deleted,
        RunResult::Unknown,
    ];

    /// Returns the name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            RunResult::Running => "Running",
            RunResult::Succeeded => "Succeeded",
            RunResult::Failed => "Failed",
            RunResult::Replaced => "Replaced",
            RunResult::Deleted => "Deleted",
            RunResult::Unknown => "Unknown",
        }
    }

    /// Finds a result by its name.
    pub fn parse(name: &str) -> Option<RunResult> {
        RunResult::ALL.into_iter().find(|result| result.as_str() == name)
    }
}

impl fmt::Display for SlotDecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for RunResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written_and_omits_what_is_absent() {
        let text = concat!(
            r#"{"slot":"2026-01-31T08:00:00Z","decision":"Started","reason":"Scheduled","#,
            r#""job":{"name":"a-29500000","uid":"u"},"createdTime":"2026-01-31T08:00:00Z","#,
            r#""result":"Running"}"#
        );
        let record: SlotRecord = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&record).unwrap(), text);
        assert_eq!(record.slots(), 1);
        assert_eq!(record.last_slot(), record.slot);
        assert!(record.is_running() && record.is_scheduled());
    }

    #[test]
    fn names_of_decisions_and_results_are_those_of_json() {
        for decision in SlotDecision::ALL {
            assert_eq!(serde_json::to_value(decision).unwrap(), decision.as_str());
            assert_eq!(SlotDecision::parse(decision.as_str()), Some(decision));
        }
        for result in RunResult::ALL {
            assert_eq!(serde_json::to_value(result).unwrap(), result.as_str());
            assert_eq!(RunResult::parse(result.as_str()), Some(result));
        }
        assert_eq!(RunResult::parse("Odd"), None);
    }
}
