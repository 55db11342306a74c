//! Explains a slot from its record.

use jiff::{SignedDuration, Timestamp};
use punctual_api::slot_record::{RunResult, SlotDecision, SlotRecord, reason};

use super::{Cause, Explanation};
use crate::ledger::{instant, run_duration};
use crate::snapshot::CronJobSnapshot;
use crate::time_text::{distance, format_duration, local_time, plural};

/// A start within this time is not called late.
const LATE: SignedDuration = SignedDuration::from_secs(10);

/// Explains a slot from its record.
pub(super) fn explain(
    snapshot: &CronJobSnapshot,
    slot: Timestamp,
    record: &SlotRecord,
) -> Explanation {
    let explanation = match record.decision {
        SlotDecision::Started => explain_run(snapshot, slot, record),
        SlotDecision::Skipped | SlotDecision::Missed => explain_not_run(snapshot, slot, record),
    };
    let mut explanation = explanation.of_slot(snapshot, slot);
    // The schedule, and with it the jitter, may have changed since.
    explanation.effective_time = instant(record.effective_time).filter(|time| *time != slot);
    if record.slots() > 1
        && let Some(through) = instant(record.last_slot())
    {
        let zone = snapshot.zone();
        let first = instant(record.slot).unwrap_or(slot);
        explanation.details.push(format!(
            "The same holds for {} from {} to {}.",
            plural(record.slots(), "slot"),
            local_time(zone, first),
            local_time(zone, through)
        ));
    }
    explanation.record = Some(record.clone());
    explanation
}

/// The Job of a record, for messages.
fn job_name(record: &SlotRecord) -> &str {
    record.job.as_ref().map_or("", |job| job.name.as_str())
}

fn is_job_gone(snapshot: &CronJobSnapshot, record: &SlotRecord) -> bool {
    let is_kept = |name: &str| snapshot.jobs.iter().any(|job| job.name == name);
    record.job.as_ref().is_some_and(|job| !is_kept(&job.name))
}

fn explain_run(snapshot: &CronJobSnapshot, slot: Timestamp, record: &SlotRecord) -> Explanation {
    let lateness = lateness(slot, record);
    let explanation = explain_result(snapshot, slot, record, lateness);
    let explanation = explain_start(snapshot, record, explanation, lateness);
    if !record.is_running() && is_job_gone(snapshot, record) {
        return explain_gone_job(snapshot, record, explanation);
    }
    match record.result {
        Some(RunResult::Failed) => explanation.remedy(format!(
            "Read its log: {{program}} logs {} --slot {slot}",
            snapshot.cron_job.metadata.name
        )),
        Some(RunResult::Running) => explanation.remedy(format!(
            "Follow its log: {{program}} logs {} -f",
            snapshot.cron_job.metadata.name
        )),
        _ => explanation,
    }
}

/// Returns how long after its effective time a run was created; `None` for a run that was asked for.
fn lateness(slot: Timestamp, record: &SlotRecord) -> Option<SignedDuration> {
    let due = instant(record.effective_time).unwrap_or(slot);
    let late = distance(due, instant(record.created_time)?);
    (record.is_scheduled() && late > LATE).then_some(late)
}

/// Says how the run ended.
fn explain_result(
    snapshot: &CronJobSnapshot,
    slot: Timestamp,
    record: &SlotRecord,
    lateness: Option<SignedDuration>,
) -> Explanation {
    let job = job_name(record);
    let took = run_duration(record)
        .map_or_else(String::new, |took| format!(" after {}", format_duration(took)));
    let late =
        lateness.map_or_else(String::new, |late| format!(", {} late", format_duration(late)));
    match record.result {
        Some(RunResult::Failed) => explain_failure(record, format!("ran{late}, and failed{took}")),
        Some(RunResult::Replaced) => explain_replaced(snapshot, slot, record),
        Some(RunResult::Deleted) => Explanation::new(
            Cause::Deleted,
            format!("started{late}, and its Job was deleted while it was active"),
        )
        .detail(format!(
            "The Job {job} was deleted by a user or a program, not by the CronJob's policy."
        ))
        .remedy("Find out who deleted it in the audit log of the API server."),
        Some(RunResult::Running) => {
            Explanation::new(Cause::Running, format!("is running{late}: Job {job}"))
        }
        Some(RunResult::Unknown) | None => Explanation::new(
            Cause::UnknownResult,
            format!("started{late}, but it is not known how its run ended"),
        )
        .detail(format!("The Job {job} disappeared before its result was recorded.")),
        Some(RunResult::Succeeded) if !record.is_scheduled() => Explanation::new(
            Cause::Requested,
            format!("ran because it was asked for, and succeeded{took}"),
        ),
        Some(RunResult::Succeeded) if lateness.is_some() => {
            Explanation::new(Cause::StartedLate, format!("ran{late}, and succeeded{took}"))
        }
        Some(RunResult::Succeeded) => {
            Explanation::new(Cause::Succeeded, format!("ran, and succeeded{took}"))
        }
    }
}

