//! Which finished Jobs to remove: the oldest beyond the limits, but none before it is counted.

use super::{
    Observed,
    plan::{JobKey, Plan},
    view::{Ending, JobView},
};

/// Finds the finished Jobs that are too many. They go after the status is written, and `active` sees
/// to it that by then every finished Job is recorded and counted.
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
        let surplus = finished.into_iter().take(surplus).filter(|job| !job.is_deleting);
        plan.clean_up.extend(surplus.map(JobKey::of));
    }
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
