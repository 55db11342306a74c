//! Updates `status.active` from the Jobs that exist, and counts finished Jobs.
//!
//! A Job is counted when it leaves `status.active`. One write of the status contains both, so every
//! Job is counted exactly once.

use std::collections::BTreeMap;

use jiff::Timestamp;
use punctual_api::{Time, cronjob::CronJobStatus, meta::ObjectReference, slot_record::RunResult};

use super::{
    Observed,
    job_view::{JobResult, JobView},
    ledger,
    plan::{FinishedRun, JobKey, Plan},
    reasons, run_requests,
    slot_records::NeededRecords,
};
use crate::PendingEvent;

/// Returns the names of active Jobs that are neither cached nor read from the server yet.
pub(crate) fn uncached_jobs(observed: &Observed<'_>) -> Vec<String> {
    let active = observed.cron_job.status.active.iter().map(|entry| (&entry.name, &entry.uid));
    let requested = observed.requests.iter().flat_map(|request| &request.status.active);
    let active = active.chain(requested.map(|run| (&run.name, &run.uid)));
    let uncached = active.filter(|(name, uid)| {
        !observed.jobs.iter().any(|job| job.uid == **uid)
            && !observed.live_jobs.iter().any(|(read, _)| read == *name)
    });
    let mut names: Vec<String> = uncached.map(|(name, _)| name.clone()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Updates `status.active`, the counts of finished Jobs and the times that depend on them. Fails if slot
/// records must be read first.
pub(crate) fn update_status(observed: &Observed<'_>, plan: &mut Plan) -> Result<(), NeededRecords> {
    add_unrecorded_jobs(observed, plan);
    run_requests::adopt_unrecorded_jobs(observed, plan)?;
    count_finished_jobs(observed, plan);
    remove_missing_jobs(observed, plan);
    update_last_successful_time(observed, &mut plan.status);
    find_removable_finalizers(observed, plan);
    run_requests::find_removable_finalizers(observed, plan);
    Ok(())
}

/// Adds Jobs to `status.active` that a controller created but did not record, because it crashed or
/// lost leadership before it wrote the status.
///
/// The name and the annotation of a Job tell its slot. A running Job of this CronJob without such a
/// name was created by a user; like Kubernetes, we only record an event.
fn add_unrecorded_jobs(observed: &Observed<'_>, plan: &mut Plan) {
    let cron_job = &observed.cron_job.metadata;
    let recorded = plan.observed_status.last_schedule_time;
    for job in current_jobs(observed).filter(|job| job.request.is_none()) {
        let slot = job.slot_for(&cron_job.name);
        let is_recorded = slot.map(Time::new) <= recorded;
        // A recorded Job that has finished is counted already, and one that is being deleted was
        // replaced. Neither must return to the list.
        let is_past = is_recorded && (job.result.is_some() || job.is_deleting());
        if is_past || is_listed(&plan.status, &job.uid) {
            continue;
        }
        match slot {
            Some(slot) => {
                add_active(observed, &mut plan.status, job);
                record_slot(&mut plan.status, slot);
                if !is_recorded {
                    let record = ledger::started_before(observed, job, slot);
                    ledger::add_started(&mut plan.status, record, &job.uid);
                }
            }
            None => plan.events.push(PendingEvent::warning(
                reasons::UNEXPECTED_JOB,
                format!("Saw a job that the controller did not create or forgot: {}", job.name),
            )),
        }
    }
}

/// Returns the slots of our Jobs that are later than the recorded one, earliest first, and when each
/// Job was created.
pub(crate) fn unrecorded_slots(
    observed: &Observed<'_>,
    recorded: Option<Time>,
) -> BTreeMap<Timestamp, Timestamp> {
    let name = &observed.cron_job.metadata.name;
    let slots = current_jobs(observed).filter_map(|job| {
        let slot = job.slot_for(name)?;
        Some((slot, job.created_at.unwrap_or(slot)))
    });
    slots.filter(|(slot, _)| Some(Time::new(*slot)) > recorded).collect()
}

/// Returns the Jobs of the CronJob in their latest observed state.
///
/// These are the cached Jobs, replaced by the live read if that shows that the Job has finished,
/// and the Jobs that only a live read returned and the status does not list. For a Job that the
/// status lists, a live read proves only its existence: like Kubernetes, we wait until the cache has
/// its result.
pub(crate) fn current_jobs<'a>(observed: &Observed<'a>) -> impl Iterator<Item = &'a JobView> {
    let Observed { cron_job, jobs, .. } = *observed;
    let finished =
        |uid: &str| own_live_jobs(observed).find(|job| job.uid == uid && job.result.is_some());
    let cached = jobs.iter().map(move |job| finished(&job.uid).unwrap_or(job));
    let is_cached = |uid: &str| jobs.iter().any(|job| job.uid == uid);
    let is_new =
        move |job: &&JobView| !is_cached(&job.uid) && !is_listed(&cron_job.status, &job.uid);
    cached.chain(own_live_jobs(observed).filter(is_new))
}

/// Returns the Jobs of this CronJob that a live read returned.
pub(crate) fn own_live_jobs<'a>(observed: &Observed<'a>) -> impl Iterator<Item = &'a JobView> {
    let Observed { cron_job, live_jobs, .. } = *observed;
    let existing = live_jobs.iter().filter_map(|(_, job)| job.as_ref());
    existing.filter(|job| job.controller_uid == cron_job.metadata.uid)
}

