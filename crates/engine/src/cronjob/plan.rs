//! The plan that a decision about a CronJob returns, and the results of its effects that the caller
//! reports.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use punctual_api::cronjob::CronJobStatus;
use punctual_api::run_request::RunOverrides;
use punctual_api::slot_record::SlotRecord;

use super::{
    EffectiveSchedule, Observed,
    conditions::ConditionsDraft,
    effective_schedule::schedule_effective_since,
    future_record::FutureRecord,
    job_view::{JobRequest, JobResult, JobView},
    ledger::RecordRetention,
    reasons::{self, condition_reason},
    run_requests::{RequestDraft, RequestKey, RequestUpdate},
    schedule_error::ScheduleError,
    skipped_slots::SkippedSlots,
    slot_records::NeededRecords,
    suspension::{self, SuspensionChange},
    zone_gate_record::ZoneGateRecord,
};
use crate::PendingEvent;

/// The result of [`decide`](super::decide).
#[derive(Clone, Debug)]
pub enum Decision {
    /// The cache is insufficient: read these Jobs from the server, by name, and decide again.
    ReadJobs(Vec<String>),
    /// Slot records are needed that the status does not have: read them from the server, and decide again.
    ReadRecords(NeededRecords),
    /// Execute this plan.
    Execute(Box<Plan>),
}

/// The effects to execute for a CronJob.
///
/// Execute `jobs_to_replace`, then `job_to_create`. Then pass the results to
/// [`settle`](super::settle), which returns the status to write and the effects that must follow
/// that write.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Active Jobs that policy `Replace` deletes. Create the new Job only after all are deleted.
    pub jobs_to_replace: Vec<JobKey>,
    /// Whether to delete them in the foreground, so that they exist until their Pods are gone.
    pub replaces_in_foreground: bool,
    /// The Job to create.
    pub job_to_create: Option<CreateJob>,
    /// The status to write, without the changes that follow from the effects.
    pub status: CronJobStatus,
    /// The status as observed.
    pub observed_status: CronJobStatus,
    /// Events to record, without those about the effects.
    pub events: Vec<PendingEvent>,
    /// Runs whose results the status counts for the first time.
    pub finished_runs: Vec<FinishedRun>,
    /// Slots that the status counts as missed for the first time.
    pub missed_slots: Vec<MissedSlots>,
    /// Finished Jobs beyond the history limits. Delete them after the status is written.
    pub jobs_to_clean_up: Vec<JobKey>,
    /// Jobs from which to remove our finalizer after the status is written.
    pub finalizers_to_remove: Vec<JobKey>,
    /// Requested Jobs that still have our finalizer. The status keeps their records.
    pub(crate) unreleased_runs: Vec<String>,
    /// The requests with the statuses to write.
    pub(crate) requests: Vec<RequestDraft>,
    /// Active Jobs to give up, because none of their Pods started in time.
    pub jobs_to_give_up: Vec<GiveUpJob>,
    /// Slots at or before this time do not count, because a different schedule applied then.
    pub schedule_effective_since: Option<Timestamp>,
    /// The current schedule and its start, unless the CronJob already records it.
    pub schedule_to_record: Option<EffectiveSchedule>,
    /// Since when the time zone is ignored or read again; `None` if it was never ignored.
    pub zone_gate: Option<ZoneGateRecord>,
    /// The record to write; `None` if the annotation is current.
    pub zone_gate_to_record: Option<ZoneGateRecord>,
    /// When to reconcile again if nothing changes before.
    pub wake_at: Option<Timestamp>,
    /// Whether a slot is started, and why.
    pub start_decision: StartDecision,
    /// The number of pending slots, including the one that is started.
    pub pending_slots: u64,
    /// Why the name of a slot's Job is taken, if the slot is missed for that.
    pub name_taken: Option<String>,
    /// A recorded time in the future that keeps slots from starting.
    pub future_record: Option<FutureRecord>,
    /// The annotations and fields of the CronJob to change because of its suspension.
    pub suspension_change: Option<SuspensionChange>,
    /// When the CronJob was suspended, if it was resumed and the slots of the suspension are not skipped yet.
    pub ended_suspension: Option<Timestamp>,
    /// How many slot records the status keeps.
    pub retention: RecordRetention,
    /// The conditions to write if every effect succeeds.
    pub conditions: ConditionsDraft,
    /// The CronJob that the plan is for.
    pub owner: CronJobRef,
}

