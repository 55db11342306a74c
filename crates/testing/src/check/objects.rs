//! Parses the fields of stored objects that the rules need. All others are skipped.

use jiff::Timestamp;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

use crate::ConcurrencyPolicy;
use crate::oracle::UnixSeconds;

/// A CronJob or a ScheduledJob.
#[derive(Deserialize)]
pub(super) struct StoredCronJob {
    pub(super) metadata: StoredMetadata,
    #[serde(default)]
    spec: StoredSpec,
    #[serde(default)]
    pub(super) status: StoredStatus,
}

/// The metadata of an object.
#[derive(Debug, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct StoredMetadata {
    pub(super) uid: String,
    pub(super) creation_timestamp: Option<Timestamp>,
    pub(super) deletion_timestamp: Option<IgnoredAny>,
    pub(super) deletion_grace_period_seconds: Option<i64>,
    pub(super) annotations: StoredAnnotations,
    pub(super) owner_references: Vec<StoredOwner>,
    pub(super) finalizers: Vec<String>,
}

#[derive(Debug, Deserialize, Default)]
#[serde(default)]
pub(super) struct StoredAnnotations {
    #[serde(rename = "batch.kubernetes.io/cronjob-scheduled-timestamp")]
    slot: Option<String>,
    #[serde(rename = "punctual.dev/concurrency-policy")]
    policy: Option<String>,
    #[serde(rename = "punctual.dev/jitter")]
    jitter: Option<String>,
    #[serde(rename = "punctual.dev/run-request-uid")]
    request_uid: Option<String>,
    #[serde(rename = "punctual.dev/run-request-index")]
    request_index: Option<String>,
    #[serde(rename = "punctual.dev/suspended-until")]
    suspended_until: Option<Timestamp>,
}

#[derive(Debug, Deserialize)]
pub(super) struct StoredOwner {
    pub(super) uid: String,
    #[serde(default)]
    kind: String,
    controller: Option<bool>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct StoredSpec {
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
pub(super) struct StoredStatus {
    pub(super) active: Vec<StoredActiveJob>,
    pub(super) last_schedule_time: Option<Timestamp>,
    pub(super) last_successful_time: Option<Timestamp>,
    pub(super) last_missed_time: Option<Timestamp>,
    pub(super) next_schedule_time: Option<Timestamp>,
    pub(super) successful_runs: i64,
    pub(super) failed_runs: i64,
    pub(super) missed_runs: i64,
    pub(super) skipped_runs: i64,
    pub(super) last_skipped_time: Option<Timestamp>,
    pub(super) slots: Vec<StoredSlotRecord>,
}

impl StoredStatus {
    /// The last slot that was started, missed or skipped.
    pub(super) fn last_decided_slot(&self) -> Option<Timestamp> {
        self.last_schedule_time.max(self.last_missed_time).max(self.last_skipped_time)
    }
}

/// A slot record in the status.
#[derive(Clone, Debug, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct StoredSlotRecord {
    #[serde(deserialize_with = "unix_seconds")]
    pub(super) slot: UnixSeconds,
    #[serde(deserialize_with = "some_unix_seconds")]
    pub(super) through: Option<UnixSeconds>,
    pub(super) count: Option<i64>,
    pub(super) decision: String,
    pub(super) reason: String,
    pub(super) result: Option<String>,
    pub(super) job: Option<StoredActiveJob>,
    pub(super) request: String,
}

/// A slot record as the server lists it.
#[derive(Debug, Deserialize)]
pub(super) struct ServedSlotRecord {
    #[serde(rename = "cronJobUID")]
    pub(super) cron_job_uid: String,
    #[serde(flatten)]
    pub(super) record: StoredSlotRecord,
}

impl StoredSlotRecord {
    /// The number of slots.
    pub(super) fn slots(&self) -> i64 {
        self.count.unwrap_or(1)
    }

    pub(super) fn last_slot(&self) -> UnixSeconds {
        self.through.unwrap_or(self.slot)
    }

    /// Whether it is about a run of the schedule.
    pub(super) fn is_scheduled(&self) -> bool {
        self.request.is_empty()
    }

