//! Chooses the pending slot (scheduled time) to start, given the active Jobs and the concurrency
//! policy.

use jiff::Timestamp;
use punctual_api::{ConcurrencyPolicy, Time, meta::ObjectReference, names};

use super::{
    Observed, Timetable, active_jobs, ledger, manual_jobs,
    pending_slots::{self, PendingSlots},
    plan::{CreateJob, JobKey, MissReason, MissedSlots, Plan, StartDecision},
    reasons, run_requests, skipped_slots,
};
use crate::PendingEvent;

/// More pending slots than this cause a warning event, as in Kubernetes.
const PENDING_SLOTS_MAX: u64 = 100;

/// Chooses the slot to start, if any, and the active Jobs that it replaces.
///
/// `CatchUp` starts the oldest pending slot and keeps the others pending. The other policies start
/// only the latest one, as Kubernetes does, and skip the others.
pub(crate) fn choose_slot(
    observed: &Observed<'_>,
    timetable: &Timetable,
    pending: &PendingSlots,
    plan: &mut Plan,
    now: Timestamp,
) -> StartDecision {
    plan.pending_slots = pending.count;
    let policy = observed.gates.concurrency_policy(observed.cron_job);
    let slot = match policy {
        ConcurrencyPolicy::CatchUp => pending.oldest,
        _ => pending.latest,
    };
    let Some(slot) = slot else { return StartDecision::NotDue };
    if policy == ConcurrencyPolicy::Allow && pending.count > PENDING_SLOTS_MAX {
        plan.events.push(PendingEvent::warning(
            reasons::TOO_MANY_MISSED_TIMES,
            "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check \
             clock skew",
        ));
    }
    let name = names::job_name(&observed.cron_job.metadata.name, slot);
    let blocked_until = ledger::blocked_until(observed, plan);
    let skipped = skipped_slots::slots_superseded_by(slot, pending.after, timetable, blocked_until);
    let record = ledger::started(observed, Some(timetable), slot, &name, now);
    let job = CreateJob { name, slot, skipped, record, requested: None };
    if observed.older_object_of_same_name.is_some_and(|other| other.schedule().matches(slot)) {
        return miss_reserved_slot(observed, &job, plan);
    }
    let is_running = !plan.status.active.is_empty();
    let manual_job = manual_jobs::blocking_job(observed, policy);
    match policy {
        ConcurrencyPolicy::Forbid if is_running => {
            plan.events.push(already_active_event());
            StartDecision::Blocked { slot }
        }
        // No event: the slot stays pending and starts later.
        ConcurrencyPolicy::CatchUp if is_running => StartDecision::Blocked { slot },
        ConcurrencyPolicy::CatchUp
            if pending.count > 1 && run_requests::has_urgent_request(observed) =>
        {
            StartDecision::Blocked { slot }
        }
        _ if let Some(job) = manual_job => {
            plan.events.push(manual_jobs::waiting_event(job));
            StartDecision::Blocked { slot }
        }
        ConcurrencyPolicy::Replace if let Some(job) = requested_job(observed, plan) => {
            plan.events.push(waiting_for_request_event(&job));
            StartDecision::Blocked { slot }
        }
        // Until the slot of a Job is recorded, only the name of that Job prevents a second Job for
        // the slot. So the Job must not be deleted yet.
        ConcurrencyPolicy::Replace if has_unrecorded_job(plan) => StartDecision::Postponed { slot },
        ConcurrencyPolicy::Replace => {
            plan.jobs_to_replace = running_jobs(observed, plan);
            start_slot(observed, job, plan)
        }
        _ => start_slot(observed, job, plan),
    }
}

/// Counts a slot as missed whose Job name belongs to an older object of the same name. Both would
/// otherwise compete for the name, and `Replace` could delete a run for a slot that does not start.
fn miss_reserved_slot(observed: &Observed<'_>, job: &CreateJob, plan: &mut Plan) -> StartDecision {
    let CreateJob { name, slot, skipped, .. } = job;
    if let Some(skipped) = skipped {
        skipped_slots::count_skipped(skipped, *slot, plan);
    }
    let missed = MissedSlots::one(*slot, MissReason::NameTaken);
    pending_slots::count_missed(plan, missed);
    let message = format!(
        "Missed the slot {}: its job name {name:?} belongs to an older object of another kind with the \
         same name, which has the same slot; rename, suspend or delete one of the two objects named {:?}",
        Time::new(*slot),
        observed.cron_job.metadata.name
    );
    plan.events.push(PendingEvent::warning(reasons::FAILED_CREATE, &message));
    plan.name_taken = Some(message);
    StartDecision::NameTaken { slot: *slot }
}

