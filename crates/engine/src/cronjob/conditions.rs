//! The conditions of a CronJob's status. Kubernetes' CronJobs have none.

use jiff::Timestamp;
use punctual_api::{Time, cronjob::CronJobStatus, meta::Condition};
use punctual_schedule::ScheduleKind;

use super::{
    Observed,
    plan::{Plan, StartDecision},
    reasons::{condition_reason, condition_type},
};
use crate::PendingEvent;

/// The conditions to write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConditionsDraft {
    /// Why `Settled` is False; `None` if it is True.
    pub unsettled: Option<Unsettled>,
    /// The message of `InvalidTimeZone`, if the time zone cannot be loaded.
    pub invalid_time_zone: Option<String>,
    /// The message of `Complete`, if the only slot was started or missed.
    pub complete: Option<String>,
}

/// Why a CronJob is not settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsettled {
    /// The reason of the condition `Settled`.
    pub reason: String,
    /// The message of the condition `Settled`.
    pub message: String,
}

impl Unsettled {
    fn never_runs(message: &str) -> Unsettled {
        Unsettled { reason: condition_reason::NEVER_RUNS.into(), message: message.into() }
    }
}

/// Drafts the conditions, without the errors of effects that `settle` adds.
pub(crate) fn draft_conditions(observed: &Observed<'_>, plan: &mut Plan) {
    if let StartDecision::NoSchedule(error) = &plan.start_decision {
        let message = error.to_string();
        plan.events.push(PendingEvent::warning(error.reason(), &message));
        plan.conditions.invalid_time_zone = error.is_about_zone().then(|| message.clone());
        plan.conditions.unsettled = Some(Unsettled { reason: error.reason().into(), message });
    } else if observed.cron_job.spec.starting_deadline_seconds == Some(0) {
        let message = "startingDeadlineSeconds is 0, so every slot is missed";
        plan.conditions.unsettled = Some(Unsettled::never_runs(message));
    } else if is_only_slot_too_early(observed, plan) {
        let message =
            "the only slot precedes the creation of the CronJob or the change of its schedule";
        plan.conditions.unsettled = Some(Unsettled::never_runs(message));
    } else if !is_starting(&plan.start_decision) {
        plan.conditions.unsettled = name_taken_before(&plan.observed_status);
    }
    if has_no_next_slot(&plan.start_decision) {
        plan.status.next_schedule_time = None;
    }
    if !is_only_slot_too_early(observed, plan) {
        plan.conditions.complete = completed_message(observed, &plan.status);
    }
}

fn is_starting(decision: &StartDecision) -> bool {
    matches!(decision, StartDecision::Due { .. } | StartDecision::Adopted { .. })
}

fn has_no_next_slot(decision: &StartDecision) -> bool {
    use StartDecision::{Deleted, NoSchedule, Suspended};
    matches!(decision, Deleted | Suspended | NoSchedule(_))
}

/// Keeps the reason `NameTaken` until another slot starts, so that users can see it in between.
fn name_taken_before(status: &CronJobStatus) -> Option<Unsettled> {
    let is_name_taken = |condition: &&Condition| {
        condition.condition_type == condition_type::SETTLED
            && condition.reason == condition_reason::NAME_TAKEN
    };
    let condition = status.conditions.iter().find(is_name_taken)?;
    Some(Unsettled { reason: condition.reason.clone(), message: condition.message.clone() })
}

/// Whether the schedule has a single slot that precedes the CronJob or its current schedule, so
/// that it never starts.
fn is_only_slot_too_early(observed: &Observed<'_>, plan: &Plan) -> bool {
    let Some(slot) = only_slot(observed) else { return false };
    let created_at = observed.cron_job.metadata.creation_timestamp.map(Time::timestamp);
    plan.schedule_since.max(created_at).is_some_and(|since| slot <= since)
}

/// Returns the message of `Complete` if the only slot was started or missed.
fn completed_message(observed: &Observed<'_>, status: &CronJobStatus) -> Option<String> {
    let slot = Some(Time::new(only_slot(observed)?));
    if status.last_schedule_time >= slot {
        return Some("the only slot was started".into());
    }
    (status.last_missed_time >= slot).then(|| "the only slot was missed".into())
}

/// Returns the slot of a schedule that has exactly one.
fn only_slot(observed: &Observed<'_>) -> Option<Timestamp> {
    let timetable = observed.timetable.as_ref().ok()?;
    match timetable.schedule().kind() {
        ScheduleKind::At(slot) => Some(slot),
        _ => None,
    }
}

/// The content of a condition to write.
struct ConditionValue<'a> {
    status: &'a str,
    reason: &'a str,
    message: &'a str,
}

impl ConditionsDraft {
    /// Writes the conditions to a status. A condition keeps its `lastTransitionTime` unless its
    /// status changes.
    pub(crate) fn write_to(&self, status: &mut CronJobStatus, now: Timestamp) {
        let settled = match &self.unsettled {
            None => {
                ConditionValue { status: "True", reason: condition_reason::RECONCILED, message: "" }
            }
            Some(Unsettled { reason, message }) => {
                ConditionValue { status: "False", reason, message }
            }
        };
        set_condition(status, condition_type::SETTLED, Some(settled), now);
        let invalid_time_zone = self.invalid_time_zone.as_deref().map(|message| {
            let reason = condition_reason::UNKNOWN_TIME_ZONE;
            ConditionValue { status: "True", reason, message }
        });
        set_condition(status, condition_type::INVALID_TIME_ZONE, invalid_time_zone, now);
        let complete = self.complete.as_deref().map(|message| {
            let reason = condition_reason::FULFILLED;
            ConditionValue { status: "True", reason, message }
        });
        set_condition(status, condition_type::COMPLETE, complete, now);
    }
}

/// Sets the condition of a type, or removes it if `value` is `None`.
fn set_condition(
    status: &mut CronJobStatus,
    condition_type: &str,
    value: Option<ConditionValue<'_>>,
    now: Timestamp,
) {
    let conditions = &mut status.conditions;
    let Some(value) = value else {
        conditions.retain(|condition| condition.condition_type != condition_type);
        return;
    };
    if !conditions.iter().any(|condition| condition.condition_type == condition_type) {
        let condition_type = condition_type.into();
        conditions.push(Condition { condition_type, ..Condition::default() });
    }
    let existing = conditions.iter_mut().find(|c| c.condition_type == condition_type);
    let Some(condition) = existing else { return };
    if condition.status != value.status {
        condition.status = value.status.into();
        condition.last_transition_time = Some(Time::new(now));
    }
    condition.reason = value.reason.into();
    condition.message = value.message.into();
}
