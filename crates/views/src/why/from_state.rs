//! Explains a slot without a record from the state of the CronJob.

use jiff::civil::DateTime;
use jiff::{SignedDuration, Timestamp};
use punctual_api::ConcurrencyPolicy;
use punctual_engine::cronjob::{EffectiveSchedule, Plan, ScheduleError, StartDecision};
use punctual_schedule::{Schedule, ScheduleKind};

use super::{Cause, Explanation, from_record};
use crate::dst;
use crate::snapshot::CronJobSnapshot;
use crate::time_text::{distance, format_duration, local_time};

/// How long a controller may take to start a slot.
pub(super) const START_TOLERANCE: SignedDuration = SignedDuration::from_secs(30);

/// Explains a civil time that does not exist.
pub(super) fn skipped_civil_time(snapshot: &CronJobSnapshot, civil: DateTime) -> Explanation {
    let zone = snapshot.zone();
    let gap = dst::gap_at(zone, civil).map(format_duration).unwrap_or_default();
    Explanation::new(
        Cause::DstGap,
        format!(
            "not run: {} did not exist in {}",
            civil.strftime("%a %Y-%m-%d %H:%M"),
            zone.name()
        ),
    )
    .detail(format!("The clocks were set forward by {gap} over this time (daylight saving time)."))
    .remedy(
        "To run every day, choose a time outside the change of the clocks, or the time zone UTC.",
    )
}

/// Explains a slot that has no record.
pub(super) fn explain(snapshot: &CronJobSnapshot, slot: Timestamp, now: Timestamp) -> Explanation {
    let timetable = match snapshot.timetable() {
        Ok(timetable) => timetable,
        Err(error) => return invalid_schedule(error),
    };
    let zone = snapshot.zone();
    let created = snapshot.cron_job.metadata.creation_timestamp.map(|time| time.timestamp());
    if let Some(created) = created.filter(|created| slot <= *created) {
        return Explanation::new(Cause::BeforeCreation, "not run: the CronJob did not exist yet")
            .detail(format!("It was created at {}.", local_time(zone, created)));
    }
    if let Some(explanation) = before_schedule_change(snapshot, slot) {
        return explanation;
    }
    let schedule = timetable.schedule();
    if !is_slot(snapshot, schedule, slot) {
        return never_due(snapshot, schedule, slot, now);
    }
    if slot > now {
        return not_yet_due(snapshot, slot, now);
    }
    pending_or_unknown(snapshot, slot, now)
}

/// Whether the schedule has a slot at this instant. The slots of an interval depend on earlier runs, so only
/// those after the last run are known.
fn is_slot(snapshot: &CronJobSnapshot, schedule: &Schedule, slot: Timestamp) -> bool {
    match schedule.kind() {
        ScheduleKind::Every(_) => {
            snapshot.last_decided().is_some_and(|last| slot <= last)
                || snapshot.latest_slot(slot) == Some(slot)
        }
        _ => schedule.matches(slot),
    }
}

pub(super) fn invalid_schedule(error: &ScheduleError) -> Explanation {
    let explanation = match error {
        ScheduleError::UnknownTimeZone { zone, .. } => Explanation::new(
            Cause::UnknownTimeZone,
            format!("nothing runs: the time zone {zone:?} is unknown"),
        )
        .remedy("Correct spec.timeZone: an IANA name such as Europe/Berlin. A new name needs new time zone data."),
        ScheduleError::UnparseableSchedule { schedule, .. } => Explanation::new(
            Cause::InvalidSchedule,
            format!("nothing runs: the schedule {schedule:?} is invalid"),
        )
        .remedy("Correct spec.schedule. `{program} explain 'EXPR'` shows what an expression means."),
        ScheduleError::InvalidSchedule { schedule } => Explanation::new(
            Cause::InvalidSchedule,
            format!("nothing runs: the schedule {schedule:?} never has a slot"),
        )
        .remedy("Correct spec.schedule: it names a day that does not exist."),
    };
    explanation.detail(error.to_string())
}