fn explain_failure(record: &SlotRecord, answer: String) -> Explanation {
    let mut explanation = Explanation::new(Cause::Failed, answer);
    if !record.failure_reason.is_empty() {
        explanation = explanation.detail(format!("The Job failed with {}.", record.failure_reason));
    }
    if let Some(attempts) = record.attempts {
        let attempts = plural(i64::from(attempts), "Pod");
        explanation = explanation.detail(format!("{attempts} of it ended."));
    }
    match record.failure_reason.as_str() {
        "DeadlineExceeded" => explanation
            .remedy("Raise activeDeadlineSeconds of the template if the run needs more time."),
        "BackoffLimitExceeded" => explanation.remedy(
            "Correct the program, or raise backoffLimit of the template to retry more often.",
        ),
        _ => explanation,
    }
}

fn explain_replaced(
    snapshot: &CronJobSnapshot,
    slot: Timestamp,
    record: &SlotRecord,
) -> Explanation {
    let answer = "started, and was deleted for a later slot (policy Replace)";
    let mut explanation = Explanation::new(Cause::Replaced, answer);
    if let Some(later) = snapshot.ledger.next_run_after(slot)
        && let Some(later_slot) = instant(later.slot)
    {
        explanation = explanation.detail(format!(
            "Slot {} was due while the Job {} was still active, so it was deleted and {} started.",
            local_time(snapshot.zone(), later_slot),
            job_name(record),
            job_name(later)
        ));
    }
    explanation.remedy(
        "To let runs end, use concurrencyPolicy Forbid or CatchUp, or a schedule with more time between the slots.",
    )
}

/// Says why the run started when it did.
fn explain_start(
    snapshot: &CronJobSnapshot,
    record: &SlotRecord,
    explanation: Explanation,
    lateness: Option<SignedDuration>,
) -> Explanation {
    if !record.is_scheduled() {
        return explanation.detail(format!(
            "The RunRequest {} asked for this run; it does not count as a slot of the schedule.",
            record.request
        ));
    }
    let Some(late) = lateness else { return explanation };
    let late = format_duration(late);
    if record.reason == reason::CAUGHT_UP {
        return explanation.detail(format!(
            "It started {late} late, because earlier slots ran first (policy CatchUp)."
        ));
    }
    let due = instant(record.effective_time.or(record.slot));
    let active = due.and_then(|due| snapshot.ledger.run_active_at(due));
    let blocking = active.filter(|active| active.job != record.job);
    match blocking.and_then(|active| instant(active.slot)) {
        Some(blocking) => explanation.detail(format!(
            "It started {late} late, because the run of slot {} was still active.",
            local_time(snapshot.zone(), blocking)
        )),
        None => explanation
            .detail(format!(
                "It started {late} late: no controller acted at the time. It was stopped or restarting, another \
                 replica became leader, the API server did not answer, or the CronJob was suspended until then."
            ))
            .remedy("Set startingDeadlineSeconds if a late run is worse than none."),
    }
}

fn explain_gone_job(
    snapshot: &CronJobSnapshot,
    record: &SlotRecord,
    mut explanation: Explanation,
) -> Explanation {
    let is_plain = matches!(explanation.cause, Cause::Succeeded | Cause::Failed);
    if is_plain {
        explanation.cause = Cause::JobGone;
    }
    let (successful, failed) = snapshot.cron_job.history_limits();
    let limits = format!(
        "The Job {} and its log are gone: the CronJob keeps {successful} successful and {failed} failed Jobs, and the \
         template may have ttlSecondsAfterFinished.",
        job_name(record)
    );
    explanation.details.push(limits);
    if is_plain {
        explanation.remedies.push(
            "To keep Jobs and logs longer, raise successfulJobsHistoryLimit or failedJobsHistoryLimit, or \
             ttlSecondsAfterFinished."
                .to_owned(),
        );
    }
    explanation
}

