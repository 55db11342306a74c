//! Chooses the pending slot to start, given the active Jobs and the concurrency policy.

use jiff::Timestamp;
use punctual_api::{ConcurrencyPolicy, meta::ObjectReference, names};

use super::{
    Observed, active_jobs,
    pending_slots::PendingSlots,
    plan::{CreateJob, JobKey, Plan, StartDecision},
    reasons,
};
use crate::PendingEvent;

/// More pending slots than this cause a warning event, as in Kubernetes.
const PENDING_SLOTS_MAX: u64 = 100;

/// Chooses the slot to start, if any, and the active Jobs that it replaces.
///
/// `CatchUp` starts the oldest pending slot and keeps the others pending. The other policies start
/// only the latest one, as Kubernetes does.
pub(crate) fn choose_slot(
    observed: &Observed<'_>,
    pending: &PendingSlots,
    plan: &mut Plan,
) -> StartDecision {
    plan.pending_slots = pending.count;
    let policy = observed.cron_job.concurrency_policy();
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
    let is_running = !plan.status.active.is_empty();
    match policy {
        ConcurrencyPolicy::Forbid if is_running => {
            plan.events.push(already_active_event());
            StartDecision::Blocked { slot }
        }
        // No event: the slot stays pending and starts later.
        ConcurrencyPolicy::CatchUp if is_running => StartDecision::Blocked { slot },
        // Until the slot of a Job is recorded, only the name of that Job prevents a second Job for
        // the slot. So the Job must not be deleted yet.
        ConcurrencyPolicy::Replace if has_unrecorded_job(plan) => StartDecision::Postponed { slot },
        ConcurrencyPolicy::Replace => {
            plan.jobs_to_replace = running_jobs(observed, plan);
            start_slot(observed, slot, plan)
        }
        _ => start_slot(observed, slot, plan),
    }
}

fn already_active_event() -> PendingEvent {
    PendingEvent::normal(
        reasons::JOB_ALREADY_ACTIVE,
        "Not starting job because prior execution is running and concurrency policy is Forbid",
    )
}

/// Whether a Job is active that the observed status does not record.
fn has_unrecorded_job(plan: &Plan) -> bool {
    let observed = &plan.observed_status;
    plan.status.last_schedule_time > observed.last_schedule_time
        && plan.status.active.iter().any(|entry| !active_jobs::is_listed(observed, &entry.uid))
}

/// Returns the active Jobs to replace. A Job that a live read shows as finished is not deleted: it
/// stays in `status.active` until the cache has its result and it is counted.
fn running_jobs(observed: &Observed<'_>, plan: &Plan) -> Vec<JobKey> {
    let running_key = |entry: &ObjectReference| {
        // A live read is newer than the cache.
        let mut views = active_jobs::own_live_jobs(observed).chain(observed.jobs);
        let view = views.find(|job| job.uid == entry.uid);
        if view.is_some_and(|job| job.result.is_some()) {
            return None;
        }
        let resource_version = view.map(|job| job.resource_version.clone());
        Some(JobKey { name: entry.name.clone(), uid: entry.uid.clone(), resource_version })
    };
    plan.status.active.iter().filter_map(running_key).collect()
}

/// Creates the Job of a slot, or records it if the cache has it already.
fn start_slot(observed: &Observed<'_>, slot: Timestamp, plan: &mut Plan) -> StartDecision {
    let name = names::job_name(&observed.cron_job.metadata.name, slot);
    let Some(job) = observed.jobs.iter().find(|job| job.name == name) else {
        plan.job_to_create = Some(CreateJob { name, slot });
        return StartDecision::Due { slot };
    };
    plan.jobs_to_replace.retain(|delete| delete.uid != job.uid);
    active_jobs::record_slot(&mut plan.status, slot);
    if !active_jobs::is_listed(&plan.status, &job.uid) {
        active_jobs::add_active(observed, &mut plan.status, job);
    }
    StartDecision::Adopted { slot }
}
