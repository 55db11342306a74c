//! The CronJob type, shared by `batch/v1` CronJob, `batch/v1beta1` CronJob and `punctual.dev/v1`
//! ScheduledJob.
//!
//! The three kinds have the same schema. They differ in `apiVersion` and `kind` (see
//! [`CronJobKind`]) and in the values that a server accepts (see `validate`). `jobTemplate` stays
//! raw JSON because the controller copies it and must not lose fields that this version does not
//! know.
//!
//! On a cluster whose CronJobs do not have our fields, users set the policy `CatchUp` (run all pending
//! slots in order) and our other fields with annotations. [`CronJob::concurrency_policy`],
//! [`CronJob::jitter_percent`] and [`CronJob::pending_deadline_seconds`] read both and return the
//! effective values.

mod effective_schedule;
mod pending_deadline;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

pub use self::effective_schedule::EffectiveSchedule;
pub use self::pending_deadline::{PendingDeadlineConflict, pending_deadline_conflicts};
use crate::job::JobTemplateSpec;
use crate::meta::{Condition, Extra, ObjectMeta, ObjectReference, is_zero};
use crate::slot_record::SlotRecord;
use crate::time::Time;
use crate::well_known::annotations;

/// The API kinds that hold the same CronJob spec and status: both versions of Kubernetes' CronJob, and
/// our own ScheduledJob.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CronJobKind {
    /// `batch/v1` CronJob.
    BatchV1,
    /// `batch/v1beta1` CronJob.
    BatchV1Beta1,
    /// `punctual.dev/v1` ScheduledJob.
    ScheduledJob,
}

impl CronJobKind {
    /// All variants.
    pub const ALL: [CronJobKind; 3] =
        [CronJobKind::BatchV1, CronJobKind::BatchV1Beta1, CronJobKind::ScheduledJob];

    /// The API group and version.
    pub fn api_version(self) -> &'static str {
        match self {
            CronJobKind::BatchV1 => "batch/v1",
            CronJobKind::BatchV1Beta1 => "batch/v1beta1",
            CronJobKind::ScheduledJob => "punctual.dev/v1",
        }
    }

    /// The API group.
    pub fn group(self) -> &'static str {
        match self {
            CronJobKind::BatchV1 | CronJobKind::BatchV1Beta1 => "batch",
            CronJobKind::ScheduledJob => "punctual.dev",
        }
    }

    /// The kind.
    pub fn kind(self) -> &'static str {
        match self {
            CronJobKind::BatchV1 | CronJobKind::BatchV1Beta1 => "CronJob",
            CronJobKind::ScheduledJob => "ScheduledJob",
        }
    }

    /// The plural resource name, as in request paths.
    pub fn plural(self) -> &'static str {
        match self {
            CronJobKind::BatchV1 | CronJobKind::BatchV1Beta1 => "cronjobs",
            CronJobKind::ScheduledJob => "scheduledjobs",
        }
    }

    /// Finds the kind of an object by its `apiVersion` and `kind`.
    pub fn from_gvk(api_version: &str, kind: &str) -> Option<CronJobKind> {
        CronJobKind::ALL.into_iter().find(|f| f.api_version() == api_version && f.kind() == kind)
    }
}

