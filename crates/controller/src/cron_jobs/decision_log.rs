//! Logs what happens to a CronJob, each fact once: a start when its Job is created, a miss, a skipped slot and an end when
//! they are counted in the status, and a problem when the previous reconcile of this process did not have it.

use std::time::Duration;

use punctual_api::CronJob;
use punctual_api::cronjob::CronJobStatus;
use punctual_api::slot_record::{SlotDecision, SlotRecord};
use punctual_engine::cronjob::{
    CreateError, CreateJob, CreateResult, DeleteError, EffectResult, FinishedRun, FutureRecord,
    GiveUpJob, MissedSlots, Plan, ScheduleError, Settled, StartDecision, SuspensionChange,
};

use super::key::CronJobName;

/// Logs a line with the fields that identify a CronJob.
macro_rules! log_line {
    ($level:ident, $log:expr, $($fields:tt)+) => {
        tracing::$level!(
            namespace = $log.name.namespace,
            name = $log.name.name,
            uid = $log.cron_job.metadata.uid,
            kind = $log.name.kind.kind(),
            schedule = $log.cron_job.spec.schedule,
            time_zone = $log.cron_job.spec.time_zone,
            $($fields)+
        )
    };
}

/// The log of one CronJob.
pub(super) struct DecisionLog<'a> {
    pub(super) name: &'a CronJobName,
    pub(super) cron_job: &'a CronJob,
}

/// The target of the lines that contain slot records.
const LEDGER_TARGET: &str = "punctual::ledger";

/// The reason of the event about a large number of pending slots.
const TOO_MANY_MISSED_TIMES: &str = "TooManyMissedTimes";

/// Something about a CronJob that its owner should look at.
pub(super) enum Problem<'a> {
    /// There are no slots.
    NoSchedule(&'a ScheduleError),
    /// A recorded time in the future keeps slots from starting.
    FutureRecord(FutureRecord),
    /// The Job of a slot could not be created.
    NotCreated(&'a CreateJob, &'a CreateError),
    /// A Job that the next run replaces could not be deleted.
    NotReplaced { job: &'a str, error: &'a DeleteError },
    /// So many slots are pending that the clock may be wrong.
    TooManyPending { count: u64 },
    /// The pending deadline is ignored.
    PendingDeadlineIgnored { message: &'a str },
}

impl<'a> Problem<'a> {
    /// Finds the problems of a plan and of its effects.
    pub(super) fn find_all(plan: &'a Plan, results: &'a [EffectResult]) -> Vec<Problem<'a>> {
        let mut problems = Vec::new();
        match &plan.start_decision {
            StartDecision::NoSchedule(error) => problems.push(Problem::NoSchedule(error)),
            _ => problems.extend(Problem::find_failed_effect(plan, results)),
        }
        problems.extend(plan.future_record.map(Problem::FutureRecord));
        if plan.events.iter().any(|event| event.reason == TOO_MANY_MISSED_TIMES) {
            problems.push(Problem::TooManyPending { count: plan.pending_slots });
        }
        let ignored = plan.conditions.pending_deadline_ignored.as_deref();
        problems.extend(ignored.map(|message| Problem::PendingDeadlineIgnored { message }));
        problems
    }

    fn find_failed_effect(plan: &'a Plan, results: &'a [EffectResult]) -> Option<Problem<'a>> {
        results.iter().find_map(|result| match result {
            EffectResult::Created(CreateResult::Failed(error)) => {
                Some(Problem::NotCreated(plan.job_to_create.as_ref()?, error))
            }
            EffectResult::Deleted(job, Err(error)) => Some(Problem::NotReplaced { job, error }),
            _ => None,
        })
    }

    /// A text that is the same for the same problem, and for an effect for the same problem of the same slot.
    pub(super) fn identity(&self) -> String {
        match self {
            Problem::NoSchedule(error) => error.to_string(),
            Problem::FutureRecord(record) => format!("{} {}", record.field, record.time),
            Problem::NotCreated(create, error) => format!("{} {error}", create.slot),
            Problem::NotReplaced { job, error } => format!("{job} {error}"),
            Problem::TooManyPending { .. } => TOO_MANY_MISSED_TIMES.to_owned(),
            Problem::PendingDeadlineIgnored { message } => (*message).to_owned(),
        }
    }
}

