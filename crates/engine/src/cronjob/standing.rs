//! The conditions of a CronJob: how it stands, and since when.

use jiff::Timestamp;
use punctual_api::{Time, cronjob::CronJobStatus, meta::Condition};
use punctual_schedule::ScheduleKind;

use super::{
    Observed,
    plan::{Plan, Verdict},
    reasons::conditions,
};
use crate::Note;

/// What the conditions will say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Why the CronJob is not settled: reason and message.
    pub unsettled: Option<(String, String)>,
    /// Why its zone cannot be loaded.
    pub bad_zone: Option<String>,
    /// That its only slot is past.
    pub complete: Option<String>,
}

/// Finds how the CronJob stands, the effects of the plan apart.
pub(crate) fn assess(seen: &Observed<'_>, plan: &mut Plan) {
    if let Verdict::Trouble(trouble) = &plan.verdict {
        let message = trouble.message();
        plan.notes.push(Note::warning(trouble.reason(), &message));
        plan.standing.bad_zone = trouble.is_about_zone().then(|| message.clone());
        plan.standing.unsettled = Some((trouble.reason().into(), message));
    } else if seen.cron_job.spec.starting_deadline_seconds == Some(0) {
        let message = "startingDeadlineSeconds is 0, so every slot is too late when it comes";
        plan.standing.unsettled = Some((conditions::NEVER_RUNS.into(), message.into()));
    } else if is_past_from_the_start(seen, plan) {
        let message = "the only slot lies before the CronJob was made or its schedule was changed";
        plan.standing.unsettled = Some((conditions::NEVER_RUNS.into(), message.into()));
    } else if !matches!(plan.verdict, Verdict::Due { .. } | Verdict::Adopted { .. }) {
        plan.standing.unsettled = still_taken(&plan.status_seen);
    }
    if matches!(plan.verdict, Verdict::Deleted | Verdict::Suspended | Verdict::Trouble(_)) {
        plan.status.next_schedule_time = None;
    }
    if !is_past_from_the_start(seen, plan) {
        plan.standing.complete = fulfilled(seen, &plan.status);
    }
}

/// That a name was taken stays true until another slot is started.
fn still_taken(seen: &CronJobStatus) -> Option<(String, String)> {
    let taken = |condition: &&Condition| {
        condition.condition_type == conditions::SETTLED
            && condition.reason == conditions::NAME_TAKEN
    };
    let condition = seen.conditions.iter().find(taken)?;
    Some((condition.reason.clone(), condition.message.clone()))
}

/// Whether the one slot there is was over before it could count.
fn is_past_from_the_start(seen: &Observed<'_>, plan: &Plan) -> bool {
    let Ok(timetable) = seen.timetable else { return false };
    let ScheduleKind::At(at) = timetable.schedule().kind() else { return false };
    let created_at = seen.cron_job.metadata.creation_timestamp.map(Time::timestamp);
    plan.schedule_since.max(created_at).is_some_and(|since| at <= since)
}

/// Whether the one slot there is was started or missed.
fn fulfilled(seen: &Observed<'_>, status: &CronJobStatus) -> Option<String> {
    let Ok(timetable) = seen.timetable else { return None };
    let ScheduleKind::At(at) = timetable.schedule().kind() else { return None };
    let at = Some(Time::new(at));
    if status.last_schedule_time >= at {
        return Some("the only slot was started".into());
    }
    (status.last_missed_time >= at).then(|| "the only slot was missed".into())
}

impl Standing {
    /// Writes the conditions. A condition keeps its time unless its status changes.
    pub(crate) fn write(&self, status: &mut CronJobStatus, now: Timestamp) {
        let settled = match &self.unsettled {
            None => ("True", conditions::RECONCILED, ""),
            Some((reason, message)) => ("False", reason.as_str(), message.as_str()),
        };
        set(status, conditions::SETTLED, Some(settled), now);
        let bad_zone = self.bad_zone.as_deref().map(|why| ("True", "UnknownTimeZone", why));
        set(status, conditions::INVALID_TIME_ZONE, bad_zone, now);
        let complete = self.complete.as_deref().map(|why| ("True", conditions::FULFILLED, why));
        set(status, conditions::COMPLETE, complete, now);
    }
}

fn set(status: &mut CronJobStatus, kind: &str, wanted: Option<(&str, &str, &str)>, now: Timestamp) {
    let known = status.conditions.iter().position(|condition| condition.condition_type == kind);
    let Some((value, reason, message)) = wanted else {
        status.conditions.retain(|condition| condition.condition_type != kind);
        return;
    };
    let at = known.unwrap_or_else(|| {
        status.conditions.push(Condition { condition_type: kind.into(), ..Condition::default() });
        status.conditions.len() - 1
    });
    let Some(condition) = status.conditions.get_mut(at) else { return };
    if condition.status != value {
        condition.status = value.into();
        condition.last_transition_time = Some(Time::new(now));
    }
    condition.reason = reason.into();
    condition.message = message.into();
}