fn explain_not_run(
    snapshot: &CronJobSnapshot,
    slot: Timestamp,
    record: &SlotRecord,
) -> Explanation {
    let explanation = match record.reason.as_str() {
        reason::SUPERSEDED => superseded(snapshot, slot),
        reason::CONCURRENCY_FORBIDDEN => forbidden(snapshot, slot),
        reason::SUSPENDED => Explanation::new(Cause::Suspended, "not run: the CronJob was suspended")
            .detail("Slots that are due while a CronJob is suspended are skipped when it is resumed."),
        "ScheduleChanged" => Explanation::new(Cause::ScheduleChanged, "not run: the schedule was changed")
            .detail("The slot had not started when the schedule or time zone was edited. An edit never starts slots of the past."),
        reason::DEADLINE_EXCEEDED => deadline_exceeded(snapshot, slot),
        reason::CREATE_REJECTED => return rejected(&record.message),
        reason::NAME_TAKEN => Explanation::new(Cause::NameTaken, "not run: another Job has the name of its Job")
            .remedy("Delete or rename the other Job or object, so that the next slots find their names free."),
        reason::CATCH_UP_LIMIT_EXCEEDED => Explanation::new(
            Cause::CatchUpLimitExceeded,
            "not run: more slots were pending than CatchUp runs",
        )
        .detail(format!("The limit is {} slots.", snapshot.cron_job.catch_up_limit()))
        .remedy("Raise catchUpLimit to run more slots after an outage."),
        other => {
            Explanation::new(Cause::OtherReason, format!("not run: {} ({other})", record.decision))
        }
    };
    if record.message.is_empty() {
        explanation
    } else {
        explanation.detail(format!("The controller says: {}", record.message))
    }
}

fn superseded(snapshot: &CronJobSnapshot, slot: Timestamp) -> Explanation {
    let zone = snapshot.zone();
    let mut explanation =
        Explanation::new(Cause::Superseded, "not run: a later slot started instead");
    if let Some(active) = blocking_run(snapshot, slot) {
        explanation = explanation.detail(active);
    }
    if let Some(later) = snapshot.ledger.next_run_after(slot)
        && let Some(later_slot) = instant(later.slot)
    {
        let started = instant(later.created_time)
            .map_or_else(String::new, |at| format!(" at {}", local_time(zone, at)));
        explanation = explanation.detail(format!(
            "Then slot {}, the latest that was pending, started{started}; older pending slots are skipped.",
            local_time(zone, later_slot)
        ));
    }
    explanation.remedy("To run every slot, use concurrencyPolicy CatchUp.")
}

fn forbidden(snapshot: &CronJobSnapshot, slot: Timestamp) -> Explanation {
    let answer = "not run: another run was active (policy Forbid)";
    let mut explanation = Explanation::new(Cause::ConcurrencyForbidden, answer);
    if let Some(active) = blocking_run(snapshot, slot) {
        explanation = explanation.detail(active);
    }
    explanation.remedy(
        "To run every slot, use concurrencyPolicy CatchUp; to let runs overlap, use Allow; or make runs shorter than \
         the time between slots.",
    )
}

/// Says which run was active when a slot was due.
fn blocking_run(snapshot: &CronJobSnapshot, slot: Timestamp) -> Option<String> {
    let zone = snapshot.zone();
    let active = snapshot.ledger.run_active_at(slot)?;
    let until = match instant(active.completion_time) {
        Some(end) => format!("was active until {}", local_time(zone, end)),
        None => "is active".to_owned(),
    };
    let active_slot = instant(active.slot)?;
    Some(format!("The run {} of slot {} {until}.", job_name(active), local_time(zone, active_slot)))
}

fn deadline_exceeded(snapshot: &CronJobSnapshot, slot: Timestamp) -> Explanation {
    let answer = "not run: its starting deadline passed before it could start";
    let mut explanation = Explanation::new(Cause::DeadlineExceeded, answer);
    if let Some(seconds) = snapshot.cron_job.spec.starting_deadline_seconds {
        explanation = explanation.detail(format!("startingDeadlineSeconds is {seconds}."));
    }
    match blocking_run(snapshot, slot) {
        Some(active) => explanation = explanation.detail(active),
        None => {
            explanation = explanation.detail(
                "No run was active at the time, so the controller or the API server was down, or the CronJob was \
                 suspended.",
            );
        }
    }
    explanation.remedy("Raise startingDeadlineSeconds, or remove it, to let a run start later.")
}

/// Explains that the server rejected the Job, from its message.
pub(super) fn rejected(message: &str) -> Explanation {
    let says = format!("The API server said: {message}");
    if message.contains("exceeded quota") {
        return Explanation::new(Cause::QuotaExceeded, "not run: a ResourceQuota of the namespace is used up")
            .detail(says)
            .remedy("Raise the quota, delete Jobs that are not needed, or lower the history limits of CronJobs.");
    }
    if message.contains("is invalid") || message.contains("Invalid value") {
        return Explanation::new(Cause::TemplateInvalid, "not run: the Job template is invalid")
            .detail(says)
            .remedy("Correct spec.jobTemplate. `{program} validate -f FILE` shows all errors of a manifest.");
    }
    let explanation =
        Explanation::new(Cause::CreateRejected, "not run: the API server rejected its Job");
    let remedy = if message.contains("forbidden") || message.contains("denied") {
        "Correct the permissions or the admission policy that refuses the Job."
    } else if message.contains("being terminated") {
        "The namespace is being deleted; nothing starts in it any more."
    } else {
        "Correct what the message names."
    };
    explanation.detail(says).remedy(remedy)
}
