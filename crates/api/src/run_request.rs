//! RunRequest (`punctual.dev/v1`): asks for runs of a CronJob outside its schedule.
//!
//! `punctual trigger` and `punctual backfill` create one. The CronJob controller starts the runs. See
//! `docs/run-requests.md`.

mod slot_range;

use serde::{Deserialize, Serialize};

pub use self::slot_range::{SlotRange, SlotRanges};
use crate::cronjob::{ConcurrencyPolicy, CronJobKind};
use crate::meta::{Condition, Extra, ObjectMeta, is_zero};
use crate::pod::EnvVar;
use crate::time::Time;

/// The most slots that a RunRequest can select.
pub const SLOTS_MAX: usize = 10_000;
/// The most runs of a RunRequest that are active at the same time.
pub const PARALLELISM_MAX: i32 = 1_000;
/// How long a finished RunRequest is kept if it does not say: one day.
pub const TTL_SECONDS_DEFAULT: i32 = 86_400;

/// A request for runs of a CronJob.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RunRequest {
    /// The API group and version.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The object metadata.
    pub metadata: ObjectMeta,
    /// The desired state.
    pub spec: RunRequestSpec,
    /// The observed state.
    pub status: RunRequestStatus,
    /// Undeclared fields, preserved as received.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Which runs are wanted. Exactly one of `now`, `slots` and `from` with `to` is set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RunRequestSpec {
    /// The CronJob to run.
    pub target: RunTarget,
    /// Whether one run is wanted now, whatever the schedule says.
    #[serde(skip_serializing_if = "is_false")]
    pub now: bool,
    /// The slots (scheduled times) to run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub slots: Vec<Time>,
    /// The first of the slots to run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Time>,
    /// The end of the slots to run, which is not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Time>,
    /// Which of the slots run: see [`RunSelection`].
    #[serde(skip_serializing_if = "String::is_empty")]
    pub runs: String,
    /// `Allow` or `Replace`; the policy of the target if empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub concurrency_policy: String,
    /// How many runs of this request may be active at the same time; 1 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallelism: Option<i32>,
    /// In which order the slots run: see [`RunOrder`].
    #[serde(skip_serializing_if = "String::is_empty")]
    pub order: String,
    /// Whether no further runs start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,
    /// How many seconds the request is kept after its last run has ended; one day if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_seconds_after_finished: Option<i32>,
    /// Changes of the Job template for these runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overrides: Option<RunOverrides>,
    /// Undeclared fields, preserved as received.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The CronJob that a RunRequest is for, in the namespace of the request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunTarget {
    /// `CronJob` or `ScheduledJob`; `CronJob` if empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The name.
    pub name: String,
}

/// Changes of the Job template.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunOverrides {
    /// Changes of containers, by name.
    pub containers: Vec<ContainerOverride>,
}

/// Changes of one container of the Job template.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContainerOverride {
    /// The name of a container or init container of the template.
    pub name: String,
    /// Replaces the arguments; unchanged if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<Vec<String>>,
    /// Environment variables to add, or to replace by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<EnvVar>,
}

/// What has become of the runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RunRequestStatus {
    /// The generation of the spec that this status is about.
    #[serde(skip_serializing_if = "is_zero")]
    pub observed_generation: i64,
    /// The UID of the target when the request was accepted. A later CronJob of the same name is not run.
    #[serde(rename = "targetUID", skip_serializing_if = "String::is_empty")]
    pub target_uid: String,
    /// When the runs were chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted_time: Option<Time>,
    /// When the last run ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_time: Option<Time>,
    /// How many runs were chosen.
    #[serde(skip_serializing_if = "is_zero")]
    pub total: i64,
    /// How many runs have started.
    #[serde(skip_serializing_if = "is_zero")]
    pub started: i64,
    /// How many runs have succeeded.
    #[serde(skip_serializing_if = "is_zero")]
    pub succeeded: i64,
    /// How many runs have failed or were deleted.
    #[serde(skip_serializing_if = "is_zero")]
    pub failed: i64,
    /// How many of the chosen runs were not started, because their slots had run meanwhile or their Jobs could not
    /// be created.
    #[serde(skip_serializing_if = "is_zero")]
    pub skipped: i64,
    /// The chosen slots, oldest first.
    #[serde(skip_serializing_if = "SlotRanges::is_empty")]
    pub slots: SlotRanges,
    /// The active runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub active: Vec<ActiveRun>,
    /// The conditions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Undeclared fields, preserved as received.
    #[serde(flatten)]
    pub extra: Extra,
}