/// A CronJob of any kind.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CronJob {
    /// The API group and version.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The object metadata.
    pub metadata: ObjectMeta,
    /// The desired state.
    pub spec: CronJobSpec,
    /// The observed state.
    pub status: CronJobStatus,
    /// Undeclared fields, preserved as received.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The desired state of a CronJob.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CronJobSpec {
    /// The schedule as a cron expression.
    pub schedule: String,
    /// The time zone of the schedule; the controller's local zone if absent. See
    /// [`CronJobSpec::zone_name`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// How many seconds late a run may start; no limit if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starting_deadline_seconds: Option<i64>,
    /// `Allow`, `Forbid`, `Replace` or `CatchUp`, as written by the client; may be empty before
    /// defaulting.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub concurrency_policy: String,
    /// Whether new runs are suspended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,
    /// The Job template as raw JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_template: Option<Box<RawValue>>,
    /// How many successful Jobs to keep; 3 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub successful_jobs_history_limit: Option<i32>,
    /// How many failed Jobs to keep; 1 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_jobs_history_limit: Option<i32>,
    /// The jitter: spreads starts over this percentage of the interval between slots, 0 to 50.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<i32>,
    /// How many seconds a run may take until its first Pod is ready; no limit if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending_deadline_seconds: Option<i64>,
    /// How many of the newest pending slots `CatchUp` runs; 1,000 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub catch_up_limit: Option<i32>,
    /// Undeclared fields, preserved as received.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The observed state of a CronJob.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CronJobStatus {
    /// The active Jobs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub active: Vec<ObjectReference>,
    /// The latest slot for which a Job was started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_schedule_time: Option<Time>,
    /// When a Job last completed successfully.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_successful_time: Option<Time>,
    /// When the next run starts, including jitter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_schedule_time: Option<Time>,
    /// How many runs succeeded.
    #[serde(skip_serializing_if = "is_zero")]
    pub successful_runs: i64,
    /// How many runs failed, including missed slots.
    #[serde(skip_serializing_if = "is_zero")]
    pub failed_runs: i64,
    /// How many runs failed since the last success.
    #[serde(skip_serializing_if = "is_zero")]
    pub failures_since_success: i64,
    /// How many slots were missed: their deadline passed before they started.
    #[serde(skip_serializing_if = "is_zero")]
    pub missed_runs: i64,
    /// How many slots were skipped: they were pending when a later slot started.
    #[serde(skip_serializing_if = "is_zero")]
    pub skipped_runs: i64,
    /// The latest missed slot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_missed_time: Option<Time>,
    /// The latest skipped slot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_skipped_time: Option<Time>,
    /// The time at which the controller saw that the CronJob is suspended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspended_since: Option<Time>,
    /// The newest slot records and those of active runs, in the order of their slots.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub slots: Vec<SlotRecord>,
    /// The conditions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Undeclared fields, preserved as received.
    #[serde(flatten)]
    pub extra: Extra,
}

/// How to handle a slot that is due while an earlier Job is active.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ConcurrencyPolicy {
    /// Starts a concurrent Job.
    #[default]
    Allow,
    /// Starts no Job while one is active. When it ends, the latest pending slot starts.
    Forbid,
    /// Deletes the active Job and starts a new one.
    Replace,
    /// Waits until the active Job finishes, then starts the pending slots one after another.
    CatchUp,
}

impl ConcurrencyPolicy {
    /// The policies of Kubernetes, in the order of its error messages.
    pub const KUBERNETES: [ConcurrencyPolicy; 3] =
        [ConcurrencyPolicy::Allow, ConcurrencyPolicy::Forbid, ConcurrencyPolicy::Replace];

    /// Parses the name of a policy.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "Allow" => Some(ConcurrencyPolicy::Allow),
            "Forbid" => Some(ConcurrencyPolicy::Forbid),
            "Replace" => Some(ConcurrencyPolicy::Replace),
            "CatchUp" => Some(ConcurrencyPolicy::CatchUp),
            _ => None,
        }
    }

    /// Returns the name of the policy.
    pub fn as_str(self) -> &'static str {
        match self {
            ConcurrencyPolicy::Allow => "Allow",
            ConcurrencyPolicy::Forbid => "Forbid",
            ConcurrencyPolicy::Replace => "Replace",
            ConcurrencyPolicy::CatchUp => "CatchUp",
        }
    }
}

/// The maximum jitter in percent. A higher value could let a run start close to the next slot.
pub const JITTER_PERCENT_MAX: i32 = 50;

/// How many pending slots `CatchUp` runs if the CronJob does not say.
pub const CATCH_UP_LIMIT_DEFAULT: i32 = 1_000;

/// The largest value of `spec.catchUpLimit`.
pub const CATCH_UP_LIMIT_MAX: i32 = 100_000;

impl CronJobSpec {
    /// Returns the time zone of the schedule. An empty name means that there is none, like an absent
    /// one.
    pub fn zone_name(&self) -> Option<&str> {
        self.time_zone.as_deref().filter(|zone| !zone.is_empty())
    }
}

impl CronJob {
    /// Returns the kind that `apiVersion` and `kind` name.
    pub fn cron_job_kind(&self) -> Option<CronJobKind> {
        CronJobKind::from_gvk(&self.api_version, &self.kind)
    }

    /// Returns the effective policy: the annotation if it names a policy, else the field, else
    /// `Allow`.
    pub fn concurrency_policy(&self) -> ConcurrencyPolicy {
        self.metadata
            .annotation(annotations::CONCURRENCY_POLICY)
            .and_then(ConcurrencyPolicy::parse)
            .or_else(|| ConcurrencyPolicy::parse(&self.spec.concurrency_policy))
            .unwrap_or_default()
    }

