//! Finds the finished Jobs beyond the history limits.

use super::{
    Observed,
    job_view::{JobResult, JobView},
    plan::{JobKey, Plan},
};

/// Finds the oldest finished Jobs beyond `successfulJobsHistoryLimit` and `failedJobsHistoryLimit`.
///
/// They are deleted after the status is written. The module `active_jobs` has put every finished Job
/// into that write, so no Job is deleted before it is counted.
pub(crate) fn find_surplus_jobs(observed: &Observed<'_>, plan: &mut Plan) {
    let spec = &observed.cron_job.spec;
    let limits = [
        (JobResult::Complete, spec.successful_jobs_history_limit),
        (JobResult::Failed, spec.failed_jobs_history_limit),
    ];
    for (result, limit) in limits {
        // Without a limit no Job is deleted; the server sets a default where the user sets none.
        let Some(limit) = limit else { continue };
        let limit = usize::try_from(limit).unwrap_or_default();
        let finished = oldest_first(observed.jobs, result);
        let surplus_count = finished.len().saturating_sub(limit);
        let surplus = finished.into_iter().take(surplus_count).filter(|job| !job.is_deleting());
        plan.jobs_to_clean_up.extend(surplus.map(JobKey::from_view));
    }
}

/// Orders Jobs by start time, Jobs without a start time last, and then by name.
fn oldest_first(jobs: &[JobView], result: JobResult) -> Vec<&JobView> {
    let mut finished: Vec<&JobView> =
        jobs.iter().filter(|job| job.result == Some(result)).collect();
    finished.sort_by(|a, b| {
        let start = |job: &JobView| (job.started_at.is_none(), job.started_at);
        start(a).cmp(&start(b)).then_with(|| a.name.cmp(&b.name))
    });
    finished
}