    pub(super) fn job_uid(&self) -> Option<&str> {
        self.job.as_ref().map(|job| &*job.uid)
    }
}

fn unix_seconds<'de, D: Deserializer<'de>>(input: D) -> Result<UnixSeconds, D::Error> {
    Timestamp::deserialize(input).map(Timestamp::as_second)
}

fn some_unix_seconds<'de, D: Deserializer<'de>>(input: D) -> Result<Option<UnixSeconds>, D::Error> {
    Option::<Timestamp>::deserialize(input).map(|at| at.map(Timestamp::as_second))
}

/// An active Job in the status.
#[derive(Clone, Debug, Deserialize, Default)]
#[serde(default)]
pub(super) struct StoredActiveJob {
    pub(super) name: String,
    pub(super) uid: String,
}

/// The spec of a CronJob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ObservedSpec {
    pub(super) schedule: String,
    pub(super) zone: Option<String>,
    pub(super) policy: ConcurrencyPolicy,
    /// `startingDeadlineSeconds`.
    pub(super) deadline: Option<i64>,
    pub(super) is_suspended: bool,
    pub(super) suspended_until: Option<Timestamp>,
    /// In percent.
    pub(super) jitter: i64,
    /// The history limits of complete and of failed Jobs.
    pub(super) limits: (usize, usize),
}

impl ObservedSpec {
    /// Whether both have the same schedule and zone.
    pub(super) fn has_schedule_of(&self, other: &ObservedSpec) -> bool {
        (&self.schedule, &self.zone) == (&other.schedule, &other.zone)
    }
}

impl StoredCronJob {
    /// The spec with the annotations applied.
    pub(super) fn spec(&self) -> ObservedSpec {
        let StoredSpec { schedule, time_zone, concurrency_policy, .. } = &self.spec;
        let annotations = &self.metadata.annotations;
        let annotated_policy = annotations.policy.as_deref().and_then(ConcurrencyPolicy::parse);
        let jitter = || annotations.jitter.as_deref()?.trim().parse().ok();
        let limit = |limit: Option<i64>, default: usize| {
            limit.map_or(default, |limit| usize::try_from(limit).unwrap_or_default())
        };
        ObservedSpec {
            schedule: schedule.clone(),
            zone: time_zone.clone().filter(|zone| !zone.is_empty()),
            policy: annotated_policy
                .or_else(|| ConcurrencyPolicy::parse(concurrency_policy))
                .unwrap_or_default(),
            deadline: self.spec.starting_deadline_seconds,
            is_suspended: self.spec.suspend == Some(true),
            suspended_until: annotations.suspended_until,
            jitter: self.spec.jitter.or_else(jitter).unwrap_or(0).clamp(0, 50),
            limits: (
                limit(self.spec.successful_jobs_history_limit, 3),
                limit(self.spec.failed_jobs_history_limit, 1),
            ),
        }
    }
}

impl StoredMetadata {
    /// The UID of the controlling owner.
    pub(super) fn controller(&self) -> Option<&str> {
        self.owner_references
            .iter()
            .find(|owner| owner.controller == Some(true))
            .map(|owner| &*owner.uid)
    }

    /// The kind of the controlling owner.
    pub(super) fn controller_kind(&self) -> &str {
        let mut owners = self.owner_references.iter();
        owners.find(|owner| owner.controller == Some(true)).map_or("", |owner| &owner.kind)
    }

    /// The RunRequest of a Job and the position of the run.
    pub(super) fn request(&self) -> Option<RequestedRun> {
        let StoredAnnotations { request_uid, request_index, .. } = &self.annotations;
        let index = request_index.as_ref()?.parse().ok()?;
        Some(RequestedRun { request_uid: request_uid.clone()?, index, slot: self.slot()? })
    }

    /// The slot in the annotation, in seconds since 1970.
    pub(super) fn slot(&self) -> Option<i64> {
        let slot: Timestamp = self.annotations.slot.as_deref()?.parse().ok()?;
        Some(slot.as_second())
    }

    /// Whether the object has our finalizer, which waits until its slot is recorded.
    pub(super) fn has_finalizer(&self) -> bool {
        self.finalizers.iter().any(|name| name == "punctual.dev/slot-recorded")
    }
}