/// The CronJob that a plan is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CronJobRef {
    /// The namespace.
    pub namespace: String,
    /// The UID.
    pub uid: String,
    /// The generation that the plan is for.
    pub generation: i64,
}

impl Plan {
    pub(crate) fn new(observed: &Observed<'_>, now: Timestamp) -> Plan {
        let status = observed.cron_job.status.clone();
        let (schedule_effective_since, schedule_to_record) =
            schedule_effective_since(observed.cron_job, now);
        let zone_gate = ZoneGateRecord::update(observed.cron_job, &observed.gates, now);
        Plan {
            jobs_to_replace: Vec::new(),
            replaces_in_foreground: false,
            job_to_create: None,
            observed_status: status.clone(),
            status,
            events: Vec::new(),
            finished_runs: Vec::new(),
            missed_slots: Vec::new(),
            jobs_to_clean_up: Vec::new(),
            finalizers_to_remove: Vec::new(),
            unreleased_runs: Vec::new(),
            requests: Vec::new(),
            jobs_to_give_up: Vec::new(),
            schedule_effective_since,
            schedule_to_record,
            zone_gate: zone_gate.current,
            zone_gate_to_record: zone_gate.to_record,
            wake_at: None,
            start_decision: StartDecision::NotDue,
            pending_slots: 0,
            name_taken: None,
            future_record: None,
            suspension_change: suspension::clear_annotations(observed, now),
            ended_suspension: suspension::ended_suspension(observed),
            retention: observed.retention,
            conditions: ConditionsDraft::default(),
            owner: CronJobRef {
                namespace: observed.cron_job.metadata.namespace.clone(),
                uid: observed.cron_job.metadata.uid.clone(),
                generation: observed.cron_job.metadata.generation,
            },
        }
    }

    /// Reconciles again at this time at the latest.
    pub(crate) fn wake_by(&mut self, time: Timestamp) {
        self.wake_at = Some(self.wake_at.map_or(time, |wake_at| wake_at.min(time)));
    }
}

/// Whether a slot is started, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartDecision {
    /// The CronJob is being deleted.
    Deleted,
    /// The CronJob is suspended.
    Suspended,
    /// The schedule or its time zone is invalid, so there are no slots.
    NoSchedule(ScheduleError),
    /// The schedule has a single slot, and the feature gate `OneShot` is off.
    OneShotDisabled,
    /// No slot is pending.
    NotDue,
    /// A slot is pending, but the concurrency policy forbids a second active Job.
    Blocked {
        /// The slot.
        slot: Timestamp,
    },
    /// A slot is pending, but the Job that it replaces must be recorded in the status first.
    Postponed {
        /// The slot.
        slot: Timestamp,
    },
    /// A slot is pending, but the Pods of the Jobs that it replaces are not gone yet.
    WaitingForPods {
        /// The slot.
        slot: Timestamp,
        /// When the slot starts although Pods remain; `None` until their Jobs are being deleted.
        until: Option<Timestamp>,
    },
    /// The name of the slot's Job belongs to an older object of the same name, so the slot is missed.
    NameTaken {
        /// The slot.
        slot: Timestamp,
    },
    /// A Job is created for the slot.
    Due {
        /// The slot.
        slot: Timestamp,
    },
    /// The Job of the slot already exists and is only recorded.
    Adopted {
        /// The slot.
        slot: Timestamp,
    },
}

