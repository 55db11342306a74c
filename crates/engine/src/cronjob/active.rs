//! Which runs go on: the list in the status against the Jobs there are.
//!
//! A run is counted when it leaves the list, and both are in one write of the status, so it is
//! counted exactly once.

use std::collections::BTreeSet;

use jiff::Timestamp;
use punctual_api::{Time, cronjob::CronJobStatus, meta::ObjectReference};

use super::{
    Observed,
    plan::{JobKey, Plan},
    reasons,
    view::{Ending, JobView},
};
use crate::Note;

/// The names on the list of which the cache knows nothing, and which have not been read yet.
pub(crate) fn unknown_jobs(seen: &Observed<'_>) -> Vec<String> {
    let active = &seen.cron_job.status.active;
    let unknown = active.iter().filter(|entry| {
        !seen.jobs.iter().any(|job| job.uid == entry.uid)
            && !seen.live.iter().any(|(name, _)| *name == entry.name)
    });
    unknown.map(|entry| entry.name.clone()).collect()
}

/// Brings the list up to date and counts what has ended.
pub(crate) fn reconcile(seen: &Observed<'_>, plan: &mut Plan) {
    adopt_forgotten(seen, plan);
    count_ended(seen, plan);
    drop_missing(seen, plan);
    note_success(seen, &mut plan.status);
    release_recorded(seen, plan);
}

/// Jobs that are ours by name and annotation belong on the list while they run, and until their slot
/// is recorded: somebody died between creating the Job and writing the status. Running Jobs that
/// claim to be ours and are not so named are a surprise.
fn adopt_forgotten(seen: &Observed<'_>, plan: &mut Plan) {
    let cron_job = &seen.cron_job.metadata;
    let recorded = plan.status_seen.last_schedule_time;
    for job in known(seen) {
        let slot = job.slot_of(&cron_job.name);
        let is_recorded = slot.map(Time::new) <= recorded;
        // What was taken off the list to make room, or has ended and was counted, stays off it.
        let is_past = is_recorded && (job.ending.is_some() || job.is_deleting);
        if is_past || is_listed(&plan.status, &job.uid) {
            continue;
        }
        match slot {
            Some(slot) => {
                list(seen, &mut plan.status, job);
                record(&mut plan.status, slot);
            }
            None => plan.notes.push(Note::warning(
                reasons::UNEXPECTED_JOB,
                format!("Saw a job that the controller did not create or forgot: {}", job.name),
            )),
        }
    }
}

/// The slots of Jobs of ours that are not recorded, the earliest first.
pub(crate) fn forgotten_slots(seen: &Observed<'_>, recorded: Option<Time>) -> BTreeSet<Timestamp> {
    let name = &seen.cron_job.metadata.name;
    let slots = known(seen).filter_map(|job| job.slot_of(name));
    slots.filter(|slot| Some(Time::new(*slot)) > recorded).collect()
}

/// The Jobs of the cache, which may be behind what a live read has shown to have ended; and those that
/// only a live read found and that the status does not list. (Of those that it lists, a read tells only that
/// they exist; like Kubernetes we wait for the cache to tell the rest.)
fn known<'a>(seen: &Observed<'a>) -> impl Iterator<Item = &'a JobView> {
    let Observed { cron_job, jobs, .. } = *seen;
    let ended = |uid: &str| found(seen).find(|job| job.uid == uid && job.ending.is_some());
    let cached = jobs.iter().map(move |job| ended(&job.uid).unwrap_or(job));
    let is_cached = |uid: &str| jobs.iter().any(|job| job.uid == uid);
    let is_new =
        move |job: &&JobView| !is_cached(&job.uid) && !is_listed(&cron_job.status, &job.uid);
    cached.chain(found(seen).filter(is_new))
}

/// Jobs of ours that a live read found.
pub(crate) fn found<'a>(seen: &Observed<'a>) -> impl Iterator<Item = &'a JobView> {
    let Observed { cron_job, live, .. } = *seen;
    let found = live.iter().filter_map(|(_, job)| job.as_ref());
    found.filter(|job| job.controller_uid == cron_job.metadata.uid)
}