fn before_schedule_change(snapshot: &CronJobSnapshot, slot: Timestamp) -> Option<Explanation> {
    let since = EffectiveSchedule::from_cron_job(&snapshot.cron_job)?.since;
    if slot > since || snapshot.last_decided().is_some_and(|last| slot <= last && last > since) {
        return None;
    }
    let explanation =
        Explanation::new(Cause::ScheduleChanged, "not run: the schedule was changed after it");
    Some(
        explanation
            .detail(format!(
                "The current schedule {:?} applies since {}. Slots before that never start, and older records are \
                 not kept.",
                snapshot.cron_job.spec.schedule,
                local_time(snapshot.zone(), since)
            ))
            .remedy("Start a run by hand if the work of that slot is needed: kubectl create job NAME --from=cronjob/NAME."),
    )
}

fn never_due(
    snapshot: &CronJobSnapshot,
    schedule: &Schedule,
    slot: Timestamp,
    now: Timestamp,
) -> Explanation {
    let zone = snapshot.zone();
    let mut explanation = Explanation::new(
        Cause::NeverDue,
        format!("not run: the schedule {:?} has no slot then", schedule.text()),
    )
    .detail(format!("It runs: {}.", schedule.describe()));
    let before = snapshot.latest_slot(slot).map(|it| format!("before: {}", local_time(zone, it)));
    let after = snapshot.slots_after(slot.max(now.min(slot))).next();
    let after = after.map(|it| format!("after: {}", local_time(zone, it)));
    let around: Vec<String> = before.into_iter().chain(after).collect();
    if !around.is_empty() {
        explanation = explanation.detail(format!("The nearest slots are {}.", around.join(", ")));
    }
    explanation.remedy("If it should run then, change spec.schedule or spec.timeZone.")
}

fn not_yet_due(snapshot: &CronJobSnapshot, slot: Timestamp, now: Timestamp) -> Explanation {
    let wait = format_duration(distance(now, slot));
    let explanation =
        Explanation::new(Cause::NotYetDue, format!("not run yet: it is due in {wait}"));
    match snapshot.suspension() {
        Some(suspension) if suspension.until.is_none_or(|until| slot < until) => explanation
            .detail("The CronJob is suspended, so the slot will be skipped unless it is resumed before."),
        _ => explanation,
    }
}

/// Explains a slot that has passed and has no record.
fn pending_or_unknown(snapshot: &CronJobSnapshot, slot: Timestamp, now: Timestamp) -> Explanation {
    let Some(plan) = snapshot.decide(now) else { return no_record(snapshot, slot) };
    if let Some(explanation) = clock_jump(snapshot, &plan) {
        return explanation;
    }
    if snapshot.last_decided().is_some_and(|last| slot <= last) {
        return no_record(snapshot, slot);
    }
    if plan.start_decision == StartDecision::Suspended {
        return suspended(snapshot);
    }
    if snapshot.cron_job.spec.starting_deadline_seconds == Some(0) {
        return never_runs();
    }
    let effective = snapshot.effective_time(slot);
    if effective > now {
        return not_yet_effective(snapshot, effective, now);
    }
    pending(snapshot, slot, &plan, now)
}

/// Explains that a recorded time in the future keeps slots from starting.
pub(super) fn clock_jump(snapshot: &CronJobSnapshot, plan: &Plan) -> Option<Explanation> {
    let record = plan.future_record?;
    let until = local_time(snapshot.zone(), record.time);
    Some(
        Explanation::new(
            Cause::ClockJump,
            format!("nothing runs until {until}: a recorded time is in the future"),
        )
        .detail(format!(
            "{} is {until}: a clock was ahead when it was written. Slots up to a recorded one never start twice.",
            record.field
        ))
        .remedy(format!(
            "Correct the clocks, then run: {{program}} repair {} -n {}",
            snapshot.cron_job.metadata.name, snapshot.cron_job.metadata.namespace
        )),
    )
}

