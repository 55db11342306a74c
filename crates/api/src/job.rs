//! The Job (`batch/v1`): its spec with every policy, and its status.
//!
//! Enumerated words are kept as text: an object with a word this version does not know must still
//! be readable, and `validate` is what refuses it. The helpers here answer what controllers ask.

use serde::{Deserialize, Serialize};

use crate::meta::{Extra, LabelSelector, ObjectMeta, TemplateMeta, is_zero};
use crate::pod::PodTemplateSpec;
use crate::time::Time;

/// A Job.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Job {
    /// Group and version.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Metadata.
    pub metadata: ObjectMeta,
    /// What is wanted.
    pub spec: JobSpec,
    /// What was seen.
    pub status: JobStatus,
    /// Fields not named here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A Job to be (`spec.jobTemplate` of a CronJob).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobTemplateSpec {
    /// Labels and annotations for the Job.
    pub metadata: TemplateMeta,
    /// Spec for the Job.
    pub spec: JobSpec,
    /// Fields not named here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What is wanted of a Job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobSpec {
    /// How many Pods at most at a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallelism: Option<i32>,
    /// How many Pods must succeed; absent: one success is enough, the others may then finish.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completions: Option<i32>,
    /// How long the Job may be active.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_deadline_seconds: Option<i64>,
    /// What a Pod's failure means, by exit code or condition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_failure_policy: Option<PodFailurePolicy>,
    /// When an Indexed Job has succeeded although not every index did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success_policy: Option<SuccessPolicy>,
    /// How many failures before the Job fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff_limit: Option<i32>,
    /// How many failures of one index before the index fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff_limit_per_index: Option<i32>,
    /// How many failed indexes before the Job fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_failed_indexes: Option<i32>,
    /// Which Pods are the Job's; made by the server unless `manual_selector`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
    /// Whether the selector is the user's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manual_selector: Option<bool>,
    /// The Pod to make.
    pub template: PodTemplateSpec,
    /// How long the finished Job is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_seconds_after_finished: Option<i32>,
    /// `NonIndexed` or `Indexed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_mode: Option<String>,
    /// Whether Pods are held back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,
    /// `TerminatingOrFailed` or `Failed`: when a Pod is replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_replacement_policy: Option<String>,
    /// Controller that is to manage the Job, if not the usual one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub managed_by: Option<String>,
    /// Fields not named here.
    #[serde(flatten)]
    pub extra: Extra,
}

impl JobSpec {
    /// Whether each Pod has an index.
    pub fn is_indexed(&self) -> bool {
        self.completion_mode.as_deref() == Some(INDEXED)
    }

    /// Whether Pods are held back.
    pub fn is_suspended(&self) -> bool {
        self.suspend == Some(true)
    }
}

/// Completion mode of a Job whose Pods have indexes.
pub const INDEXED: &str = "Indexed";
/// Completion mode of a Job whose Pods are all alike.
pub const NON_INDEXED: &str = "NonIndexed";

/// What a Pod's failure means: the first rule that applies decides.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PodFailurePolicy {
    /// The rules, in order.
    pub rules: Vec<PodFailurePolicyRule>,
}

/// One rule of a [`PodFailurePolicy`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodFailurePolicyRule {
    /// `FailJob`, `FailIndex`, `Ignore` or `Count`.
    pub action: String,
    /// Applies by exit code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_exit_codes: Option<OnExitCodes>,
    /// Applies by condition of the Pod.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub on_pod_conditions: Vec<OnPodCondition>,
}

/// Exit codes to which a rule applies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OnExitCodes {
    /// The container; any when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container_name: Option<String>,
    /// `In` or `NotIn`.
    pub operator: String,
    /// The codes, ascending.
    pub values: Vec<i32>,
}

/// A condition of a Pod to which a rule applies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OnPodCondition {
    /// Type of the condition.
    #[serde(rename = "type")]
    pub condition_type: String,
    /// Status of the condition.
    pub status: String,
}

/// When an Indexed Job has succeeded early: as soon as one rule holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SuccessPolicy {
    /// The rules.
    pub rules: Vec<SuccessPolicyRule>,
}

/// One rule of a [`SuccessPolicy`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SuccessPolicyRule {
    /// Indexes that count, such as `0,2-5`; all when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub succeeded_indexes: Option<String>,
    /// How many of them must succeed; all when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub succeeded_count: Option<i32>,
}

/// What was seen of a Job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobStatus {
    /// Conditions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<JobCondition>,
    /// When the Job was started, or resumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Time>,
    /// When the Job succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_time: Option<Time>,
    /// Pods that run or are about to.
    #[serde(skip_serializing_if = "is_zero")]
    pub active: i32,
    /// Pods that succeeded.
    #[serde(skip_serializing_if = "is_zero")]
    pub succeeded: i32,
    /// Pods that failed.
    #[serde(skip_serializing_if = "is_zero")]
    pub failed: i32,
    /// Pods that are being deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminating: Option<i32>,
    /// Indexes that succeeded, such as `0,2-5`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub completed_indexes: String,
    /// Indexes that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_indexes: Option<String>,
    /// Pods that ended and are not yet in the counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uncounted_terminated_pods: Option<UncountedTerminatedPods>,
    /// Pods that are ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<i32>,
    /// Fields not named here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// UIDs of Pods that ended and are not yet in the counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UncountedTerminatedPods {
    /// Those that succeeded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub succeeded: Vec<String>,
    /// Those that failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<String>,
}

impl UncountedTerminatedPods {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.succeeded.is_empty() && self.failed.is_empty()
    }
}

/// A condition of a Job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobCondition {
    /// One of [`condition`]'s names.
    #[serde(rename = "type")]
    pub condition_type: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// When the condition was last looked at.
    pub last_probe_time: Option<Time>,
    /// When `status` last changed.
    pub last_transition_time: Option<Time>,
    /// One word for programs.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// A sentence for people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// Types of a Job's conditions.
pub mod condition {
    /// All Pods held back.
    pub const SUSPENDED: &str = "Suspended";
    /// Ended well.
    pub const COMPLETE: &str = "Complete";
    /// Ended badly.
    pub const FAILED: &str = "Failed";
    /// Will have ended badly once its Pods are gone.
    pub const FAILURE_TARGET: &str = "FailureTarget";
    /// Will have ended well once its Pods are gone.
    pub const SUCCESS_CRITERIA_MET: &str = "SuccessCriteriaMet";
}

impl JobStatus {
    /// The condition of that type.
    pub fn condition(&self, condition_type: &str) -> Option<&JobCondition> {
        self.conditions.iter().find(|condition| condition.condition_type == condition_type)
    }

    /// Whether a condition of that type has the status `True`.
    pub fn is_true(&self, condition_type: &str) -> bool {
        self.conditions.iter().any(|c| c.condition_type == condition_type && c.status == "True")
    }

    /// Whether the Job ended, either way.
    pub fn is_finished(&self) -> bool {
        self.is_true(condition::COMPLETE) || self.is_true(condition::FAILED)
    }
}