/// Takes the Jobs that have ended off the list, in the order in which they ended.
fn count_ended(seen: &Observed<'_>, plan: &mut Plan) {
    let ended = |job: &&JobView| job.ending.is_some() && is_listed(&plan.status, &job.uid);
    let mut jobs: Vec<&JobView> = known(seen).filter(ended).collect();
    jobs.sort_by_key(|job| (job.ended_at, job.slot));
    for job in jobs {
        let is_counted = !is_listed(&plan.status, &job.uid);
        let Some(ending) = job.ending.filter(|_| !is_counted) else {
            continue;
        };
        plan.status.active.retain(|entry| entry.uid != job.uid);
        count(&mut plan.status, ending);
        // Kubernetes tells that a Job was deleted, or that it was seen to end, not both at once.
        if !plan.clean_up.iter().any(|delete| delete.uid == job.uid) {
            plan.notes.push(saw_completed(job, ending));
        }
    }
}

fn saw_completed(job: &JobView, ending: Ending) -> Note {
    let ending = ending.as_str();
    let message = format!("Saw completed job: {}, condition: {ending}", job.name);
    Note::normal(reasons::SAW_COMPLETED_JOB, message)
}

fn count(status: &mut CronJobStatus, ending: Ending) {
    match ending {
        Ending::Complete => {
            status.successful_runs += 1;
            status.failures_since_success = 0;
        }
        Ending::Failed => {
            status.failed_runs += 1;
            status.failures_since_success += 1;
        }
    }
}

/// Takes off the list what neither the cache nor a live read knows. How it ended nobody can tell.
fn drop_missing(seen: &Observed<'_>, plan: &mut Plan) {
    let gone = |entry: &ObjectReference| {
        let live = seen.live.iter().find(|(name, _)| *name == entry.name);
        let found = live.and_then(|(_, job)| job.as_ref());
        !seen.jobs.iter().any(|job| job.uid == entry.uid)
            && found.is_none_or(|job| job.uid != entry.uid && !entry.uid.is_empty())
    };
    let missing: Vec<String> =
        plan.status.active.iter().filter(|entry| gone(entry)).map(|e| e.name.clone()).collect();
    plan.status.active.retain(|entry| !gone(entry));
    let note =
        |name| Note::normal(reasons::MISSING_JOB, format!("Active job went missing: {name}"));
    plan.notes.extend(missing.into_iter().map(note));
}

/// A success counts for the time of the last one whoever started the Job.
fn note_success(seen: &Observed<'_>, status: &mut CronJobStatus) {
    let complete = known(seen).filter(|job| job.ending == Some(Ending::Complete));
    let latest = complete.filter_map(|job| job.completed_at).max().map(Time::new);
    status.last_successful_time = status.last_successful_time.max(latest);
}

/// Lets go of Jobs whose slot is recorded and whose end, if any, is counted.
fn release_recorded(seen: &Observed<'_>, plan: &mut Plan) {
    let cron_job = &seen.cron_job.metadata.name;
    let recorded = |job: &&JobView| {
        let counted = job.is_deleting || !is_listed(&plan.status, &job.uid);
        let slot = job.slot_of(cron_job).map(Time::new);
        job.is_held && counted && slot <= plan.status.last_schedule_time
    };
    let release = seen.jobs.iter().filter(recorded).map(JobKey::of).collect();
    plan.release = release;
}

impl JobKey {
    pub(crate) fn of(job: &JobView) -> JobKey {
        JobKey { name: job.name.clone(), uid: job.uid.clone(), version: None }
    }
}

pub(crate) fn is_listed(status: &CronJobStatus, uid: &str) -> bool {
    status.active.iter().any(|entry| entry.uid == uid)
}

/// Puts a Job on the list.
pub(crate) fn list(seen: &Observed<'_>, status: &mut CronJobStatus, job: &JobView) {
    let namespace = &seen.cron_job.metadata.namespace;
    status.active.push(reference(namespace, &job.name, &job.uid, &job.resource_version));
}

pub(crate) fn reference(namespace: &str, name: &str, uid: &str, version: &str) -> ObjectReference {
    ObjectReference {
        kind: "Job".into(),
        namespace: namespace.into(),
        name: name.into(),
        uid: uid.into(),
        api_version: "batch/v1".into(),
        resource_version: version.into(),
        field_path: String::new(),
    }
}

/// Records that a slot was started. The record never goes back.
pub(crate) fn record(status: &mut CronJobStatus, slot: Timestamp) {
    status.last_schedule_time = status.last_schedule_time.max(Some(Time::new(slot)));
}
