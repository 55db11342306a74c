//! Computes the status to write from a plan and the results of its effects.

mod requested_run;

use jiff::Timestamp;
use punctual_api::Time;
use punctual_api::slot_record::RunResult;

use super::{
    active_jobs,
    conditions::Unsettled,
    job_view::JobView,
    ledger, pending_slots,
    plan::{
        CreateError, CreateJob, CreateResult, DeleteError, EffectResult, JobKey, MissReason,
        MissedSlots, Plan, Settled,
    },
    reasons::{self, condition_reason},
    run_requests::RequestPlan,
    skipped_slots,
};
use crate::PendingEvent;

/// Returns the status to write, the remaining effects and the next wake-up.
///
/// An effect without a result was not executed, or its result is unknown: it is retried.
pub fn settle(mut plan: Plan, results: &[EffectResult], now: Timestamp) -> Settled {
    let mut needs_retry = !settle_deletes(&mut plan, results, now);
    if let Some(create) = plan.job_to_create.take() {
        needs_retry |= !settle_create(&mut plan, &create, results);
    }
    let slot_records = ledger::finish(
        &mut plan.status,
        &plan.observed_status,
        plan.retention,
        &plan.unreleased_runs,
    );
    let requests = RequestPlan::from_drafts(std::mem::take(&mut plan.requests), now);
    if let Some(wake_at) = requests.wake_at {
        plan.wake_by(wake_at);
    }
    plan.conditions.write_to(&mut plan.status, plan.owner.generation, now);
    let is_changed = plan.status != plan.observed_status;
    Settled {
        status: is_changed.then_some(plan.status),
        events: plan.events,
        finished_runs: plan.finished_runs,
        missed_slots: plan.missed_slots,
        suspension_change: plan.suspension_change,
        slot_records,
        request_updates: requests.updates,
        requests_to_delete: requests.to_delete,
        jobs_to_clean_up: plan.jobs_to_clean_up,
        finalizers_to_remove: plan.finalizers_to_remove,
        jobs_to_give_up: plan.jobs_to_give_up,
        schedule_to_record: plan.schedule_to_record,
        zone_gate_to_record: plan.zone_gate_to_record,
        future_record: plan.future_record,
        wake_at: plan.wake_at,
        needs_retry,
    }
}

/// Removes the replaced Jobs from `status.active`. Returns whether all deletes succeeded.
fn settle_deletes(plan: &mut Plan, results: &[EffectResult], now: Timestamp) -> bool {
    let mut all_deleted = true;
    for delete in std::mem::take(&mut plan.jobs_to_replace) {
        match delete_result(&delete, results) {
            Some(Ok(())) => {
                let status = &mut plan.status;
                status.active.retain(|entry| entry.uid != delete.uid);
                let result = RunResult::Replaced;
                ledger::end_run_without_result(status, &delete.uid, result, Some(now));
                plan.events.push(delete.deleted_event());
            }
            Some(Err(error)) => {
                plan.events.push(delete.delete_failed_event(&error.message));
                all_deleted = false;
            }
            None => all_deleted = false,
        }
    }
    all_deleted
}

fn delete_result<'a>(
    delete: &JobKey,
    results: &'a [EffectResult],
) -> Option<&'a Result<(), DeleteError>> {
    results.iter().find_map(|effect| match effect {
        EffectResult::Deleted(name, result) if *name == delete.name => Some(result),
        _ => None,
    })
}

/// Returns whether the slot is finished: its Job was created, already existed, or the slot is missed
/// because another Job has its name.
fn settle_create(plan: &mut Plan, create: &CreateJob, results: &[EffectResult]) -> bool {
    let create_result = results.iter().find_map(|effect| match effect {
        EffectResult::Created(result) => Some(result),
        EffectResult::Deleted(..) => None,
    });
    if let Some(run) = &create.requested {
        return requested_run::settle_create(plan, create, run, create_result);
    }
    let is_finished = match create_result {
        Some(CreateResult::Created { uid, resource_version, created_at }) => {
            record_job(plan, create, uid, resource_version, *created_at);
            plan.events.push(created_event(create));
            true
        }
        Some(CreateResult::AlreadyExists(job)) => {
            settle_existing_job(plan, create, job);
            true
        }
        Some(CreateResult::Failed(error)) => {
            settle_create_error(plan, error);
            false
        }
        None => false,
    };
    if is_finished && let Some(skipped) = &create.skipped {
        skipped_slots::count_skipped(skipped, create.slot, plan);
    }
    is_finished
}

/// Records an existing Job of this CronJob: an earlier attempt created it without recording it. If
/// the Job belongs to another owner, the slot is missed, because only one Job can have its name.
fn settle_existing_job(plan: &mut Plan, create: &CreateJob, job: &JobView) {
    if job.controller_uid == plan.owner.uid {
        record_job(plan, create, &job.uid, &job.resource_version, job.created_at);
        return;
    }
    let CreateJob { name, slot, .. } = create;
    let missed = MissedSlots::one(*slot, MissReason::NameTaken);
    pending_slots::count_missed(plan, missed);
    let message = format!(
        "Error creating job: jobs.batch {name:?} already exists and is not controlled by this \
         CronJob, so the slot {} is missed; delete that Job if it is not needed, or rename this \
         CronJob or the object that creates such Jobs",
        Time::new(*slot)
    );
    plan.events.push(PendingEvent::warning(reasons::FAILED_CREATE, &message));
    let reason = condition_reason::NAME_TAKEN.into();
    plan.conditions.unsettled = Some(Unsettled { reason, message });
}

fn created_event(create: &CreateJob) -> PendingEvent {
    PendingEvent::normal(reasons::SUCCESSFUL_CREATE, format!("Created job {}", create.name))
}

fn settle_create_error(plan: &mut Plan, error: &CreateError) {
    let message = error.to_string();
    if !error.is_namespace_terminating {
        plan.events.push(PendingEvent::warning(reasons::FAILED_CREATE, &message));
    }
    let reason = condition_reason::RECONCILE_ERROR.into();
    plan.conditions.unsettled = Some(Unsettled { reason, message });
}

/// Adds the Job to `status.active` and records its slot.
fn record_job(
    plan: &mut Plan,
    create: &CreateJob,
    uid: &str,
    resource_version: &str,
    created_at: Option<Timestamp>,
) {
    add_run(plan, create, uid, resource_version, created_at);
    active_jobs::record_slot(&mut plan.status, create.slot);
}

/// Adds the Job to `status.active` and adds its slot record.
fn add_run(
    plan: &mut Plan,
    create: &CreateJob,
    uid: &str,
    resource_version: &str,
    created_at: Option<Timestamp>,
) {
    let mut record = create.record.clone();
    record.created_time = created_at.map(Time::new).or(record.created_time);
    ledger::add_started(&mut plan.status, record, uid);
    if !active_jobs::is_listed(&plan.status, uid) {
        let namespace = &plan.owner.namespace;
        let entry = active_jobs::job_reference(namespace, &create.name, uid, resource_version);
        plan.status.active.push(entry);
    }
}