pub(super) fn suspended(snapshot: &CronJobSnapshot) -> Explanation {
    let zone = snapshot.zone();
    let name = &snapshot.cron_job.metadata.name;
    let suspension = snapshot.suspension().unwrap_or_default();
    let mut explanation = Explanation::new(Cause::Suspended, "not run: the CronJob is suspended");
    if let Some(since) = suspension.since {
        explanation =
            explanation.detail(format!("It is suspended since {}.", local_time(zone, since)));
    }
    if !suspension.reason.is_empty() {
        explanation = explanation.detail(format!("The reason given: {}.", suspension.reason));
    }
    if !suspension.by.is_empty() {
        explanation = explanation.detail(format!("Suspended by {}.", suspension.by));
    }
    match suspension.until {
        Some(until) => explanation
            .detail(format!("It is resumed at {}.", local_time(zone, until)))
            .remedy(format!("To resume it now: {{program}} resume {name}")),
        None => explanation.remedy(format!("To resume it: {{program}} resume {name}")),
    }
}

pub(super) fn never_runs() -> Explanation {
    Explanation::new(Cause::NeverRuns, "nothing runs: startingDeadlineSeconds is 0")
        .detail("Every slot is past its deadline at once.")
        .remedy("Remove spec.startingDeadlineSeconds, or set it to the seconds that a run may start late.")
}

pub(super) fn not_yet_effective(
    snapshot: &CronJobSnapshot,
    effective: Timestamp,
    now: Timestamp,
) -> Explanation {
    let wait = format_duration(distance(now, effective));
    Explanation::new(
        Cause::NotYetEffective,
        format!("not run yet: it starts in {wait}, because of its jitter"),
    )
    .detail(format!(
        "jitter is {}%, which moves this slot to {}.",
        snapshot.cron_job.jitter_percent(),
        local_time(snapshot.zone(), effective)
    ))
}

/// Explains a slot that is due and not started, from what the controller would do now.
pub(super) fn pending(
    snapshot: &CronJobSnapshot,
    slot: Timestamp,
    plan: &Plan,
    now: Timestamp,
) -> Explanation {
    match &plan.start_decision {
        StartDecision::Blocked { .. } => waiting(snapshot),
        StartDecision::WaitingForPods { until, .. } => waiting_for_pods(snapshot, *until),
        StartDecision::Due { slot: due } if *due < slot => behind(snapshot, plan.pending_slots),
        StartDecision::Due { slot: due } if *due > slot => Explanation::new(
            Cause::Superseded,
            "not run: a later slot starts instead",
        )
        .detail(format!("Slot {} is pending too, and the latest starts.", local_time(snapshot.zone(), *due)))
        .remedy("To run every slot, use concurrencyPolicy CatchUp."),
        StartDecision::Due { .. } | StartDecision::Postponed { .. } | StartDecision::Adopted { .. } => {
            due(snapshot, slot, now)
        }
        StartDecision::NameTaken { .. } => {
            Explanation::new(Cause::NameTaken, "not run: another Job has the name of its Job")
                .remedy("Delete or rename the other Job or object.")
        }
        StartDecision::Deleted => {
            Explanation::new(Cause::BeingDeleted, "not run: the CronJob is being deleted")
        }
        StartDecision::Suspended => suspended(snapshot),
        StartDecision::NoSchedule(error) => invalid_schedule(error),
        StartDecision::OneShotDisabled | StartDecision::NotDue if !plan.missed_slots.is_empty() => {
            overdue(snapshot, slot, now).detail(
                "Its starting deadline has passed too, so it will be recorded as missed when a controller acts.",
            )
        }
        StartDecision::OneShotDisabled | StartDecision::NotDue => no_record(snapshot, slot),
    }
}

/// Explains that the slot waits for the active run.
pub(super) fn waiting(snapshot: &CronJobSnapshot) -> Explanation {
    let active: Vec<&str> =
        snapshot.cron_job.status.active.iter().map(|job| job.name.as_str()).collect();
    let active = if active.is_empty() { "a run".to_owned() } else { active.join(", ") };
    match snapshot.policy() {
        ConcurrencyPolicy::CatchUp => Explanation::new(
            Cause::CatchUpBehind,
            "not run yet: earlier slots run first (policy CatchUp)",
        )
        .detail(format!("Active: {active}. Each pending slot starts when the one before it ends."))
        .remedy("If runs take longer than the time between slots, the backlog grows: make them shorter or rarer."),
        policy => Explanation::new(
            Cause::WaitingForActiveRun,
            format!("not run yet: another run is active (policy {})", policy.as_str()),
        )
        .detail(format!("Active: {active}. When it ends, the latest pending slot starts; older ones are skipped."))
        .remedy("If the active run hangs, delete its Job, and set activeDeadlineSeconds in the template."),
    }
}

