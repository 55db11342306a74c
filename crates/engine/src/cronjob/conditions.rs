//! The conditions in a CronJob's status: whether it is settled, complete, has an invalid time zone, or
//! has fields whose feature gate is off. CronJobs of Kubernetes have no conditions.

use jiff::Timestamp;
use punctual_api::{Time, cronjob::CronJobStatus, meta::Condition};
use punctual_schedule::ScheduleKind;

use super::{
    Observed, Timetable,
    future_record::FutureRecord,
    plan::{Plan, StartDecision},
    reasons::{self, condition_reason, condition_type},
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
    /// The message of `FeatureDisabled`, if fields are ignored because their feature gate is off.
    pub feature_disabled: Option<String>,
    /// The message of `PendingDeadlineIgnored`, if the Pod template rules the pending deadline out.
    pub pending_deadline_ignored: Option<String>,
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
    } else if let Some(message) = plan.name_taken.clone() {
        let reason = condition_reason::NAME_TAKEN.into();
        plan.conditions.unsettled = Some(Unsettled { reason, message });
    } else if let Some(record) = plan.future_record {
        report_future_record(&record, plan);
    } else if !is_starting(&plan.start_decision) {
        plan.conditions.unsettled = name_taken_before(&plan.observed_status);
    }
    if has_no_next_slot(&plan.start_decision) {
        plan.status.next_schedule_time = None;
    }
    if let Some(outcome) = one_shot_outcome(observed, plan) {
        plan.conditions.complete = Some(format!("the only slot was {}", outcome.as_str()));
    }
    plan.conditions.feature_disabled = feature_disabled_message(observed);
}

/// Returns which fields are ignored because their feature gate is off.
fn feature_disabled_message(observed: &Observed<'_>) -> Option<String> {
    let timetable = observed.timetable.as_ref().ok();
    let zone = timetable.map(Timetable::zone);
    let is_one_shot = timetable.is_some_and(Timetable::is_single);
    let ignored = observed.gates.ignored_fields(observed.cron_job, zone, is_one_shot);
    (!ignored.is_empty()).then(|| ignored.join(". "))
}

/// Reports a recorded time in the future: with an event when it is found, and with `Settled` until it
/// has passed.
fn report_future_record(record: &FutureRecord, plan: &mut Plan) {
    let reason = reasons::LAST_SCHEDULE_IN_FUTURE;
    let is_reported = |condition: &Condition| condition.reason == reason;
    if !plan.observed_status.conditions.iter().any(is_reported) {
        plan.events.push(PendingEvent::warning(reason, record.message()));
    }
    let message = record.message();
    plan.conditions.unsettled = Some(Unsettled { reason: reason.into(), message });
}

fn is_starting(decision: &StartDecision) -> bool {
    matches!(decision, StartDecision::Due { .. } | StartDecision::Adopted { .. })
}

fn has_no_next_slot(decision: &StartDecision) -> bool {
    use StartDecision::{Deleted, NoSchedule, OneShotDisabled, Suspended};
    matches!(decision, Deleted | Suspended | NoSchedule(_) | OneShotDisabled)
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
    let zone_since = plan.zone_gate.map(|record| record.since);
    let since = schedule_since(observed, plan).max(zone_since);
    one_shot_outcome(observed, plan).is_none() && since.is_some_and(|since| slot <= since)
}

/// Returns since when the current schedule applies, whether or not its time zone is read.
fn schedule_since(observed: &Observed<'_>, plan: &Plan) -> Option<Timestamp> {
    let created_at = observed.cron_job.metadata.creation_timestamp.map(Time::timestamp);
    plan.schedule_effective_since.max(created_at)
}

/// What happened to the slot of a schedule that has exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OneShotOutcome {
    Started,
    Missed,
}

impl OneShotOutcome {
    fn as_str(self) -> &'static str {
        match self {
            OneShotOutcome::Started => "started",
            OneShotOutcome::Missed => "missed",
        }
    }
}

/// Returns what happened to the only slot, if it was started or missed.
///
/// Switching the feature gate `TimeZone` moves the slot, but must not run it a second time. So after a
/// switch, any slot that was recorded since the schedule applies is the only one.
pub(crate) fn one_shot_outcome(observed: &Observed<'_>, plan: &Plan) -> Option<OneShotOutcome> {
    let slot = only_slot(observed)?;
    let since = schedule_since(observed, plan);
    let is_handled = |recorded: Option<Time>| {
        let recorded = recorded.map(Time::timestamp);
        let is_after_start = recorded.is_some() && recorded > since;
        is_after_start && (recorded >= Some(slot) || plan.zone_gate.is_some())
    };
    if is_handled(plan.status.last_schedule_time) {
        return Some(OneShotOutcome::Started);
    }
    is_handled(plan.status.last_missed_time).then_some(OneShotOutcome::Missed)
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
pub(crate) struct ConditionValue<'a> {
    pub(crate) status: &'a str,
    pub(crate) reason: &'a str,
    pub(crate) message: &'a str,
}

impl ConditionsDraft {
    /// Writes the conditions of this generation to a status. A condition keeps its
    /// `lastTransitionTime` unless its status changes.
    pub(crate) fn write_to(&self, status: &mut CronJobStatus, generation: i64, now: Timestamp) {
        use condition_reason::{FEATURE_GATE_OFF, FULFILLED, TEMPLATE_CONFLICT, UNKNOWN_TIME_ZONE};
        use condition_type::{
            COMPLETE, FEATURE_DISABLED, INVALID_TIME_ZONE, PENDING_DEADLINE_IGNORED,
        };
        let settled = match &self.unsettled {
            None => {
                ConditionValue { status: "True", reason: condition_reason::RECONCILED, message: "" }
            }
            Some(Unsettled { reason, message }) => {
                ConditionValue { status: "False", reason, message }
            }
        };
        set_condition(&mut status.conditions, condition_type::SETTLED, Some(settled), now);
        let present_if_true = [
            (INVALID_TIME_ZONE, UNKNOWN_TIME_ZONE, &self.invalid_time_zone),
            (COMPLETE, FULFILLED, &self.complete),
            (FEATURE_DISABLED, FEATURE_GATE_OFF, &self.feature_disabled),
            (PENDING_DEADLINE_IGNORED, TEMPLATE_CONFLICT, &self.pending_deadline_ignored),
        ];
        for (condition_type, reason, message) in present_if_true {
            let message = message.as_deref();
            let value = message.map(|message| ConditionValue { status: "True", reason, message });
            set_condition(&mut status.conditions, condition_type, value, now);
        }
        for condition in &mut status.conditions {
            condition.observed_generation = generation;
        }
    }
}

/// Sets the condition of a type, or removes it if `value` is `None`.
pub(crate) fn set_condition(
    conditions: &mut Vec<Condition>,
    condition_type: &str,
    value: Option<ConditionValue<'_>>,
    now: Timestamp,
) {
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