/// A run that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishedRun {
    /// The name of the Job.
    pub job: String,
    /// The slot that it ran for.
    pub slot: Option<Timestamp>,
    /// The result.
    pub result: JobResult,
    /// The time from its start to its end, in whole seconds.
    pub duration: Option<SignedDuration>,
}

impl FinishedRun {
    pub(crate) fn new(job: &JobView, result: JobResult) -> FinishedRun {
        let ended = job.finished_at.zip(job.started_at);
        let duration = ended.map(|(finished, started)| finished.duration_since(started));
        FinishedRun { job: job.name.clone(), slot: job.slot, result, duration }
    }
}

/// Slots that were missed for the same reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissedSlots {
    /// The first of them.
    pub oldest: Timestamp,
    /// The last of them.
    pub latest: Timestamp,
    /// How many there are.
    pub count: u64,
    /// Why they were missed.
    pub reason: MissReason,
}

impl MissedSlots {
    /// One missed slot.
    pub(crate) fn one(slot: Timestamp, reason: MissReason) -> MissedSlots {
        MissedSlots { oldest: slot, latest: slot, count: 1, reason }
    }
}

/// Why a slot was missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissReason {
    /// The deadline passed before a run started.
    DeadlinePassed,
    /// Another Job has the name of the slot's Job.
    NameTaken,
    /// More slots were pending than `CatchUp` runs.
    CatchUpLimitExceeded,
}

impl MissReason {
    /// The reason of the event or condition that reports it.
    pub fn as_str(self) -> &'static str {
        match self {
            MissReason::DeadlinePassed => reasons::MISS_SCHEDULE,
            MissReason::NameTaken => condition_reason::NAME_TAKEN,
            MissReason::CatchUpLimitExceeded => reasons::CATCH_UP_LIMIT_EXCEEDED,
        }
    }
}

impl fmt::Display for MissReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MissReason::DeadlinePassed => "the deadline passed before a run started",
            MissReason::NameTaken => "another Job has the name of the slot's Job",
            MissReason::CatchUpLimitExceeded => "more slots were pending than CatchUp runs",
        })
    }
}

/// A Job to delete, or to remove our finalizer from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobKey {
    /// The name.
    pub name: String,
    /// The UID, a precondition of the call.
    pub uid: String,
    /// The observed resource version, a precondition of the call if present. It keeps `Replace`
    /// from deleting a Job that has finished since and must be counted.
    pub resource_version: Option<String>,
    /// The slot that it runs for.
    pub slot: Option<Timestamp>,
}

impl JobKey {
    /// The event to record after the Job is deleted.
    pub fn deleted_event(&self) -> PendingEvent {
        PendingEvent::normal(reasons::SUCCESSFUL_DELETE, format!("Deleted job {}", self.name))
    }

    /// The event to record if the delete fails.
    pub fn delete_failed_event(&self, error: &str) -> PendingEvent {
        PendingEvent::warning(reasons::FAILED_DELETE, format!("Deleted job: {error}"))
    }
}

/// A Job whose `activeDeadlineSeconds` is set, so that it fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GiveUpJob {
    /// The name.
    pub name: String,
    /// The UID, a precondition of the call.
    pub uid: String,
    /// The observed resource version, a precondition of the call: a Pod may have started since.
    pub resource_version: String,
    /// The slot that the Job runs for.
    pub slot: Option<Timestamp>,
    /// The deadline to set. It has passed already.
    pub deadline_seconds: i64,
}

impl GiveUpJob {
    /// The event to record after the deadline is set.
    pub fn given_up_event(&self) -> PendingEvent {
        let GiveUpJob { name, deadline_seconds, .. } = self;
        PendingEvent::warning(
            reasons::PENDING_DEADLINE_EXCEEDED,
            format!(
                "Gave up job {name}: no Pod was ready {deadline_seconds} s after the start of the job"
            ),
        )
    }
}

