//! Logs what happens to a CronJob, each fact once: a start when its Job is created, a miss, a skipped slot and an end when
//! they are counted in the status, and an error when it differs from the error of the previous reconcile.

use std::time::Duration;

use punctual_api::CronJob;
use punctual_api::cronjob::CronJobStatus;
use punctual_engine::cronjob::{
    CreateError, CreateJob, CreateResult, EffectResult, FinishedRun, GiveUpJob, MissedSlots, Plan,
    ScheduleError, Settled, StartDecision,
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

/// Why a CronJob starts no run although one is due or would be.
pub(super) enum StartError<'a> {
    /// There are no slots.
    NoSchedule(&'a ScheduleError),
    /// The Job of a slot could not be created.
    NotCreated(&'a CreateJob, &'a CreateError),
    /// A Job that the next run replaces could not be deleted.
    NotReplaced { job: &'a str, error: &'a str },
}

impl<'a> StartError<'a> {
    /// Finds the error of a plan or of its effects.
    pub(super) fn find(plan: &'a Plan, results: &'a [EffectResult]) -> Option<StartError<'a>> {
        if let StartDecision::NoSchedule(error) = &plan.start_decision {
            return Some(StartError::NoSchedule(error));
        }
        results.iter().find_map(|result| match result {
            EffectResult::Created(CreateResult::Failed(error)) => {
                Some(StartError::NotCreated(plan.job_to_create.as_ref()?, error))
            }
            EffectResult::Deleted(job, Err(error)) => Some(StartError::NotReplaced { job, error }),
            _ => None,
        })
    }

    /// A text that is the same for the same error of the same slot.
    pub(super) fn identity(&self) -> String {
        match self {
            StartError::NoSchedule(error) => error.to_string(),
            StartError::NotCreated(create, error) => format!("{} {error}", create.slot),
            StartError::NotReplaced { job, error } => format!("{job} {error}"),
        }
    }

    /// Whether a condition reports the error already. It outlives a restart of the controller. A call that failed
    /// again after a restart is a new fact.
    fn is_recorded(&self, status: &CronJobStatus) -> bool {
        let StartError::NoSchedule(error) = self else { return false };
        let message = error.to_string();
        status
            .conditions
            .iter()
            .any(|condition| condition.reason == error.reason() && condition.message == message)
    }
}

impl DecisionLog<'_> {
    /// Logs the decision of a reconcile.
    pub(super) fn decided(&self, plan: &Plan) {
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
    pub(super) fn settled(&self, settled: &Settled, created: Option<&str>) {
        if let Some(status) = &settled.status {
            self.found(status, created);
        }
        for run in &settled.finished_runs {
            self.ended(run);
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
    pub(super) fn started(&self, create: &CreateJob, lateness: Duration) {
        log_line!(
            info,
            self,
            job = create.name,
            slot = %create.slot,
            lateness_seconds = whole_millis(lateness),
            "started a run"
        );
    }

    /// Logs runs that are active now and were started without being recorded, for example before a crash.
    fn found(&self, status: &CronJobStatus, created: Option<&str>) {
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
    fn ended(&self, run: &FinishedRun) {
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
    pub(super) fn replaced(&self, job: &str) {
        log_line!(info, self, job, result = "Replaced", "a run ended");
    }

    /// Logs that a run was given up because none of its Pods started in time.
    pub(super) fn gave_up(&self, job: &GiveUpJob) {
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
    pub(super) fn not_given_up(&self, job: &GiveUpJob, error: &str) {
        log_line!(
            warn,
            self,
            job = job.name,
            slot = job.slot.map(tracing::field::display),
            error,
            "could not set the deadline of a run whose Pods did not start; retrying with backoff"
        );
    }

    /// Logs slots that were missed.
    pub(super) fn missed(&self, missed: &[MissedSlots]) {
        for MissedSlots { latest, count, reason } in missed {
            let cause = reason.to_string();
            let reason = reason.as_str();
            log_line!(warn, self, slot = %latest, count, reason, "missed slots: {cause}");
        }
    }

    /// Logs that slots were skipped, if any were.
    pub(super) fn skipped(&self, count: i64) {
        if count > 0 {
            log_line!(info, self, count, "skipped slots: a later slot started instead");
        }
    }

    /// Logs why no run starts, unless a condition of the CronJob reports it already.
    pub(super) fn failed(&self, error: &StartError<'_>) {
        if error.is_recorded(&self.cron_job.status) {
            return;
        }
        match error {
            StartError::NoSchedule(error) => log_line!(
                warn,
                self,
                reason = error.reason(),
                error = error.to_string(),
                "no run starts, because the schedule or the time zone is invalid; correct the CronJob"
            ),
            StartError::NotCreated(create, error) => log_line!(
                warn,
                self,
                job = create.name,
                slot = %create.slot,
                reason = "FailedCreate",
                error = error.message,
                "could not create the Job of a slot; retrying with backoff"
            ),
            StartError::NotReplaced { job, error } => log_line!(
                warn,
                self,
                job,
                reason = "FailedDelete",
                error,
                "could not delete the Job that the next run replaces; retrying with backoff"
            ),
        }
    }
}

/// The seconds of a duration, rounded to milliseconds.
fn whole_millis(duration: Duration) -> f64 {
    duration.as_millis() as f64 / 1e3
}