/// A run that a RunRequest asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RequestedRun {
    pub(super) request_uid: String,
    /// The position in the order of the request.
    pub(super) index: i64,
    pub(super) slot: UnixSeconds,
}

/// A RunRequest.
#[derive(Debug, Deserialize)]
pub(super) struct StoredRunRequest {
    pub(super) metadata: StoredMetadata,
    pub(super) spec: StoredRequestSpec,
    #[serde(default)]
    pub(super) status: StoredRequestStatus,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoredRequestSpec {
    #[serde(default)]
    pub(super) now: bool,
    #[serde(default)]
    pub(super) concurrency_policy: String,
}

/// The status of a RunRequest.
#[derive(Clone, Debug, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct StoredRequestStatus {
    #[serde(rename = "targetUID")]
    pub(super) target_uid: String,
    pub(super) completion_time: Option<Timestamp>,
    pub(super) total: i64,
    pub(super) started: i64,
    pub(super) succeeded: i64,
    pub(super) failed: i64,
    pub(super) skipped: i64,
    pub(super) active: Vec<StoredActiveJob>,
}

/// A Job.
#[derive(Deserialize)]
pub(super) struct StoredJob {
    pub(super) metadata: StoredMetadata,
    #[serde(default)]
    spec: StoredJobSpec,
    #[serde(default)]
    pub(super) status: StoredJobStatus,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct StoredJobSpec {
    ttl_seconds_after_finished: Option<IgnoredAny>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct StoredJobStatus {
    conditions: Vec<StoredCondition>,
    pub(super) start_time: Option<Timestamp>,
    pub(super) completion_time: Option<Timestamp>,
    pub(super) succeeded: i64,
    pub(super) failed: i64,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct StoredCondition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
}

/// The result of a Job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JobResult {
    Complete,
    Failed,
}

impl StoredJob {
    /// Whether it has a time to live.
    pub(super) fn has_ttl(&self) -> bool {
        self.spec.ttl_seconds_after_finished.is_some()
    }

    /// Its result, if it has ended.
    pub(super) fn result(&self) -> Option<JobResult> {
        let true_conditions =
            self.status.conditions.iter().filter(|condition| condition.status == "True");
        true_conditions.into_iter().find_map(|condition| match condition.kind.as_str() {
            "Complete" => Some(JobResult::Complete),
            "Failed" => Some(JobResult::Failed),
            _ => None,
        })
    }
}

/// A Pod.
#[derive(Deserialize)]
pub(super) struct StoredPod {
    pub(super) metadata: StoredMetadata,
    #[serde(default)]
    status: StoredPodStatus,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct StoredPodStatus {
    phase: String,
    container_statuses: Vec<StoredContainerStatus>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct StoredContainerStatus {
    state: StoredContainerState,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct StoredContainerState {
    terminated: Option<StoredTermination>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredTermination {
    exit_code: i32,
}

/// The result of a Pod in its status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PodResult {
    pub(super) has_succeeded: bool,
    /// The exit code of the only container; `None` if the status does not mention it.
    pub(super) exit_code: Option<i32>,
}

impl StoredPod {
    /// Its result, if the status has one.
    pub(super) fn result(&self) -> Option<PodResult> {
        let has_succeeded = match self.status.phase.as_str() {
            "Succeeded" => true,
            "Failed" => false,
            _ => return None,
        };
        let main = self.status.container_statuses.first();
        let terminated = main.and_then(|status| status.state.terminated.as_ref());
        let exit_code = terminated.map(|termination| termination.exit_code);
        Some(PodResult { has_succeeded, exit_code })
    }
}

/// An event.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoredEvent {
    pub(super) involved_object: StoredEventTarget,
    #[serde(default)]
    pub(super) reason: String,
    #[serde(default)]
    pub(super) message: String,
    #[serde(default)]
    pub(super) count: i64,
}

#[derive(Debug, Deserialize)]
pub(super) struct StoredEventTarget {
    #[serde(default)]
    pub(super) uid: String,
}