/// A Job to create. [`build_job_manifest`](super::build_job_manifest) builds its manifest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CreateJob {
    /// The name, a function of the CronJob's name and the slot, or of the request.
    pub name: String,
    /// The slot that the Job runs for.
    pub slot: Timestamp,
    /// The slots that are skipped once this slot is recorded.
    pub skipped: Option<SkippedSlots>,
    /// The record of the slot, without the UID of the Job.
    pub record: SlotRecord,
    /// The request that asks for the run; `None` for a run of the schedule.
    pub requested: Option<Box<RequestedRun>>,
}

/// What a RunRequest says about one of its runs.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestedRun {
    /// The request and the position of the run.
    pub request: JobRequest,
    /// Changes of the Job template.
    pub overrides: Option<RunOverrides>,
}

/// The result of one effect of a plan.
#[derive(Clone, Debug)]
pub enum EffectResult {
    /// The result of deleting the Job of this name.
    Deleted(String, Result<(), DeleteError>),
    /// The result of the create.
    Created(CreateResult),
}

/// The result of creating a Job.
#[derive(Clone, Debug)]
pub enum CreateResult {
    /// The Job was created.
    Created {
        /// The UID.
        uid: String,
        /// The resource version.
        resource_version: String,
        /// `metadata.creationTimestamp`.
        created_at: Option<Timestamp>,
    },
    /// A Job of that name already existed; a live read returned this one.
    AlreadyExists(Box<JobView>),
    /// The server rejected the create, or its result is unknown.
    Failed(CreateError),
}

/// Why a delete failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeleteError {
    /// The server's message.
    pub message: String,
}

impl fmt::Display for DeleteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for DeleteError {}

/// Why a create failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateError {
    /// The server's message.
    pub message: String,
    /// Whether the namespace is being deleted. Like Kubernetes, we record no event then.
    pub is_namespace_terminating: bool,
}

impl fmt::Display for CreateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error creating job: {}", self.message)
    }
}

impl std::error::Error for CreateError {}

/// The writes and effects that follow the effects of a plan.
#[derive(Clone, Debug, Default)]
pub struct Settled {
    /// The status to write, if it changed.
    pub status: Option<CronJobStatus>,
    /// Events to record.
    pub events: Vec<PendingEvent>,
    /// Runs whose results the status counts for the first time.
    pub finished_runs: Vec<FinishedRun>,
    /// Slots that the status counts as missed for the first time.
    pub missed_slots: Vec<MissedSlots>,
    /// The change of the CronJob to write after the status.
    pub suspension_change: Option<SuspensionChange>,
    /// Slot records that are new or have changed.
    pub slot_records: Vec<SlotRecord>,
    /// Statuses of RunRequests to write after the status of the CronJob.
    pub request_updates: Vec<RequestUpdate>,
    /// RunRequests to delete, because their time to live has passed.
    pub requests_to_delete: Vec<RequestKey>,
    /// Jobs to delete after the status is written.
    pub jobs_to_clean_up: Vec<JobKey>,
    /// Jobs from which to remove our finalizer after the status is written.
    pub finalizers_to_remove: Vec<JobKey>,
    /// Jobs to give up, because none of their Pods started in time.
    pub jobs_to_give_up: Vec<GiveUpJob>,
    /// The schedule to record on the CronJob.
    pub schedule_to_record: Option<EffectiveSchedule>,
    /// The state of the feature gate `TimeZone` to record on the CronJob.
    pub zone_gate_to_record: Option<ZoneGateRecord>,
    /// A recorded time in the future that keeps slots from starting.
    pub future_record: Option<FutureRecord>,
    /// When to reconcile again if nothing changes before.
    pub wake_at: Option<Timestamp>,
    /// Whether an effect failed, so that the CronJob must be retried with backoff.
    pub needs_retry: bool,
}
