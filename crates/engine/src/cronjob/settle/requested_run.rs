//! The result of creating the Job of a requested run, in the statuses of the CronJob and of the request.

use crate::PendingEvent;
use crate::cronjob::{
    job_view::JobView,
    plan::{CreateError, CreateJob, CreateResult, Plan, RequestedRun},
    reasons,
    run_requests::{RequestDraft, add_run_to_request},
};
use punctual_api::run_request::condition_reason;

/// Returns whether the run is finished: its Job was created or already existed, or the run is skipped because
/// another Job has its name.
pub(super) fn settle_create(
    plan: &mut Plan,
    create: &CreateJob,
    run: &RequestedRun,
    result: Option<&CreateResult>,
) -> bool {
    match result {
        Some(CreateResult::Created { uid, resource_version, created_at }) => {
            super::add_run(plan, create, uid, resource_version, *created_at);
            record_in_request(plan, create, run, uid);
            plan.events.push(super::created_event(create));
            true
        }
        Some(CreateResult::AlreadyExists(job)) if is_own_run(plan, run, job) => {
            super::add_run(plan, create, &job.uid, &job.resource_version, job.created_at);
            record_in_request(plan, create, run, &job.uid);
            true
        }
        Some(CreateResult::AlreadyExists(_)) => {
            skip_run(plan, create, run);
            true
        }
        Some(CreateResult::Failed(error)) => {
            report_error(plan, run, error);
            false
        }
        None => false,
    }
}

/// Whether an existing Job is this run: an earlier attempt created it without recording it.
fn is_own_run(plan: &Plan, run: &RequestedRun, job: &JobView) -> bool {
    let is_same_request = job.index_in(&run.request.uid) == Some(run.request.index);
    job.controller_uid == plan.owner.uid && is_same_request
}

fn record_in_request(plan: &mut Plan, create: &CreateJob, run: &RequestedRun, uid: &str) {
    if let Some(draft) = find_draft(plan, run) {
        add_run_to_request(draft, run.request.index, &create.name, uid);
    }
}

fn skip_run(plan: &mut Plan, create: &CreateJob, run: &RequestedRun) {
    let message = format!(
        "Skipped the run of {} that the request {} asked for: another job has the name {}",
        create.slot, run.request.name, create.name
    );
    if let Some(draft) = find_draft(plan, run) {
        draft.status.skipped += 1;
        draft.set_running(condition_reason::RUNNING, &message);
    }
    plan.events.push(PendingEvent::warning(reasons::FAILED_CREATE, message));
}

fn report_error(plan: &mut Plan, run: &RequestedRun, error: &CreateError) {
    let message = error.to_string();
    if let Some(draft) = find_draft(plan, run) {
        draft.set_running(condition_reason::CREATE_REJECTED, &message);
    }
    if !error.is_namespace_terminating {
        plan.events.push(PendingEvent::warning(reasons::FAILED_CREATE, message));
    }
}

fn find_draft<'a>(plan: &'a mut Plan, run: &RequestedRun) -> Option<&'a mut RequestDraft> {
    plan.requests.iter_mut().find(|draft| draft.request.metadata.uid == run.request.uid)
}
