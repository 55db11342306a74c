//! The CronJob: one internal type for `batch/v1` and `batch/v1beta1` CronJob and for
//! `punctual.dev/v1` ScheduledJob.
//!
//! The three have the same schema; they differ in the name they go by (see [`CronJobKind`]) and in
//! what a server accepts of it (see `validate`). `jobTemplate` is kept as the text that came:
//! the controller copies it, and a field that this version does not know must not be lost.
//!
//! On a cluster whose CronJob has no such fields, the policy `CatchUp` and the jitter travel as
//! annotations; [`CronJob::concurrency_policy`] and [`CronJob::jitter_percent`] give what counts.

mod schedule_since;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

pub use self::schedule_since::ScheduleSince;
use crate::job::JobTemplateSpec;
use crate::meta::{Condition, Extra, ObjectMeta, ObjectReference, is_zero};
use crate::time::Time;
use crate::well_known::annotations;

/// The names under which a CronJob is served.
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
    /// All of them.
    pub const ALL: [CronJobKind; 3] =
        [CronJobKind::BatchV1, CronJobKind::BatchV1Beta1, CronJobKind::ScheduledJob];

    /// Group and version.
    pub fn api_version(self) -> &'static str {
        match self {
            CronJobKind::BatchV1 => "batch/v1",
            CronJobKind::BatchV1Beta1 => "batch/v1beta1",
            CronJobKind::ScheduledJob => "punctual.dev/v1",
        }
    }

    /// Group.
    pub fn group(self) -> &'static str {
        match self {
            CronJobKind::BatchV1 | CronJobKind::BatchV1Beta1 => "batch",
            CronJobKind::ScheduledJob => "punctual.dev",
        }
    }

    /// Kind.
    pub fn kind(self) -> &'static str {
        match self {
            CronJobKind::BatchV1 | CronJobKind::BatchV1Beta1 => "CronJob",
            CronJobKind::ScheduledJob => "ScheduledJob",
        }
    }

    /// Resource, as in paths.
    pub fn plural(self) -> &'static str {
        match self {
            CronJobKind::BatchV1 | CronJobKind::BatchV1Beta1 => "cronjobs",
            CronJobKind::ScheduledJob => "scheduledjobs",
        }
    }

    /// The flavor of an object, from its `apiVersion` and `kind`.
    pub fn from_gvk(api_version: &str, kind: &str) -> Option<CronJobKind> {
        CronJobKind::ALL.into_iter().find(|f| f.api_version() == api_version && f.kind() == kind)
    }
}

/// A CronJob of any flavor.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CronJob {
    /// Group and version.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Metadata.
    pub metadata: ObjectMeta,
    /// What is wanted.
    pub spec: CronJobSpec,
    /// What was seen.
    pub status: CronJobStatus,
    /// Fields not named here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What is wanted of a CronJob.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CronJobSpec {
    /// When to run, as cron text.
    pub schedule: String,
    /// Zone in which the schedule is read; the controller's own when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// How late a run may start; without it, however late.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starting_deadline_seconds: Option<i64>,
    /// `Allow`, `Forbid`, `Replace` or `CatchUp`, as written; may be empty before defaulting.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub concurrency_policy: String,
    /// Whether to start nothing for now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,
    /// The Job to make, as the text that came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_template: Option<Box<RawValue>>,
    /// How many successful Jobs to keep; 3 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub successful_jobs_history_limit: Option<i32>,
    /// How many failed Jobs to keep; 1 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_jobs_history_limit: Option<i32>,
    /// Spread of starts, in percent of the time between slots, 0 to 50.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<i32>,
    /// Fields not named here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What was seen of a CronJob.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CronJobStatus {
    /// Jobs that run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub active: Vec<ObjectReference>,
    /// Slot of the latest run that was started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_schedule_time: Option<Time>,
    /// When a run last ended well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_successful_time: Option<Time>,
    /// When the next run will start, jitter included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_schedule_time: Option<Time>,
    /// Runs that ended well.
    #[serde(skip_serializing_if = "is_zero")]
    pub successful_runs: i64,
    /// Runs that failed, misses included.
    #[serde(skip_serializing_if = "is_zero")]
    pub failed_runs: i64,
    /// Runs that failed since one ended well.
    #[serde(skip_serializing_if = "is_zero")]
    pub failures_since_success: i64,
    /// Slots whose deadline passed before they could start.
    #[serde(skip_serializing_if = "is_zero")]
    pub missed_runs: i64,
    /// The latest such slot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_missed_time: Option<Time>,
    /// Conditions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Fields not named here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What to do about a slot while an earlier run goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ConcurrencyPolicy {
    /// Start beside it.
    #[default]
    Allow,
    /// Do not start; the slot is gone.
    Forbid,
    /// Stop it and start.
    Replace,
    /// Wait for it, then start every slot in turn.
    CatchUp,
}