/// Returns the name of an active Job that a RunRequest asked for. `Replace` does not delete it.
fn requested_job(observed: &Observed<'_>, plan: &Plan) -> Option<String> {
    let mut active = plan.status.active.iter();
    let found = active.find(|entry| run_requests::is_requested(observed, &entry.uid));
    found.map(|entry| entry.name.clone())
}

fn waiting_for_request_event(job: &str) -> PendingEvent {
    PendingEvent::normal(
        reasons::JOB_ALREADY_ACTIVE,
        format!("Not starting job because the requested job {job} is running"),
    )
}

fn already_active_event() -> PendingEvent {
    PendingEvent::normal(
        reasons::JOB_ALREADY_ACTIVE,
        "Not starting job because prior execution is running and concurrency policy is Forbid",
    )
}

/// Whether a Job is active that the observed status does not record.
pub(crate) fn has_unrecorded_job(plan: &Plan) -> bool {
    let observed = &plan.observed_status;
    plan.status.last_schedule_time > observed.last_schedule_time
        && plan.status.active.iter().any(|entry| !active_jobs::is_listed(observed, &entry.uid))
}

/// Returns the active Jobs to replace. A Job that a live read shows as finished is not deleted: it
/// stays in `status.active` until the cache has its result and it is counted.
pub(crate) fn running_jobs(observed: &Observed<'_>, plan: &Plan) -> Vec<JobKey> {
    let running_key = |entry: &ObjectReference| {
        // A live read is newer than the cache.
        let mut views = active_jobs::own_live_jobs(observed).chain(observed.jobs);
        let view = views.find(|job| job.uid == entry.uid);
        if view.is_some_and(|job| job.result.is_some()) {
            return None;
        }
        let resource_version = view.map(|job| job.resource_version.clone());
        let slot = view.and_then(|job| job.slot);
        Some(JobKey { name: entry.name.clone(), uid: entry.uid.clone(), resource_version, slot })
    };
    plan.status.active.iter().filter_map(running_key).collect()
}

/// Returns the name of the Job to create if it replaces active Jobs and it is unknown whether the name
/// is free.
pub(crate) fn job_to_read_before_replace(observed: &Observed<'_>, plan: &Plan) -> Option<String> {
    if plan.jobs_to_replace.is_empty() {
        return None;
    }
    let create = plan.job_to_create.as_ref()?;
    let is_read = observed.live_jobs.iter().any(|(name, _)| *name == create.name);
    (!is_read).then(|| create.name.clone())
}

/// Deletes no Job for a slot that cannot start, because a Job of another owner has its name. The create
/// then fails, and the slot is missed.
pub(crate) fn keep_jobs_if_name_is_taken(observed: &Observed<'_>, plan: &mut Plan) {
    let Some(create) = &plan.job_to_create else { return };
    let found = observed.live_jobs.iter().filter(|(name, _)| *name == create.name);
    let mut owners = found.filter_map(|(_, job)| Some(&job.as_ref()?.controller_uid));
    if owners.any(|owner| *owner != plan.owner.uid) {
        plan.jobs_to_replace.clear();
    }
}

/// Creates the Job of a slot, or records it if the cache has it already.
fn start_slot(observed: &Observed<'_>, job: CreateJob, plan: &mut Plan) -> StartDecision {
    let slot = job.slot;
    let Some(existing) = observed.jobs.iter().find(|existing| existing.name == job.name) else {
        plan.job_to_create = Some(job);
        return StartDecision::Due { slot };
    };
    plan.jobs_to_replace.retain(|delete| delete.uid != existing.uid);
    active_jobs::record_slot(&mut plan.status, slot);
    if let Some(skipped) = &job.skipped {
        skipped_slots::count_skipped(skipped, slot, plan);
    }
    let record = ledger::started_before(observed, existing, slot);
    ledger::add_started(&mut plan.status, record, &existing.uid);
    if !active_jobs::is_listed(&plan.status, &existing.uid) {
        active_jobs::add_active(observed, &mut plan.status, existing);
    }
    StartDecision::Adopted { slot }
}
