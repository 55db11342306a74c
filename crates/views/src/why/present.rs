//! Explains why nothing runs now, and the latest slot that did not run.

use jiff::Timestamp;
use punctual_engine::cronjob::{Plan, StartDecision};

use super::{Cause, Explanation, explain_slot, from_state};
use crate::ledger::instant;
use crate::slot_choice::ChosenSlot;
use crate::snapshot::CronJobSnapshot;
use crate::time_text::{distance, format_duration, local_time};

/// Explains why nothing runs now, or what runs.
pub fn explain_now(snapshot: &CronJobSnapshot, now: Timestamp) -> Explanation {
    let Some(plan) = snapshot.decide(now) else {
        return Explanation::new(Cause::NoRecord, "not known: the state cannot be read");
    };
    if let StartDecision::Deleted = plan.start_decision {
        return Explanation::new(
            Cause::BeingDeleted,
            "nothing starts: the CronJob is being deleted",
        );
    }
    if let Err(error) = snapshot.timetable() {
        return from_state::invalid_schedule(error);
    }
    if snapshot.cron_job.is_suspended() {
        let mut explanation = from_state::suspended(snapshot);
        explanation.answer = "nothing starts: the CronJob is suspended".to_owned();
        return explanation;
    }
    if snapshot.cron_job.spec.starting_deadline_seconds == Some(0) {
        return from_state::never_runs();
    }
    if let Some(explanation) = from_state::clock_jump(snapshot, &plan) {
        return explanation;
    }
    match pending_slot(&plan) {
        Some(slot) => from_state::pending(snapshot, slot, &plan, now).of_slot(snapshot, slot),
        None => waiting_for_next(snapshot, now),
    }
}

/// Returns the slot that is due and not started.
fn pending_slot(plan: &Plan) -> Option<Timestamp> {
    match &plan.start_decision {
        StartDecision::Due { slot }
        | StartDecision::Blocked { slot }
        | StartDecision::Postponed { slot }
        | StartDecision::WaitingForPods { slot, .. }
        | StartDecision::NameTaken { slot } => Some(*slot),
        _ => None,
    }
}

/// Explains a CronJob that has nothing to do until its next slot.
fn waiting_for_next(snapshot: &CronJobSnapshot, now: Timestamp) -> Explanation {
    let zone = snapshot.zone();
    let active: Vec<&str> =
        snapshot.cron_job.status.active.iter().map(|job| job.name.as_str()).collect();
    let running = match active.as_slice() {
        [] => None,
        active => Some(format!("running: {}", active.join(", "))),
    };
    if let Some(slot) = snapshot.latest_slot(now)
        && snapshot.effective_time(slot) > now
        && Some(slot) > snapshot.last_decided()
    {
        let effective = snapshot.effective_time(slot);
        return from_state::not_yet_effective(snapshot, effective, now).of_slot(snapshot, slot);
    }
    let Some(next) = snapshot.next_start(now) else {
        let answer =
            running.unwrap_or_else(|| "nothing runs: the schedule has no further slot".to_owned());
        return Explanation::new(Cause::Complete, answer)
            .remedy("To run it again, change spec.schedule.");
    };
    let next = format!(
        "the next run starts {}, in {}",
        local_time(zone, next),
        format_duration(distance(now, next))
    );
    match running {
        Some(running) => Explanation::new(Cause::Running, format!("{running}; {next}")),
        None => Explanation::new(Cause::NotYetDue, format!("nothing is due; {next}")),
    }
}

/// Explains the latest slot that did not run; `None` if there is none that is known.
pub fn explain_latest_not_run(snapshot: &CronJobSnapshot, now: Timestamp) -> Option<Explanation> {
    let recorded = snapshot.ledger.latest_not_run().and_then(|record| instant(record.last_slot()));
    let slot = unrecorded_slot(snapshot, now).max(recorded)?;
    Some(explain_slot(snapshot, &ChosenSlot::At(slot), now))
}

/// Returns the latest slot that has passed and is not accounted for.
fn unrecorded_slot(snapshot: &CronJobSnapshot, now: Timestamp) -> Option<Timestamp> {
    let slot = snapshot.latest_slot(now)?;
    let is_counted = Some(slot) > snapshot.schedule_since() && Some(slot) > snapshot.last_decided();
    is_counted.then_some(slot)
}
