//! The few fields of stored objects that the rules need. Everything else is skipped over.

use jiff::Timestamp;
use punctual_api::ConcurrencyPolicy;
use serde::Deserialize;
use serde::de::IgnoredAny;

/// A CronJob or a ScheduledJob.
#[derive(Deserialize)]
pub(super) struct CronJobText {
    pub(super) metadata: MetaText,
    #[serde(default)]
    spec: SpecText,
    #[serde(default)]
    pub(super) status: StatusText,
}

/// What every object has.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct MetaText {
    pub(super) uid: String,
    pub(super) creation_timestamp: Option<Timestamp>,
    pub(super) deletion_timestamp: Option<IgnoredAny>,
    pub(super) annotations: AnnotationsText,
    pub(super) owner_references: Vec<OwnerText>,
    pub(super) finalizers: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct AnnotationsText {
    #[serde(rename = "batch.kubernetes.io/cronjob-scheduled-timestamp")]
    slot: Option<String>,
    #[serde(rename = "punctual.dev/concurrency-policy")]
    policy: Option<String>,
    #[serde(rename = "punctual.dev/jitter")]
    jitter: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct OwnerText {
    pub(super) uid: String,
    #[serde(default)]
    kind: String,
    controller: Option<bool>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct SpecText {
    schedule: String,
    time_zone: Option<String>,
    starting_deadline_seconds: Option<i64>,
    concurrency_policy: String,
    suspend: Option<bool>,
    successful_jobs_history_limit: Option<i64>,
    failed_jobs_history_limit: Option<i64>,
    jitter: Option<i64>,
}

/// The status of a CronJob.
#[derive(Clone, Debug, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct StatusText {
    pub(super) active: Vec<ActiveText>,
    pub(super) last_schedule_time: Option<Timestamp>,
    pub(super) last_successful_time: Option<Timestamp>,
    pub(super) last_missed_time: Option<Timestamp>,
    pub(super) next_schedule_time: Option<Timestamp>,
    pub(super) successful_runs: i64,
    pub(super) failed_runs: i64,
    pub(super) missed_runs: i64,
}

/// A run that goes on, as the status lists it.
#[derive(Clone, Debug, Deserialize, Default)]
#[serde(default)]
pub(super) struct ActiveText {
    pub(super) name: String,
    pub(super) uid: String,
}

/// What a CronJob is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Spec {
    pub(super) schedule: String,
    pub(super) zone: Option<String>,
    pub(super) policy: ConcurrencyPolicy,
    /// In seconds.
    pub(super) deadline: Option<i64>,
    pub(super) is_suspended: bool,
    /// Percent.
    pub(super) jitter: i64,
    /// How many complete and failed Jobs are kept.
    pub(super) limits: (usize, usize),
}

impl Spec {
    /// Whether two say the same about when to run.
    pub(super) fn has_schedule_of(&self, other: &Spec) -> bool {
        (&self.schedule, &self.zone) == (&other.schedule, &other.zone)
    }
}

impl CronJobText {
    /// What it is to do.
    pub(super) fn spec(&self) -> Spec {
        let SpecText { schedule, time_zone, concurrency_policy, .. } = &self.spec;
        let marks = &self.metadata.annotations;
        let annotated = marks.policy.as_deref().and_then(policy);
        let jitter = || marks.jitter.as_deref()?.trim().parse().ok();
        let limit = |limit: Option<i64>, default: usize| {
            limit.map_or(default, |limit| usize::try_from(limit).unwrap_or_default())
        };
        Spec {
            schedule: schedule.clone(),
            zone: time_zone.clone(),
            policy: annotated.or_else(|| policy(concurrency_policy)).unwrap_or_default(),
            deadline: self.spec.starting_deadline_seconds,
            is_suspended: self.spec.suspend == Some(true),
            jitter: self.spec.jitter.or_else(jitter).unwrap_or(0).clamp(0, 50),
            limits: (
                limit(self.spec.successful_jobs_history_limit, 3),
                limit(self.spec.failed_jobs_history_limit, 1),
            ),
        }
    }
}

fn policy(text: &str) -> Option<ConcurrencyPolicy> {
    match text {
        "Allow" => Some(ConcurrencyPolicy::Allow),
        "Forbid" => Some(ConcurrencyPolicy::Forbid),
        "Replace" => Some(ConcurrencyPolicy::Replace),
        "CatchUp" => Some(ConcurrencyPolicy::CatchUp),
        _ => None,
    }
}

impl MetaText {
    /// The UID of whoever controls the object.
    pub(super) fn controller(&self) -> Option<&str> {
        self.owner_references
            .iter()
            .find(|owner| owner.controller == Some(true))
            .map(|owner| &*owner.uid)
    }

    /// The kind of whoever controls the object, as the object says.
    pub(super) fn controller_kind(&self) -> &str {
        let mut owners = self.owner_references.iter();
        owners.find(|owner| owner.controller == Some(true)).map_or("", |owner| &owner.kind)
    }

    /// The slot that a Job says it is for, in seconds since 1970.
    pub(super) fn slot(&self) -> Option<i64> {
        let slot: Timestamp = self.annotations.slot.as_deref()?.parse().ok()?;
        Some(slot.as_second())
    }

    /// Whether the object waits for its slot to be recorded.
    pub(super) fn is_held(&self) -> bool {
        self.finalizers.iter().any(|name| name == "punctual.dev/slot-recorded")
    }
}

/// A Job.
#[derive(Deserialize)]
pub(super) struct JobText {
    pub(super) metadata: MetaText,
    #[serde(default)]
    spec: JobSpecText,
    #[serde(default)]
    pub(super) status: JobStatusText,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct JobSpecText {
    ttl_seconds_after_finished: Option<IgnoredAny>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct JobStatusText {
    conditions: Vec<ConditionText>,
    pub(super) start_time: Option<Timestamp>,
    pub(super) completion_time: Option<Timestamp>,
    pub(super) succeeded: i64,
    pub(super) failed: i64,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ConditionText {
    #[serde(rename = "type")]
    kind: String,
    status: String,
}

/// How a Job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Complete,
    Failed,
}

impl JobText {
    /// Whether it goes by itself some time after its end.
    pub(super) fn has_ttl(&self) -> bool {
        self.spec.ttl_seconds_after_finished.is_some()
    }

    /// How it ended, if it has.
    pub(super) fn ending(&self) -> Option<Ending> {
        let holds = self.status.conditions.iter().filter(|condition| condition.status == "True");
        holds.into_iter().find_map(|condition| match condition.kind.as_str() {
            "Complete" => Some(Ending::Complete),
            "Failed" => Some(Ending::Failed),
            _ => None,
        })
    }
}

/// Any object of which only the metadata matters.
#[derive(Deserialize)]
pub(super) struct PlainText {
    pub(super) metadata: MetaText,
}

/// An event.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct EventText {
    pub(super) involved_object: InvolvedText,
    #[serde(default)]
    pub(super) reason: String,
    #[serde(default)]
    pub(super) message: String,
    #[serde(default)]
    pub(super) count: i64,
}

#[derive(Debug, Deserialize)]
pub(super) struct InvolvedText {
    #[serde(default)]
    pub(super) uid: String,
}
