//! A RunRequest with the status to write.

use std::sync::Arc;

use jiff::Timestamp;
use punctual_api::run_request::{RunRequestStatus, condition_reason, condition_type};
use punctual_api::{RunRequest, Time};

use crate::cronjob::conditions::{ConditionValue, set_condition};

/// A RunRequest and its drafted status.
#[derive(Clone, Debug)]
pub(crate) struct RequestDraft {
    /// The request as observed.
    pub(crate) request: Arc<RunRequest>,
    pub(crate) status: RunRequestStatus,
    now: Timestamp,
}

/// A RunRequest to delete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestKey {
    /// The name.
    pub name: String,
    /// The UID, a precondition of the call.
    pub uid: String,
}

/// A status of a RunRequest to write.
#[derive(Clone, Debug)]
pub struct RequestUpdate {
    /// The request as observed. Its resource version is a precondition of the write.
    pub request: Arc<RunRequest>,
    /// The status to write.
    pub status: RunRequestStatus,
}

impl RequestDraft {
    pub(crate) fn new(request: &Arc<RunRequest>, now: Timestamp) -> RequestDraft {
        RequestDraft { request: request.clone(), status: request.status.clone(), now }
    }

    /// Whether no further run may start.
    pub(crate) fn is_stopped(&self) -> bool {
        self.request.spec.suspend == Some(true)
            || self.request.metadata.deletion_timestamp.is_some()
    }

    /// Refuses the request for now. It is accepted when the cause is gone.
    pub(crate) fn refuse(&mut self, reason: &str, message: &str) {
        self.set(condition_type::ACCEPTED, "False", reason, message);
    }

    /// Accepts the request. The caller sets the chosen runs.
    pub(crate) fn accept(&mut self, target_uid: &str, message: &str) {
        self.status.target_uid = target_uid.to_owned();
        self.status.accepted_time = Some(Time::new(self.now));
        self.set(condition_type::ACCEPTED, "True", condition_reason::ACCEPTED, message);
    }

    /// Sets why the request is not complete.
    pub(crate) fn set_running(&mut self, reason: &str, message: &str) {
        self.set(condition_type::COMPLETE, "False", reason, message);
    }

    /// Ends the request, because all its runs have ended.
    pub(crate) fn finish_by_results(&mut self, now: Timestamp) {
        let RunRequestStatus { total, succeeded, failed, skipped, .. } = self.status;
        let reason = if total == 0 {
            condition_reason::NOTHING_TO_RUN
        } else if failed > 0 {
            condition_reason::FAILED
        } else {
            condition_reason::SUCCEEDED
        };
        let message = match total {
            0 => "no slot had to run".to_owned(),
            _ => format!("of {total}: {succeeded} succeeded, {failed} failed, {skipped} skipped"),
        };
        self.finish_with(reason, &message, now);
    }

    /// Ends the request, because no further run can start.
    pub(crate) fn finish(&mut self, reason: &str, now: Timestamp) {
        self.status.active.clear();
        self.finish_with(reason, "the CronJob was deleted, so no further run starts", now);
    }

    fn finish_with(&mut self, reason: &str, message: &str, now: Timestamp) {
        self.status.completion_time = Some(Time::new(now));
        self.set(condition_type::COMPLETE, "True", reason, message);
    }

    fn set(&mut self, condition_type: &str, status: &str, reason: &str, message: &str) {
        let value = ConditionValue { status, reason, message };
        set_condition(&mut self.status.conditions, condition_type, Some(value), self.now);
    }

    /// Returns the status to write, if it changed.
    pub(crate) fn into_update(mut self) -> Option<RequestUpdate> {
        if self.status == self.request.status {
            return None;
        }
        let generation = self.request.metadata.generation;
        self.status.observed_generation = generation;
        for condition in &mut self.status.conditions {
            condition.observed_generation = generation;
        }
        Some(RequestUpdate { request: self.request, status: self.status })
    }
}