/// An active run of a RunRequest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ActiveRun {
    /// The position of the run in the order of the request, from 0.
    pub index: i64,
    /// The name of its Job.
    pub name: String,
    /// The UID of its Job.
    pub uid: String,
}

/// Which of the selected slots run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunSelection {
    /// Those that have no run.
    #[default]
    Missing,
    /// Those that have no successful and no active run.
    Failed,
    /// All.
    All,
}

/// In which order the slots of a RunRequest run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunOrder {
    /// The oldest slot first.
    #[default]
    OldestFirst,
    /// The newest slot first.
    NewestFirst,
}

/// Types of conditions of a RunRequest.
pub mod condition_type {
    /// Whether the runs were chosen.
    pub const ACCEPTED: &str = "Accepted";
    /// Whether all runs have ended.
    pub const COMPLETE: &str = "Complete";
}

/// Reasons of conditions of a RunRequest.
pub mod condition_reason {
    /// The runs were chosen.
    pub const ACCEPTED: &str = "Accepted";
    /// The target does not exist.
    pub const TARGET_NOT_FOUND: &str = "TargetNotFound";
    /// The target was deleted after the request was accepted.
    pub const TARGET_DELETED: &str = "TargetDeleted";
    /// No controller manages CronJobs of this kind.
    pub const KIND_NOT_MANAGED: &str = "KindNotManaged";
    /// The request selects more slots than are allowed.
    pub const TOO_MANY_SLOTS: &str = "TooManySlots";
    /// The target has no valid schedule, so it has no slots.
    pub const NO_SCHEDULE: &str = "NoSchedule";
    /// An override names a container that the template does not have.
    pub const INVALID_OVERRIDES: &str = "InvalidOverrides";
    /// Runs are active or still to start.
    pub const RUNNING: &str = "Running";
    /// No run starts because `spec.suspend` is true.
    pub const SUSPENDED: &str = "Suspended";
    /// A run waits until another run of the target ends.
    pub const WAITING: &str = "Waiting";
    /// A Job could not be created; the controller tries again.
    pub const CREATE_REJECTED: &str = "CreateRejected";
    /// All runs succeeded.
    pub const SUCCEEDED: &str = "Succeeded";
    /// Some runs did not succeed.
    pub const FAILED: &str = "Failed";
    /// The request selected no slot that had to run.
    pub const NOTHING_TO_RUN: &str = "NothingToRun";
}

impl RunRequest {
    /// The API group and version.
    pub const API_VERSION: &str = "punctual.dev/v1";
    /// The kind.
    pub const KIND: &str = "RunRequest";

    /// Whether all runs have ended, or none will start.
    pub fn is_finished(&self) -> bool {
        self.status.completion_time.is_some()
    }

    /// Whether the runs were chosen.
    pub fn is_accepted(&self) -> bool {
        self.status.accepted_time.is_some()
    }
}

impl RunRequestSpec {
    /// Returns the kind of the target; `None` if it is neither `CronJob` nor `ScheduledJob`.
    pub fn target_kind(&self) -> Option<CronJobKind> {
        match self.target.kind.as_str() {
            "" | "CronJob" => Some(CronJobKind::BatchV1),
            "ScheduledJob" => Some(CronJobKind::ScheduledJob),
            _ => None,
        }
    }

    /// Returns which of the selected slots run.
    pub fn selection(&self) -> RunSelection {
        RunSelection::parse(&self.runs).unwrap_or_default()
    }

    /// Returns in which order the slots run.
    pub fn run_order(&self) -> RunOrder {
        RunOrder::parse(&self.order).unwrap_or_default()
    }