/// Explains that the slot waits until the Pods of the replaced run are gone.
fn waiting_for_pods(snapshot: &CronJobSnapshot, until: Option<Timestamp>) -> Explanation {
    let explanation = Explanation::new(
        Cause::WaitingForActiveRun,
        "not run yet: Pods of the run that it replaces are still terminating (policy Replace)",
    );
    let explanation = match until {
        Some(until) => explanation.detail(format!(
            "It starts when they are gone, and at {} in any case.",
            local_time(snapshot.zone(), until)
        )),
        None => explanation.detail("It starts when they are gone."),
    };
    explanation.remedy(
        "If the program ends slowly, let it react to SIGTERM, or set a shorter terminationGracePeriodSeconds.",
    )
}

fn behind(snapshot: &CronJobSnapshot, pending: u64) -> Explanation {
    waiting(snapshot).detail(format!("{pending} slots are pending."))
}

/// Explains a slot that should start now.
fn due(snapshot: &CronJobSnapshot, slot: Timestamp, now: Timestamp) -> Explanation {
    let conditions = &snapshot.cron_job.status.conditions;
    let unsettled =
        conditions.iter().find(|it| it.condition_type == "Settled" && it.status == "False");
    if let Some(unsettled) = unsettled {
        let rejected = from_record::rejected(&unsettled.message);
        if rejected.cause != Cause::CreateRejected {
            return rejected.detail("The controller tries again, with longer and longer pauses.");
        }
        return Explanation::new(Cause::CreatePending, "not run yet: its Job could not be created")
            .detail(format!("{}: {}", unsettled.reason, unsettled.message))
            .detail("The controller tries again, with longer and longer pauses.")
            .remedy("Correct what the message names.");
    }
    if distance(oldest_due(snapshot, slot), now) <= START_TOLERANCE {
        return Explanation::new(Cause::Starting, "not run yet: it is due since a moment");
    }
    overdue(snapshot, slot, now)
}

/// Returns when the oldest slot was due that is not accounted for. If it is overdue, its controller is away, however
/// new `slot` is.
fn oldest_due(snapshot: &CronJobSnapshot, slot: Timestamp) -> Timestamp {
    let since = snapshot.last_decided().max(snapshot.schedule_since());
    let oldest = since.and_then(|since| snapshot.slots_after(since).next());
    snapshot.effective_time(oldest.unwrap_or(slot).min(slot))
}

fn overdue(snapshot: &CronJobSnapshot, slot: Timestamp, now: Timestamp) -> Explanation {
    let late = format_duration(distance(snapshot.effective_time(slot), now));
    let rejected = snapshot.events.iter().rev().find(|event| event.reason == "FailedCreate");
    if let Some(rejected) = rejected {
        return from_record::rejected(&rejected.message);
    }
    Explanation::new(
        Cause::ControllerDown,
        format!("not run: no controller acted, although the slot is due since {late}"),
    )
    .detail("Its status does not mention the slot, so no CronJob controller seems to reconcile this CronJob.")
    .remedy(
        "Check that the controller runs: `punctual up` or `punctual controller`, or kube-controller-manager. It starts \
         or records the slot when it is back.",
    )
}

fn no_record(snapshot: &CronJobSnapshot, slot: Timestamp) -> Explanation {
    let zone = snapshot.zone();
    let mut explanation =
        Explanation::new(Cause::NoRecord, "not known: no record of this slot is kept");
    if let Some(oldest) = snapshot.ledger.oldest_slot()
        && slot < oldest
    {
        explanation = explanation
            .detail(format!("The oldest record is of slot {}.", local_time(zone, oldest)));
    }
    if let Some(note) = snapshot.ledger.source().note() {
        explanation = explanation.detail(note);
    }
    explanation.remedy("`punctual up` keeps records for 90 days; the log of `punctual controller` has one line for each.")
}
