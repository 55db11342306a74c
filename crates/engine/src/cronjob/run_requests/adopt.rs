//! Records requested Jobs in the status of the CronJob that a controller created without recording them,
//! and finds those that no longer need our finalizer.

use punctual_api::cronjob::CronJobStatus;

use crate::cronjob::{
    Observed,
    active_jobs::{self, is_listed},
    job_view::JobView,
    ledger,
    plan::{JobKey, Plan},
    slot_records::{self, NeededRecords},
};

/// Adds requested Jobs to `status.active` that the status does not record. Fails if slot records must be
/// read to tell whether a Job that has ended was counted already.
pub(crate) fn adopt_unrecorded_jobs(
    observed: &Observed<'_>,
    plan: &mut Plan,
) -> Result<(), NeededRecords> {
    for job in active_jobs::current_jobs(observed) {
        // Our finalizer is removed only from Jobs that are recorded and counted.
        if job.request.is_none() || !job.has_finalizer || is_listed(&plan.status, &job.uid) {
            continue;
        }
        if is_counted(observed, job, plan)? {
            continue;
        }
        active_jobs::add_active(observed, &mut plan.status, job);
        if let Some(record) = ledger::requested_before(job) {
            ledger::add_started(&mut plan.status, record, &job.uid);
        }
    }
    Ok(())
}

/// Whether a Job that is not active was counted: then there is a record of how it ended.
fn is_counted(observed: &Observed<'_>, job: &JobView, plan: &Plan) -> Result<bool, NeededRecords> {
    if job.result.is_none() && !job.is_deleting() {
        return Ok(false);
    }
    if !observed.retention.keeps_records() {
        return Ok(job.result.is_some());
    }
    let Some(slot) = job.slot else { return Ok(true) };
    let query = NeededRecords { from: slot, through: slot };
    let records = slot_records::find_records(observed, &plan.status, query)?;
    Ok(records.iter().any(|record| record.is_of_job(&job.uid) && !record.is_running()))
}

/// Finds requested Jobs that the CronJob and the request have both recorded and counted. The status of the
/// CronJob is written before the finalizers are removed; that of the request must be written already.
pub(crate) fn find_removable_finalizers(observed: &Observed<'_>, plan: &mut Plan) {
    let with_finalizer = observed.jobs.iter().filter(|job| job.has_finalizer);
    let requested = with_finalizer.filter(|job| job.request.is_some());
    let (removable, kept): (Vec<_>, Vec<_>) =
        requested.partition(|job| is_removable(observed, &plan.status, job));
    plan.finalizers_to_remove.extend(removable.into_iter().map(JobKey::from_view));
    plan.unreleased_runs.extend(kept.into_iter().map(|job| job.uid.clone()));
}

fn is_removable(observed: &Observed<'_>, status: &CronJobStatus, job: &JobView) -> bool {
    // A Job that is being deleted is in the list until it is gone.
    let is_counted = job.is_deleting() || !is_listed(status, &job.uid);
    is_counted && is_recorded_by_request(observed, job)
}

fn is_recorded_by_request(observed: &Observed<'_>, job: &JobView) -> bool {
    let Some(request) = &job.request else { return true };
    let found = observed.requests.iter().find(|found| found.metadata.uid == request.uid);
    let Some(found) = found else { return true };
    let is_active = found.status.active.iter().any(|run| run.uid == job.uid);
    let is_started = request.index < found.status.next_index();
    found.is_finished() || is_started && (job.is_deleting() || !is_active)
}