impl DecisionLog<'_> {
    /// Logs the decision of a reconcile.
    pub(super) fn log_decision(&self, plan: &Plan) {
        log_line!(
            debug,
            self,
            decision = ?plan.start_decision,
            pending = plan.pending_slots,
            wake_at = plan.wake_at.map(tracing::field::display),
            "decided"
        );
    }

    /// Logs what the written status reports: runs that were found, runs that ended, and events.
    pub(super) fn log_settled(&self, settled: &Settled, created: Option<&str>) {
        if let Some(status) = &settled.status {
            self.log_unlisted_runs(status, created);
        }
        for run in &settled.finished_runs {
            self.log_end(run);
        }
        for event in &settled.events {
            log_line!(
                debug,
                self,
                reason = event.reason,
                event = &*event.message,
                "recorded an event"
            );
        }
    }

    /// Logs that the Job of a slot was created, and how long after the effective time of the slot.
    pub(super) fn log_start(&self, create: &CreateJob, lateness: Duration) {
        log_line!(
            info,
            self,
            job = create.name,
            slot = %create.slot,
            lateness_seconds = whole_millis(lateness),
            "started a run"
        );
    }

    /// Logs that the Job of a RunRequest was created.
    pub(super) fn log_requested_start(&self, create: &CreateJob) {
        let request = create.requested.as_ref().map(|run| run.request.name.as_str());
        log_line!(
            info,
            self,
            job = create.name,
            slot = %create.slot,
            request,
            "started a requested run"
        );
    }

    /// Logs runs that are active now and were started without being recorded, for example before a crash.
    fn log_unlisted_runs(&self, status: &CronJobStatus, created: Option<&str>) {
        let known = &self.cron_job.status.active;
        let is_known = |uid: &str| known.iter().any(|known| known.uid == uid);
        for job in &status.active {
            if !is_known(&job.uid) && created != Some(job.name.as_str()) {
                log_line!(
                    info,
                    self,
                    job = job.name,
                    "found an active run that the status did not list"
                );
            }
        }
    }

    /// Logs that a run ended.
    fn log_end(&self, run: &FinishedRun) {
        log_line!(
            info,
            self,
            job = run.job,
            slot = run.slot.map(tracing::field::display),
            result = run.result.as_str(),
            duration_seconds = run.duration.map(|duration| duration.as_secs()),
            "a run ended"
        );
    }

    /// Logs that a run was ended because the next one replaces it.
    pub(super) fn log_replacement(&self, job: &str) {
        log_line!(info, self, job, result = "Replaced", "a run ended");
    }

    /// Logs that a run was given up because none of its Pods started in time.
    pub(super) fn log_given_up(&self, job: &GiveUpJob) {
        log_line!(
            warn,
            self,
            job = job.name,
            slot = job.slot.map(tracing::field::display),
            pending_deadline_seconds = job.deadline_seconds,
            "gave up a run, because none of its Pods was ready in time; see the events of its Pods"
        );
    }

    /// Logs that a run could not be given up.
    pub(super) fn log_give_up_error(&self, job: &GiveUpJob, error: &str) {
        log_line!(
            warn,
            self,
            job = job.name,
            slot = job.slot.map(tracing::field::display),
            error,
            "could not set the deadline of a run whose Pods did not start; retrying with backoff"
        );
    }

    /// Logs that the CronJob was changed at the end of its suspension.
    pub(super) fn log_suspension_change(&self, change: SuspensionChange) {
        match change {
            SuspensionChange::Resume => {
                log_line!(info, self, "resumed the CronJob, because its suspension is over");
            }
            SuspensionChange::ClearAnnotations => {
                log_line!(debug, self, "removed the annotations about a suspension that is over");
            }
        }
    }

    /// Logs that the CronJob could not be changed at the end of its suspension.
    pub(super) fn log_suspension_error(&self, change: SuspensionChange, error: &str) {
        log_line!(
            warn,
            self,
            ?change,
            error,
            "could not change the CronJob at the end of its suspension; retrying with backoff. On a \
             cluster, grant the RBAC verb `patch` on this kind"
        );
    }

    /// Logs slots that were missed.
    pub(super) fn log_missed_slots(&self, missed: &[MissedSlots]) {
        for MissedSlots { oldest, latest, count, reason } in missed {
            let cause = reason.to_string();
            let reason = reason.as_str();
            log_line!(
                warn,
                self,
                slot = %oldest,
                through = %latest,
                count,
                reason,
                "missed slots: {cause}"
            );
        }
    }

    /// Logs the slots that were skipped.
    pub(super) fn log_skipped_slots(&self, records: &[SlotRecord]) {
        let is_skipped = |record: &&SlotRecord| record.decision == SlotDecision::Skipped;
        for record in records.iter().filter(is_skipped) {
            log_line!(
                info,
                self,
                slot = record.slot.map(tracing::field::display),
                through = record.last_slot().map(tracing::field::display),
                count = record.slots(),
                reason = record.reason,
                "skipped slots"
            );
        }
    }

    /// Logs each new or changed slot record as one line of JSON, for homes without an archive.
    pub(super) fn log_slot_records(&self, records: &[SlotRecord]) {
        let CronJobName { kind, namespace, name } = self.name;
        let uid = &self.cron_job.metadata.uid;
        for record in records {
            // The fields are strings, numbers and times, which always have a form in JSON.
            let Ok(record) = serde_json::to_string(record) else { continue };
            tracing::info!(
                target: LEDGER_TARGET,
                namespace,
                cron_job = name,
                kind = kind.kind(),
                uid,
                record,
                "slot record"
            );
        }
    }

    /// Logs a problem, what follows from it and what to do.
    pub(super) fn log_problem(&self, problem: &Problem<'_>) {
        match problem {
            Problem::NoSchedule(error) => log_line!(
                warn,
                self,
                reason = error.reason(),
                error = error.to_string(),
                "no run starts, because the schedule or the time zone is invalid; correct the CronJob"
            ),
            Problem::FutureRecord(record) => log_line!(
                warn,
                self,
                reason = "LastScheduleInFuture",
                field = record.field,
                recorded = %record.time,
                "no run starts before a recorded time, which is in the future; check the clock, then run \
                 `punctual repair`"
            ),
            Problem::NotCreated(create, error) => log_line!(
                warn,
                self,
                job = create.name,
                slot = %create.slot,
                reason = "FailedCreate",
                error = error.message,
                "could not create the Job of a slot; retrying with backoff"
            ),
            Problem::NotReplaced { job, error } => log_line!(
                warn,
                self,
                job,
                reason = "FailedDelete",
                error = error.message,
                "could not delete the Job that the next run replaces; retrying with backoff"
            ),
            Problem::TooManyPending { count } => log_line!(
                warn,
                self,
                reason = TOO_MANY_MISSED_TIMES,
                count,
                "only the latest of more than 100 pending slots starts; check the clock, or set \
                 startingDeadlineSeconds"
            ),
            Problem::PendingDeadlineIgnored { message } => log_line!(
                warn,
                self,
                reason = "PendingDeadlineIgnored",
                error = message,
                "runs whose Pods never start are not given up; correct the CronJob"
            ),
        }
    }
}

/// The seconds of a duration, rounded to milliseconds.
fn whole_millis(duration: Duration) -> f64 {
    duration.as_millis() as f64 / 1e3
}
