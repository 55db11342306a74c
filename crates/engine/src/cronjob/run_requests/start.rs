//! Starts the next run of a RunRequest, unless it has to wait.

use jiff::Timestamp;
use punctual_api::run_request::{RunSelection, condition_reason};
use punctual_api::{ConcurrencyPolicy, Time, names};

use super::draft::RequestDraft;
use super::resolve::has_run;
use crate::cronjob::{
    Observed, active_jobs, concurrency,
    job_view::JobRequest,
    ledger, manual_jobs,
    plan::{CreateJob, Plan, RequestedRun, StartDecision},
    replacement,
    slot_records::{self, NeededRecords},
};

/// How many slots are checked at once for runs that were started since the request was accepted.
const CHECKED_SLOTS: i64 = 64;

/// Whether an active Job of this UID was requested.
pub(crate) fn is_requested(observed: &Observed<'_>, uid: &str) -> bool {
    let mut views = active_jobs::own_live_jobs(observed).chain(observed.jobs);
    views.any(|job| job.uid == uid && job.request.is_some())
}

/// Whether a request for a run now waits to start. Under the policy `CatchUp` it starts before the slots that
/// are behind.
pub(crate) fn has_urgent_request(observed: &Observed<'_>) -> bool {
    observed.requests.iter().any(|request| {
        request.spec.now
            && request.is_accepted()
            && !request.is_finished()
            && request.spec.suspend != Some(true)
            && request.metadata.deletion_timestamp.is_none()
            && request.status.target_uid == observed.cron_job.metadata.uid
            && request.status.next_index() < request.status.total
    })
}

/// Starts the next run, or sets why it waits.
pub(crate) fn start_next(
    observed: &Observed<'_>,
    plan: &mut Plan,
    draft: &mut RequestDraft,
    now: Timestamp,
) -> Result<(), NeededRecords> {
    if draft.is_stopped() {
        draft.set_running(condition_reason::SUSPENDED, "no further run starts");
        return Ok(());
    }
    if draft.status.active.len() >= draft.request.spec.parallelism() {
        draft.set_running(condition_reason::RUNNING, "runs are active");
        return Ok(());
    }
    if let Some(message) = waits_for(observed, plan, draft, now) {
        draft.set_running(condition_reason::WAITING, &message);
        return Ok(());
    }
    skip_slots_that_ran(observed, plan, draft)?;
    let Some((index, slot)) = next_run(draft) else {
        draft.set_running(condition_reason::RUNNING, "all runs were started");
        return Ok(());
    };
    draft.set_running(condition_reason::RUNNING, "runs are active");
    plan.job_to_create = Some(new_job(observed, draft, index, slot, now));
    Ok(())
}

/// Returns the position and the slot of the next run.
fn next_run(draft: &RequestDraft) -> Option<(i64, Timestamp)> {
    let index = draft.status.next_index();
    (index < draft.status.total).then_some(())?;
    Some((index, slot_at(draft, index)?))
}

fn slot_at(draft: &RequestDraft, index: i64) -> Option<Timestamp> {
    let position = match draft.request.spec.run_order() {
        punctual_api::run_request::RunOrder::OldestFirst => index,
        punctual_api::run_request::RunOrder::NewestFirst => draft.status.total - 1 - index,
    };
    draft.status.slots.nth(usize::try_from(position).ok()?)
}

/// Skips slots that another request has run since this one was accepted.
fn skip_slots_that_ran(
    observed: &Observed<'_>,
    plan: &Plan,
    draft: &mut RequestDraft,
) -> Result<(), NeededRecords> {
    let spec = &draft.request.spec;
    let selection = spec.selection();
    if spec.now || selection == RunSelection::All {
        return Ok(());
    }
    let first = draft.status.next_index();
    let last = (first + CHECKED_SLOTS).min(draft.status.total);
    let slots: Vec<Timestamp> = (first..last).filter_map(|index| slot_at(draft, index)).collect();
    let (Some(from), Some(through)) = (slots.iter().min(), slots.iter().max()) else {
        return Ok(());
    };
    let query = NeededRecords { from: *from, through: *through };
    let records = slot_records::find_records(observed, &plan.status, query)?;
    let accepted_time = draft.status.accepted_time;
    // A record of this request is about a Job that was created before a crash, which is adopted.
    let others = records.into_iter().filter(|record| {
        record.request != draft.request.metadata.name || record.created_time < accepted_time
    });
    let others: Vec<_> = others.collect();
    for slot in slots {
        if !has_run(&others, slot, selection) {
            break;
        }
        draft.status.skipped += 1;
    }
    Ok(())
}