    /// Returns the policy that the request asks for; `None` if that of the target applies.
    pub fn requested_policy(&self) -> Option<ConcurrencyPolicy> {
        ConcurrencyPolicy::parse(&self.concurrency_policy)
    }

    /// Returns how many runs of this request may be active at the same time.
    pub fn parallelism(&self) -> usize {
        let parallelism = self.parallelism.unwrap_or(1).clamp(1, PARALLELISM_MAX);
        usize::try_from(parallelism).unwrap_or(1)
    }

    /// Returns how many seconds the request is kept after its last run has ended.
    pub fn ttl_seconds(&self) -> i64 {
        i64::from(self.ttl_seconds_after_finished.unwrap_or(TTL_SECONDS_DEFAULT).max(0))
    }
}

impl RunRequestStatus {
    /// Returns the position of the next run: how many runs were started or skipped.
    pub fn next_index(&self) -> i64 {
        self.started + self.skipped
    }
}

impl RunSelection {
    /// All selections.
    pub const ALL: [RunSelection; 3] =
        [RunSelection::Missing, RunSelection::Failed, RunSelection::All];

    /// Returns the name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            RunSelection::Missing => "Missing",
            RunSelection::Failed => "Failed",
            RunSelection::All => "All",
        }
    }

    /// Finds a selection by its name.
    pub fn parse(name: &str) -> Option<RunSelection> {
        RunSelection::ALL.into_iter().find(|selection| selection.as_str() == name)
    }
}

impl RunOrder {
    /// All orders.
    pub const ALL: [RunOrder; 2] = [RunOrder::OldestFirst, RunOrder::NewestFirst];

    /// Returns the name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            RunOrder::OldestFirst => "OldestFirst",
            RunOrder::NewestFirst => "NewestFirst",
        }
    }

    /// Finds an order by its name.
    pub fn parse(name: &str) -> Option<RunOrder> {
        RunOrder::ALL.into_iter().find(|order| order.as_str() == name)
    }
}

fn is_false(value: &bool) -> bool {
    !value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_as_it_was_written() {
        let text = concat!(
            r#"{"apiVersion":"punctual.dev/v1","kind":"RunRequest","metadata":{"name":"r"},"#,
            r#""spec":{"target":{"kind":"ScheduledJob","name":"a"},"#,
            r#""from":"2026-01-31T08:00:00Z","to":"2026-02-01T08:00:00Z","runs":"Failed","#,
            r#""parallelism":2,"overrides":{"containers":[{"name":"c","args":["x"],"#,
            r#""env":[{"name":"A","value":"b"}]}]},"novel":1},"#,
            r#""status":{"targetUID":"u","total":3,"started":1,"#,
            r#""slots":[{"slot":"2026-01-31T08:00:00Z","through":"2026-01-31T10:00:00Z","count":3}],"#,
            r#""active":[{"index":0,"name":"a-1","uid":"j"}]}}"#
        );
        let request: RunRequest = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&request).unwrap(), text);
        assert_eq!(request.spec.target_kind(), Some(CronJobKind::ScheduledJob));
        assert_eq!(request.spec.selection(), RunSelection::Failed);
        assert_eq!((request.spec.parallelism(), request.status.next_index()), (2, 1));
        assert!(!request.is_accepted() && !request.is_finished());
    }

    #[test]
    fn absent_fields_have_defaults() {
        let spec = RunRequestSpec::default();
        assert_eq!(spec.target_kind(), Some(CronJobKind::BatchV1));
        assert_eq!(spec.selection(), RunSelection::Missing);
        assert_eq!(spec.run_order(), RunOrder::OldestFirst);
        assert_eq!(spec.requested_policy(), None);
        assert_eq!((spec.parallelism(), spec.ttl_seconds()), (1, 86_400));
    }

    #[test]
    fn names_of_selections_and_orders_are_read_as_they_are_written() {
        for selection in RunSelection::ALL {
            assert_eq!(RunSelection::parse(selection.as_str()), Some(selection));
        }
        for order in RunOrder::ALL {
            assert_eq!(RunOrder::parse(order.as_str()), Some(order));
        }
    }
}