    /// Returns the effective jitter in percent: the field, else the annotation, else 0. Clamps the
    /// value to the valid range, so that no object makes a run start before its slot.
    pub fn jitter_percent(&self) -> i32 {
        let annotated = || self.metadata.annotation(annotations::JITTER)?.trim().parse().ok();
        self.spec.jitter.or_else(annotated).unwrap_or(0).clamp(0, JITTER_PERCENT_MAX)
    }

    /// Returns how many of the newest pending slots `CatchUp` runs: the field, else the annotation, else
    /// the default. Clamps the value to the valid range.
    pub fn catch_up_limit(&self) -> i32 {
        let annotated =
            || self.metadata.annotation(annotations::CATCH_UP_LIMIT)?.trim().parse().ok();
        let limit = self.spec.catch_up_limit.or_else(annotated).unwrap_or(CATCH_UP_LIMIT_DEFAULT);
        limit.clamp(1, CATCH_UP_LIMIT_MAX)
    }

    /// Returns whether the CronJob is suspended.
    pub fn is_suspended(&self) -> bool {
        self.spec.suspend == Some(true)
    }

    /// Returns the Job template as JSON, or `{}` if it is absent.
    pub fn job_template_json(&self) -> &str {
        self.spec.job_template.as_deref().map_or("{}", RawValue::get)
    }

    /// Parses the Job template. Fails only on a template that every server rejects.
    pub fn job_template(&self) -> Result<JobTemplateSpec, serde_json::Error> {
        serde_json::from_str(self.job_template_json())
    }

    /// Returns how many successful and how many failed Jobs to keep.
    pub fn history_limits(&self) -> (usize, usize) {
        let limit = |value: Option<i32>, otherwise| {
            value.map_or(otherwise, |value| usize::try_from(value).unwrap_or(0))
        };
        let spec = &self.spec;
        (limit(spec.successful_jobs_history_limit, 3), limit(spec.failed_jobs_history_limit, 1))
    }

    /// Returns `namespace/name`, for messages.
    pub fn key(&self) -> Cow<'_, str> {
        match self.metadata.namespace.as_str() {
            "" => Cow::Borrowed(&self.metadata.name),
            namespace => Cow::Owned(format!("{namespace}/{}", self.metadata.name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cron_job_round_trip_preserves_every_field() {
        let text = concat!(
            r#"{"apiVersion":"batch/v1","kind":"CronJob","metadata":{"name":"a","x":1},"#,
            r#""spec":{"schedule":"* * * * *","jobTemplate":{ "spec" : {"new":1.0, "b":[ ]}},"#,
            r#""jitter":10,"novel":{"deep":[null,true]}},"#,
            r#""status":{"missedRuns":2,"future":"y"},"top":[]}"#
        );
        let cron_job: CronJob = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&cron_job).unwrap(), text);
        assert_eq!(cron_job.job_template_json(), r#"{ "spec" : {"new":1.0, "b":[ ]}}"#);
    }

    #[test]
    fn annotations_replace_missing_extension_fields() {
        for (policy, jitter, annotations, want) in [
            ("", None, "{}", ("Allow", 0)),
            ("Forbid", Some(7), "{}", ("Forbid", 7)),
            ("Allow", None, r#"{"punctual.dev/concurrency-policy":"CatchUp"}"#, ("CatchUp", 0)),
            ("Replace", None, r#"{"punctual.dev/concurrency-policy":"Odd"}"#, ("Replace", 0)),
            ("Allow", None, r#"{"punctual.dev/jitter":"20"}"#, ("Allow", 20)),
            ("Allow", Some(5), r#"{"punctual.dev/jitter":"20"}"#, ("Allow", 5)),
            ("Allow", None, r#"{"punctual.dev/jitter":"-3"}"#, ("Allow", 0)),
            ("Allow", None, r#"{"punctual.dev/jitter":"900"}"#, ("Allow", 50)),
            ("Allow", None, r#"{"punctual.dev/jitter":"many"}"#, ("Allow", 0)),
        ] {
            let mut cron_job = CronJob::default();
            cron_job.spec.concurrency_policy = policy.into();
            cron_job.spec.jitter = jitter;
            cron_job.metadata.annotations = serde_json::from_str(annotations).unwrap();
            let got = (cron_job.concurrency_policy().as_str(), cron_job.jitter_percent());
            assert_eq!(got, want, "{policy} {jitter:?} {annotations}");
        }
    }
}
