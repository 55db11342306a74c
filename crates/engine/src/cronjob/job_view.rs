//! The fields of a Job that the CronJob controller reads, a few hundred bytes for each cached Job, and
//! the rule that tells which slot (scheduled time) of a CronJob a Job runs for.

use jiff::Timestamp;
use punctual_api::{
    Job, ObjectMeta,
    job::{JobStatus, UncountedTerminatedPods, condition},
    names,
    well_known::{annotations, finalizers},
};

/// The result of a finished Job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JobResult {
    /// The Job succeeded.
    Complete,
    /// The Job failed.
    Failed,
}

impl JobResult {
    /// The type of the Job's condition.
    pub fn as_str(self) -> &'static str {
        match self {
            JobResult::Complete => condition::COMPLETE,
            JobResult::Failed => condition::FAILED,
        }
    }
}

/// The fields of a Job that the decision reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobView {
    /// The name.
    pub name: String,
    /// The UID.
    pub uid: String,
    /// The resource version.
    pub resource_version: String,
    /// The UID of its controller; empty if it has none.
    pub controller_uid: String,
    /// The slot in the annotation `batch.kubernetes.io/cronjob-scheduled-timestamp`.
    pub slot: Option<Timestamp>,
    /// The RunRequest that asked for it; `None` for a run of the schedule.
    pub request: Option<Box<JobRequest>>,
    /// `metadata.creationTimestamp`.
    pub created_at: Option<Timestamp>,
    /// `status.startTime`.
    pub started_at: Option<Timestamp>,
    /// `status.completionTime`.
    pub completed_at: Option<Timestamp>,
    /// When it succeeded or failed.
    pub finished_at: Option<Timestamp>,
    /// The result, if it has finished.
    pub result: Option<JobResult>,
    /// The reason of the condition `Failed`; empty if it has not failed.
    pub failure_reason: String,
    /// How many of its Pods ended.
    pub ended_pods: i32,
    /// `metadata.deletionTimestamp`.
    pub deleted_at: Option<Timestamp>,
    /// `spec.activeDeadlineSeconds`.
    pub active_deadline_seconds: Option<i64>,
    /// Whether the status shows that it has started and that none of its Pods ever was ready or ended.
    pub has_no_started_pod: bool,
    /// Whether it has our finalizer, which keeps it until its slot is recorded and it is counted.
    pub has_finalizer: bool,
}

/// The RunRequest of a Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRequest {
    /// The name of the request.
    pub name: String,
    /// The UID of the request.
    pub uid: String,
    /// The position of the run in the order of the request, from 0.
    pub index: i64,
}

impl JobRequest {
    fn from_meta(meta: &ObjectMeta) -> Option<Box<JobRequest>> {
        let name = meta.annotation(annotations::RUN_REQUEST)?.to_owned();
        let uid = meta.annotation(annotations::RUN_REQUEST_UID)?.to_owned();
        let index = meta.annotation(annotations::RUN_REQUEST_INDEX)?.parse().ok()?;
        Some(Box::new(JobRequest { name, uid, index }))
    }
}

impl JobView {
    /// Copies the fields from a Job.
    pub fn from_job(job: &Job) -> JobView {
        let finished = job.status.conditions.iter().find_map(|found| {
            let result = match found.condition_type.as_str() {
                condition::COMPLETE => JobResult::Complete,
                condition::FAILED => JobResult::Failed,
                _ => return None,
            };
            (found.status == "True").then_some((result, found))
        });
        let meta = &job.metadata;
        let slot = meta.annotation(annotations::SCHEDULED_TIMESTAMP);
        let completed_at = job.status.completion_time.map(|time| time.timestamp());
        let condition_time = finished.and_then(|(_, found)| found.last_transition_time);
        let failure_reason = match finished {
            Some((JobResult::Failed, found)) => found.reason.clone(),
            _ => String::new(),
        };
        JobView {
            name: meta.name.clone(),
            uid: meta.uid.clone(),
            resource_version: meta.resource_version.clone(),
            controller_uid: meta.controller().map(|owner| owner.uid.clone()).unwrap_or_default(),
            slot: slot.and_then(|text| text.parse().ok()),
            request: JobRequest::from_meta(meta),
            created_at: meta.creation_timestamp.map(|time| time.timestamp()),
            started_at: job.status.start_time.map(|time| time.timestamp()),
            completed_at,
            finished_at: completed_at.or(condition_time.map(|time| time.timestamp())),
            result: finished.map(|(result, _)| result),
            failure_reason,
            ended_pods: job.status.succeeded.saturating_add(job.status.failed),
            deleted_at: meta.deletion_timestamp.map(|time| time.timestamp()),
            active_deadline_seconds: job.spec.active_deadline_seconds,
            has_no_started_pod: has_no_started_pod(&job.status),
            has_finalizer: meta.finalizers.iter().any(|name| name == finalizers::SLOT_RECORDED),
        }
    }

    /// Whether it is being deleted.
    pub fn is_deleting(&self) -> bool {
        self.deleted_at.is_some()
    }

    /// Returns its position if it is a run of the request with this UID.
    pub(crate) fn index_in(&self, request_uid: &str) -> Option<i64> {
        self.request.as_ref().filter(|request| request.uid == request_uid).map(|it| it.index)
    }

    /// Returns the slot if the name and the annotation agree that the Job runs for a slot of this
    /// CronJob. A requested run is not one of the schedule.
    pub(crate) fn slot_for(&self, cron_job_name: &str) -> Option<Timestamp> {
        if self.request.is_some() {
            return None;
        }
        self.slot.filter(|slot| is_name_for_slot(&self.name, cron_job_name, *slot))
    }
}

/// Whether a status shows that a Job has started and that none of its Pods is ready, terminating or
/// terminated.
///
/// A status without `ready` proves nothing. A suspended Job has no start time.
fn has_no_started_pod(status: &JobStatus) -> bool {
    let JobStatus { start_time, ready, succeeded, failed, terminating, .. } = status;
    let ended = succeeded + failed + terminating.unwrap_or(0);
    let uncounted = status.uncounted_terminated_pods.as_ref();
    start_time.is_some()
        && *ready == Some(0)
        && ended == 0
        && uncounted.is_none_or(UncountedTerminatedPods::is_empty)
        && !status.is_finished()
        && !status.is_true(condition::FAILURE_TARGET)
        && !status.is_true(condition::SUCCESS_CRITERIA_MET)
}

/// Whether a Job name is ours or Kubernetes' for this slot. Kubernetes uses the minute of the slot
/// even if the slot has seconds.
fn is_name_for_slot(name: &str, cron_job_name: &str, slot: Timestamp) -> bool {
    if name == names::job_name(cron_job_name, slot) {
        return true;
    }
    let minute = slot.as_second().div_euclid(60).to_string();
    name.rsplit_once('-')
        .is_some_and(|(prefix, suffix)| prefix == cron_job_name && suffix == minute)
}
