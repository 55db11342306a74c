//! Which finished Jobs to remove: the oldest beyond the limits, but none before it is counted.

use punctual_api::Time;

use super::{
    Observed, active,
    plan::{DeleteJob, Plan},
    reasons,
    view::{Ending, JobView},
};

/// Finds the finished Jobs that are too many. They go after the status is written, so what is
/// counted in that write may go with it.
pub(crate) fn clean_up(seen: &Observed<'_>, plan: &mut Plan) {
    let spec = &seen.cron_job.spec;
    let limits = [
        (Ending::Complete, spec.successful_jobs_history_limit),
        (Ending::Failed, spec.failed_jobs_history_limit),
    ];
    for (ending, limit) in limits {
        // Without a limit nothing is removed; a server sets one where the user does not.
        let Some(limit) = limit else { continue };
        let limit = usize::try_from(limit).unwrap_or_default();
        let finished = oldest_first(seen.jobs, ending);
        let surplus = finished.len().saturating_sub(limit);
        let goes = |job: &&&JobView| !job.is_deleting && is_recorded(seen, plan, job);
        let gone: Vec<DeleteJob> =
            finished.iter().take(surplus).filter(goes).map(|job| DeleteJob::of(job)).collect();
        plan.clean_up.extend(gone);
    }
    forget_notes_of_removed(plan);
}

/// By start, those that never started last, then by name.
fn oldest_first(jobs: &[JobView], ending: Ending) -> Vec<&JobView> {
    let mut finished: Vec<&JobView> =
        jobs.iter().filter(|job| job.ending == Some(ending)).collect();
    finished.sort_by(|a, b| {
        let start = |job: &JobView| (job.started_at.is_none(), job.started_at);
        start(a).cmp(&start(b)).then_with(|| a.name.cmp(&b.name))
    });
    finished
}

/// A Job's name is what keeps its slot from running twice until the slot is in the status.
fn is_recorded(seen: &Observed<'_>, plan: &Plan, job: &JobView) -> bool {
    let slot = job.slot_of(&seen.cron_job.metadata.name).map(Time::new);
    slot <= plan.status.last_schedule_time && !active::is_listed(&plan.status, &job.uid)
}

/// Kubernetes tells that a Job was deleted, or that it was seen to end, not both at once.
fn forget_notes_of_removed(plan: &mut Plan) {
    let removed = &plan.clean_up;
    plan.notes.retain(|note| {
        let about = |job: &DeleteJob| note.message.contains(&format!(": {},", job.name));
        note.reason != reasons::SAW_COMPLETED_JOB || !removed.iter().any(about)
    });
}