fn new_job(
    observed: &Observed<'_>,
    draft: &RequestDraft,
    index: i64,
    slot: Timestamp,
    now: Timestamp,
) -> CreateJob {
    let metadata = &draft.request.metadata;
    let spec = &draft.request.spec;
    let cron_job = &observed.cron_job.metadata.name;
    // A slot without a run has the name that the schedule would have given it.
    let name = if !spec.now && spec.selection() == RunSelection::Missing {
        names::job_name(cron_job, slot)
    } else {
        names::requested_job_name(cron_job, &metadata.uid, index)
    };
    let request = JobRequest { name: metadata.name.clone(), uid: metadata.uid.clone(), index };
    let record = ledger::requested(slot, &name, &request.name, now);
    let overrides = spec.overrides.clone();
    let requested = Some(Box::new(RequestedRun { request, overrides }));
    CreateJob { name, slot, skipped: None, record, requested }
}

/// Returns what the next run waits for; `None` if it can start. Plans to delete the runs that it replaces.
fn waits_for(
    observed: &Observed<'_>,
    plan: &mut Plan,
    draft: &RequestDraft,
    now: Timestamp,
) -> Option<String> {
    if observed.cron_job.metadata.deletion_timestamp.is_some() {
        return Some("the CronJob is being deleted".to_owned());
    }
    if plan.job_to_create.is_some() || !plan.jobs_to_replace.is_empty() {
        return Some("another run of the CronJob starts first".to_owned());
    }
    let policy = effective_policy(observed, draft);
    if policy == ConcurrencyPolicy::Allow {
        return None;
    }
    match &plan.start_decision {
        StartDecision::Adopted { slot }
        | StartDecision::Postponed { slot }
        | StartDecision::WaitingForPods { slot, .. } => {
            return Some(format!("the run of the slot {} starts first", Time::new(*slot)));
        }
        _ => {}
    }
    if let Some(job) = manual_jobs::blocking_job(observed, policy) {
        return Some(format!("the manually created job {} is running", job.name));
    }
    let is_kept = |uid: &str| policy != ConcurrencyPolicy::Replace || is_requested(observed, uid);
    let kept = plan.status.active.iter().find(|entry| is_kept(&entry.uid));
    if let Some(entry) = kept {
        return Some(format!("the job {} is running", entry.name));
    }
    if policy == ConcurrencyPolicy::Replace
        && let Some(message) = replace_active_runs(observed, plan)
    {
        return Some(message);
    }
    wait_for_replaced_pods(observed, plan, now)
}

/// Deletes the active runs of the schedule. Returns what to wait for until the new run can start.
fn replace_active_runs(observed: &Observed<'_>, plan: &mut Plan) -> Option<String> {
    if concurrency::has_unrecorded_job(plan) {
        return Some("the status must record the active run first".to_owned());
    }
    plan.jobs_to_replace = concurrency::running_jobs(observed, plan);
    plan.replaces_in_foreground = replacement::waits(observed);
    let must_wait = plan.replaces_in_foreground && !plan.jobs_to_replace.is_empty();
    must_wait.then(|| "the Pods of the replaced runs are terminating".to_owned())
}

/// Returns what to wait for while Pods of a replaced run are terminating.
fn wait_for_replaced_pods(
    observed: &Observed<'_>,
    plan: &mut Plan,
    now: Timestamp,
) -> Option<String> {
    if !replacement::waits(observed) {
        return None;
    }
    let (job, until) = replacement::last_terminating_job(observed)?;
    if until <= now {
        plan.events.push(replacement::waited_too_long_event(job));
        return None;
    }
    plan.wake_by(until);
    Some(format!("the Pods of the replaced job {} are terminating", job.name))
}

/// Returns the policy of a request. Runs for slots do not replace those of the schedule unless the request
/// says so.
fn effective_policy(observed: &Observed<'_>, draft: &RequestDraft) -> ConcurrencyPolicy {
    let spec = &draft.request.spec;
    let of_target = observed.gates.concurrency_policy(observed.cron_job);
    match spec.requested_policy() {
        Some(policy) => policy,
        None if of_target == ConcurrencyPolicy::Replace && !spec.now => ConcurrencyPolicy::Forbid,
        None => of_target,
    }
}
