//! The status to write: counts, indexes, times and conditions, as Kubernetes v1.36 writes them.

use jiff::Timestamp;
use punctual_api::Time;
use punctual_api::job::{JobCondition, JobStatus, condition};

use super::finished_condition::FinishedCondition;
use super::job_params::JobParams;
use super::reasons;
use super::step::JobStep;
use crate::PendingEvent;

/// The status to write, and the events to record after the write.
#[derive(Debug)]
pub(super) struct StatusDraft {
    pub(super) status: JobStatus,
    pub(super) events: Vec<PendingEvent>,
    now: Timestamp,
}

impl StatusDraft {
    /// Drafts the status after a step.
    pub(super) fn from_step(step: &JobStep<'_>, now: Timestamp) -> StatusDraft {
        let status = step.summary.params.job.status.clone();
        let mut draft = StatusDraft { status, events: Vec::new(), now };
        draft.status.start_time = step.started_at.map(Time::new);
        draft.set_counts(step);
        match &step.finished {
            Some(finished) => draft.set_finished(step, finished),
            None if step.may_change_pods => draft.set_suspended(&step.summary.params),
            None => {}
        }
        draft
    }

    fn set_counts(&mut self, step: &JobStep<'_>) {
        let status = &mut self.status;
        status.active = to_i32(step.active());
        status.ready = Some(to_i32(step.ready()));
        status.terminating = Some(to_i32(step.summary.terminating + step.removals.len()));
        status.uncounted_terminated_pods = Some(step.tracking.uncounted.clone());
        status.failed = step.tracking.failed;
        status.succeeded = step.tracking.succeeded;
        if step.summary.params.is_indexed {
            let indexes = &step.summary.succeeded_indexes;
            status.succeeded = i32::try_from(indexes.len()).unwrap_or(i32::MAX);
            status.completed_indexes = indexes.to_string();
            status.failed_indexes = step.summary.failed_indexes.as_ref().map(ToString::to_string);
        }
    }

    /// Writes the interim condition. Writes the final condition after the interim one is recorded, no
    /// Pod is left to count and all Pods have finished.
    fn set_finished(&mut self, step: &JobStep<'_>, finished: &FinishedCondition) {
        // A suspended Job can finish too, and the API requires a start time for a finished Job.
        self.status.start_time.get_or_insert(Time::new(self.now));
        if !finished.is_recorded {
            let interim = finished.interim_type();
            self.set_condition(interim, "True", &finished.reason, &finished.message);
        } else if step.has_no_pods_left() {
            let final_type = finished.final_type();
            self.set_condition(final_type, "True", &finished.reason, &finished.message);
            self.record_finished(&step.summary.params, finished);
        }
    }

    fn record_finished(&mut self, params: &JobParams<'_>, finished: &FinishedCondition) {
        if finished.has_failed {
            let reason = reasons::failure_event_reason(&finished.reason);
            return self.events.push(PendingEvent::warning(reason, finished.message.clone()));
        }
        // If the clock was set back, the Job must not complete before it started.
        self.status.completion_time = self.status.start_time.max(Some(Time::new(self.now)));
        let completions = params.job.spec.completions;
        if completions.is_some_and(|completions| self.status.succeeded > completions) {
            let message = "Too many succeeded pods running after completion count reached";
            self.events.push(PendingEvent::warning(reasons::TOO_MANY_SUCCEEDED_PODS, message));
        }
        self.events.push(PendingEvent::normal(reasons::COMPLETED, "Job completed"));
    }

    fn set_suspended(&mut self, params: &JobParams<'_>) {
        if params.is_suspended() {
            let message = "Job suspended";
            if self.set_condition(condition::SUSPENDED, "True", reasons::JOB_SUSPENDED, message) {
                // Time in suspension does not count for `activeDeadlineSeconds`.
                self.status.start_time = None;
                self.events.push(PendingEvent::normal(reasons::SUSPENDED, message));
            }
        } else if self.status.condition(condition::SUSPENDED).is_some() {
            let message = "Job resumed";
            if self.set_condition(condition::SUSPENDED, "False", reasons::JOB_RESUMED, message) {
                self.status.start_time = Some(Time::new(self.now));
                self.events.push(PendingEvent::normal(reasons::RESUMED, message));
            }
        }
    }

    /// Sets a condition and returns whether it changed.
    fn set_condition(
        &mut self,
        condition_type: &str,
        status: &str,
        reason: &str,
        message: &str,
    ) -> bool {
        let time = Some(Time::new(self.now));
        let new = JobCondition {
            condition_type: condition_type.to_owned(),
            status: status.to_owned(),
            last_probe_time: time,
            last_transition_time: time,
            reason: reason.to_owned(),
            message: message.to_owned(),
        };
        let conditions = &mut self.status.conditions;
        let Some(old) = conditions.iter_mut().find(|old| old.condition_type == condition_type)
        else {
            conditions.push(new);
            return true;
        };
        let is_changed =
            old.status != new.status || old.reason != new.reason || old.message != new.message;
        if is_changed {
            *old = new;
        }
        is_changed
    }
}

fn to_i32(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}
