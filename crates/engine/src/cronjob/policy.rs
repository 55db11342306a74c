//! What the runs that go on mean for the slots that wait.

use jiff::Timestamp;
use punctual_api::{ConcurrencyPolicy, meta::ObjectReference, names};

use super::{
    Observed, active,
    plan::{CreateJob, JobKey, Plan, Verdict},
    reasons,
    unmet::Unmet,
};
use crate::Note;

/// More waiting slots than this are worth a warning.
const MISSED_MAX: u64 = 100;

/// Chooses the slot to start, if any, and what has to make room for it.
pub(crate) fn choose(seen: &Observed<'_>, waiting: &Unmet, plan: &mut Plan) -> Verdict {
    plan.unmet = waiting.count;
    let policy = seen.cron_job.concurrency_policy();
    let slot = match policy {
        ConcurrencyPolicy::CatchUp => waiting.oldest,
        _ => waiting.latest,
    };
    let Some(slot) = slot else { return Verdict::NotDue };
    if policy == ConcurrencyPolicy::Allow && waiting.count > MISSED_MAX {
        plan.notes.push(Note::warning(
            reasons::TOO_MANY_MISSED_TIMES,
            "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check \
             clock skew",
        ));
    }
    let is_running = !plan.status.active.is_empty();
    match policy {
        ConcurrencyPolicy::Forbid if is_running => {
            plan.notes.push(already_active_note());
            Verdict::Blocked { slot }
        }
        // The slot is only put off, so there is nothing to tell.
        ConcurrencyPolicy::CatchUp if is_running => Verdict::Blocked { slot },
        // Until its slot is in the status, a Job's name is all that keeps the slot from running twice.
        ConcurrencyPolicy::Replace if has_unrecorded_run(plan) => Verdict::Postponed { slot },
        ConcurrencyPolicy::Replace => {
            plan.deletes = running(seen, plan);
            start(seen, slot, plan)
        }
        _ => start(seen, slot, plan),
    }
}

fn already_active_note() -> Note {
    Note::normal(
        reasons::JOB_ALREADY_ACTIVE,
        "Not starting job because prior execution is running and concurrency policy is Forbid",
    )
}

/// Whether a run goes on of which the status, as it is on the server, knows nothing.
fn has_unrecorded_run(plan: &Plan) -> bool {
    plan.status.last_schedule_time > plan.status_seen.last_schedule_time
        && plan.status.active.iter().any(|e| !active::is_listed(&plan.status_seen, &e.uid))
}

/// What is to make room. What has ended, by what was read, needs not; it waits to be counted.
fn running(seen: &Observed<'_>, plan: &Plan) -> Vec<JobKey> {
    let key = |entry: &ObjectReference| {
        // What was read is newer than what is cached.
        let mut views = active::found(seen).chain(seen.jobs);
        let view = views.find(|job| job.uid == entry.uid);
        let version = view.map(|job| job.resource_version.clone());
        let goes_on = view.is_none_or(|job| job.ending.is_none());
        goes_on.then(|| JobKey { name: entry.name.clone(), uid: entry.uid.clone(), version })
    };
    plan.status.active.iter().filter_map(key).collect()
}

/// Starts a slot, or records its Job if the cache has one of ours already.
fn start(seen: &Observed<'_>, slot: Timestamp, plan: &mut Plan) -> Verdict {
    let name = names::job_name(&seen.cron_job.metadata.name, slot);
    let Some(job) = seen.jobs.iter().find(|job| job.name == name) else {
        plan.create = Some(CreateJob { name, slot });
        return Verdict::Due { slot };
    };
    plan.deletes.retain(|delete| delete.uid != job.uid);
    active::record(&mut plan.status, slot);
    if !active::is_listed(&plan.status, &job.uid) {
        active::list(seen, &mut plan.status, job);
    }
    Verdict::Adopted { slot }
}