impl ConcurrencyPolicy {
    /// Kubernetes' own policies, in the order in which it lists them.
    pub const KUBERNETES: [ConcurrencyPolicy; 3] =
        [ConcurrencyPolicy::Allow, ConcurrencyPolicy::Forbid, ConcurrencyPolicy::Replace];

    /// The policy of that name.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "Allow" => Some(ConcurrencyPolicy::Allow),
            "Forbid" => Some(ConcurrencyPolicy::Forbid),
            "Replace" => Some(ConcurrencyPolicy::Replace),
            "CatchUp" => Some(ConcurrencyPolicy::CatchUp),
            _ => None,
        }
    }

    /// The policy's name.
    pub fn as_str(self) -> &'static str {
        match self {
            ConcurrencyPolicy::Allow => "Allow",
            ConcurrencyPolicy::Forbid => "Forbid",
            ConcurrencyPolicy::Replace => "Replace",
            ConcurrencyPolicy::CatchUp => "CatchUp",
        }
    }
}

/// The most jitter there may be, in percent: beyond it two slots could come close to overtaking.
pub const JITTER_PERCENT_MAX: i32 = 50;

impl CronJob {
    /// The flavor this object says it has.
    pub fn cron_job_kind(&self) -> Option<CronJobKind> {
        CronJobKind::from_gvk(&self.api_version, &self.kind)
    }

    /// The policy that counts: the annotation where it names one, else the field, else `Allow`.
    pub fn concurrency_policy(&self) -> ConcurrencyPolicy {
        self.metadata
            .annotation(annotations::CONCURRENCY_POLICY)
            .and_then(ConcurrencyPolicy::parse)
            .or_else(|| ConcurrencyPolicy::parse(&self.spec.concurrency_policy))
            .unwrap_or_default()
    }

    /// The jitter that counts, in percent: the field, else the annotation, else none. A value out
    /// of range is cut to the range, so that no object can make a run start before its slot.
    pub fn jitter_percent(&self) -> i32 {
        let annotated = || self.metadata.annotation(annotations::JITTER)?.trim().parse().ok();
        self.spec.jitter.or_else(annotated).unwrap_or(0).clamp(0, JITTER_PERCENT_MAX)
    }

    /// Whether the CronJob is suspended.
    pub fn is_suspended(&self) -> bool {
        self.spec.suspend == Some(true)
    }

    /// The template as text; `{}` when there is none.
    pub fn job_template_json(&self) -> &str {
        self.spec.job_template.as_deref().map_or("{}", RawValue::get)
    }

    /// The template, read. Fails only on a template that no server would have accepted.
    pub fn job_template(&self) -> Result<JobTemplateSpec, serde_json::Error> {
        serde_json::from_str(self.job_template_json())
    }

    /// How many finished Jobs to keep: successful and failed.
    pub fn history_limits(&self) -> (usize, usize) {
        let limit = |value: Option<i32>, otherwise| {
            value.map_or(otherwise, |value| usize::try_from(value).unwrap_or(0))
        };
        let spec = &self.spec;
        (limit(spec.successful_jobs_history_limit, 3), limit(spec.failed_jobs_history_limit, 1))
    }

    /// `namespace/name`, for messages.
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
    fn a_cron_job_is_written_back_with_every_field_it_came_with() {
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
    fn annotations_stand_in_for_fields_a_cluster_does_not_have() {
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