/// Removes finished Jobs from `status.active` and counts them, in the order in which they finished.
fn count_finished_jobs(observed: &Observed<'_>, plan: &mut Plan) {
    let is_uncounted = |job: &&JobView| job.result.is_some() && is_listed(&plan.status, &job.uid);
    let mut jobs: Vec<&JobView> = current_jobs(observed).filter(is_uncounted).collect();
    jobs.sort_by_key(|job| (job.finished_at, job.slot));
    for job in jobs {
        let Some(result) = job.result else { continue };
        let is_counted = !is_listed(&plan.status, &job.uid);
        if is_counted {
            continue;
        }
        plan.status.active.retain(|entry| entry.uid != job.uid);
        count_result(&mut plan.status, result);
        ledger::end_run(observed, plan, job, result);
        plan.finished_runs.push(FinishedRun::new(job, result));
        // Like Kubernetes, record either that a Job was deleted or that it completed, not both.
        if !plan.jobs_to_clean_up.iter().any(|delete| delete.uid == job.uid) {
            plan.events.push(saw_completed_event(job, result));
        }
    }
}

fn saw_completed_event(job: &JobView, result: JobResult) -> PendingEvent {
    let result = result.as_str();
    let message = format!("Saw completed job: {}, condition: {result}", job.name);
    PendingEvent::normal(reasons::SAW_COMPLETED_JOB, message)
}

fn count_result(status: &mut CronJobStatus, result: JobResult) {
    match result {
        JobResult::Complete => {
            status.successful_runs += 1;
            status.failures_since_success = 0;
        }
        JobResult::Failed => {
            status.failed_runs += 1;
            status.failures_since_success += 1;
        }
    }
}

/// Removes Jobs from `status.active` that neither the cache nor a live read has. They are not
/// counted, because their result is unknown.
fn remove_missing_jobs(observed: &Observed<'_>, plan: &mut Plan) {
    let is_missing = |entry: &ObjectReference| {
        let live = observed.live_jobs.iter().find(|(name, _)| *name == entry.name);
        let found = live.and_then(|(_, job)| job.as_ref());
        !observed.jobs.iter().any(|job| job.uid == entry.uid)
            && found.is_none_or(|job| job.uid != entry.uid && !entry.uid.is_empty())
    };
    let active = std::mem::take(&mut plan.status.active);
    let (missing, existing): (Vec<_>, Vec<_>) = active.into_iter().partition(is_missing);
    plan.status.active = existing;
    for entry in missing {
        ledger::end_run_without_result(&mut plan.status, &entry.uid, RunResult::Deleted, None);
        let message = format!("Active job went missing: {}", entry.name);
        plan.events.push(PendingEvent::normal(reasons::MISSING_JOB, message));
    }
}

/// Sets `lastSuccessfulTime` to the latest completion. Like Kubernetes, Jobs that a user created for
/// this CronJob count too.
fn update_last_successful_time(observed: &Observed<'_>, status: &mut CronJobStatus) {
    let complete = current_jobs(observed).filter(|job| job.result == Some(JobResult::Complete));
    let latest = complete.filter_map(|job| job.completed_at).max().map(Time::new);
    status.last_successful_time = status.last_successful_time.max(latest);
}

/// Finds Jobs whose slot is recorded and whose result, if any, is counted. They no longer need our
/// finalizer.
fn find_removable_finalizers(observed: &Observed<'_>, plan: &mut Plan) {
    let cron_job = &observed.cron_job.metadata.name;
    let is_recorded = |job: &&JobView| {
        let is_counted = job.is_deleting() || !is_listed(&plan.status, &job.uid);
        let slot = job.slot_for(cron_job).map(Time::new);
        let is_scheduled = job.request.is_none();
        is_scheduled && job.has_finalizer && is_counted && slot <= plan.status.last_schedule_time
    };
    let recorded = observed.jobs.iter().filter(is_recorded).map(JobKey::from_view).collect();
    plan.finalizers_to_remove = recorded;
}

impl JobKey {
    pub(crate) fn from_view(job: &JobView) -> JobKey {
        let JobView { name, uid, slot, .. } = job;
        JobKey { name: name.clone(), uid: uid.clone(), resource_version: None, slot: *slot }
    }
}

/// Whether `status.active` has a Job of this UID.
pub(crate) fn is_listed(status: &CronJobStatus, uid: &str) -> bool {
    status.active.iter().any(|entry| entry.uid == uid)
}

/// Adds a Job to `status.active`.
pub(crate) fn add_active(observed: &Observed<'_>, status: &mut CronJobStatus, job: &JobView) {
    let namespace = &observed.cron_job.metadata.namespace;
    status.active.push(job_reference(namespace, &job.name, &job.uid, &job.resource_version));
}

pub(crate) fn job_reference(
    namespace: &str,
    name: &str,
    uid: &str,
    resource_version: &str,
) -> ObjectReference {
    ObjectReference {
        kind: "Job".into(),
        namespace: namespace.into(),
        name: name.into(),
        uid: uid.into(),
        api_version: "batch/v1".into(),
        resource_version: resource_version.into(),
        field_path: String::new(),
    }
}

/// Records that a slot was started. `lastScheduleTime` never moves back.
pub(crate) fn record_slot(status: &mut CronJobStatus, slot: Timestamp) {
    status.last_schedule_time = status.last_schedule_time.max(Some(Time::new(slot)));
}
