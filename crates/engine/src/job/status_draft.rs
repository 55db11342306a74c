//! The status to write: counts, indexes, times and conditions, as Kubernetes v1.36 writes them.

use jiff::Timestamp;
use punctual_api::Time;
use punctual_api::job::{JobCondition, JobStatus, condition};

use super::finished_condition::FinishedCondition;
use super::step::JobStep;
use super::{job_params::JobParams, reasons};
use crate::PendingEvent;

/// A status, and what to tell once it is written.
#[derive(Debug)]
pub(super) struct StatusDraft {
    pub(super) status: JobStatus,
    pub(super) events: Vec<PendingEvent>,
    now: Timestamp,
}

/// The status after a step.
pub(super) fn after(step: &JobStep<'_>, now: Timestamp) -> StatusDraft {
    let status = step.summary.params.job.status.clone();
    let mut draft = StatusDraft { status, events: Vec::new(), now };
    draft.status.start_time = step.started_at.map(Time::new);
    draft.count(step);
    match &step.finished {
        Some(finished) => draft.conclude(step, finished),
        None if step.may_touch_pods => draft.note_suspension(&step.summary.params),
        None => {}
    }
    draft
}

impl StatusDraft {
    fn count(&mut self, step: &JobStep<'_>) {
        let status = &mut self.status;
        status.active = number(step.active());
        status.ready = Some(number(step.ready()));
        status.terminating = Some(number(step.summary.terminating + step.removals.len()));
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

    /// Writes the interim condition first, and the final one only once it is there, nothing is left
    /// to count and no Pod is left to end.
    fn conclude(&mut self, step: &JobStep<'_>, finished: &FinishedCondition) {
        // A Job may come to its end while it is suspended, and a finished Job must have a start.
        self.status.start_time.get_or_insert(Time::new(self.now));
        if !finished.is_recorded {
            self.set(finished.interim(), "True", &finished.reason, &finished.message);
        } else if step.is_over() {
            self.set(finished.terminal(), "True", &finished.reason, &finished.message);
            self.note_end(&step.summary.params, finished);
        }
    }

    fn note_end(&mut self, params: &JobParams<'_>, finished: &FinishedCondition) {
        if finished.has_failed {
            let reason = reasons::of_failure(&finished.reason);
            return self.events.push(PendingEvent::warning(reason, finished.message.clone()));
        }
        // A clock that was set back must not make the end come before the start.
        self.status.completion_time = self.status.start_time.max(Some(Time::new(self.now)));
        let wanted = params.job.spec.completions;
        if wanted.is_some_and(|completions| self.status.succeeded > completions) {
            let message = "Too many succeeded pods running after completion count reached";
            self.events.push(PendingEvent::warning(reasons::TOO_MANY_SUCCEEDED_PODS, message));
        }
        self.events.push(PendingEvent::normal(reasons::COMPLETED, "Job completed"));
    }

    fn note_suspension(&mut self, params: &JobParams<'_>) {
        if params.is_suspended() {
            let message = "Job suspended";
            if self.set(condition::SUSPENDED, "True", reasons::JOB_SUSPENDED, message) {
                // The time a Job is suspended is not time it is active.
                self.status.start_time = None;
                self.events.push(PendingEvent::normal(reasons::SUSPENDED, message));
            }
        } else if self.status.condition(condition::SUSPENDED).is_some() {
            let message = "Job resumed";
            if self.set(condition::SUSPENDED, "False", reasons::JOB_RESUMED, message) {
                self.status.start_time = Some(Time::new(self.now));
                self.events.push(PendingEvent::normal(reasons::RESUMED, message));
            }
        }
    }

    /// Sets a condition, in its place if it has one, and tells whether that changed anything.
    fn set(&mut self, kind: &str, status: &str, reason: &str, message: &str) -> bool {
        let time = Some(Time::new(self.now));
        let new = JobCondition {
            condition_type: kind.to_owned(),
            status: status.to_owned(),
            last_probe_time: time,
            last_transition_time: time,
            reason: reason.to_owned(),
            message: message.to_owned(),
        };
        let conditions = &mut self.status.conditions;
        let Some(old) = conditions.iter_mut().find(|condition| condition.condition_type == kind)
        else {
            conditions.push(new);
            return true;
        };
        let says = |c: &JobCondition| (c.status.clone(), c.reason.clone(), c.message.clone());
        let is_news = says(old) != says(&new);
        if is_news {
            *old = new;
        }
        is_news
    }
}

fn number(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}
