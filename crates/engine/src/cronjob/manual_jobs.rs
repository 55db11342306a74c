//! Jobs that users created from a CronJob, for example with `kubectl create job --from`.
//!
//! Kubernetes ignores them. Here they count as active runs for the concurrency policy: a backup that was
//! started by hand must not overlap with a scheduled one. No policy deletes them.

use jiff::Timestamp;
use punctual_api::{ConcurrencyPolicy, well_known::annotations};

use super::{Observed, job_view::JobView, reasons};
use crate::PendingEvent;

/// The value of [`annotations::MANUAL_JOBS`] with which manual Jobs count.
const COUNT: &str = "Count";
/// The value with which they do not, as in Kubernetes.
const IGNORE: &str = "Ignore";

/// Returns an active manual Job that keeps slots from starting under this policy.
pub(crate) fn blocking_job<'a>(
    observed: &Observed<'a>,
    policy: ConcurrencyPolicy,
) -> Option<&'a JobView> {
    if policy == ConcurrencyPolicy::Allow || !are_counted(observed) {
        return None;
    }
    manual_jobs(observed).find(|job| job.result.is_none())
}

/// Returns when the last manual Job ended, if manual Jobs count.
pub(crate) fn last_end(observed: &Observed<'_>) -> Option<Timestamp> {
    let ended = manual_jobs(observed).filter_map(|job| job.finished_at);
    are_counted(observed).then(|| ended.max()).flatten()
}

/// The event about a slot that waits for a manual Job.
pub(crate) fn waiting_event(job: &JobView) -> PendingEvent {
    PendingEvent::normal(
        reasons::JOB_ALREADY_ACTIVE,
        format!("Not starting job because the manually created job {} is running", job.name),
    )
}

fn are_counted(observed: &Observed<'_>) -> bool {
    match observed.cron_job.metadata.annotation(annotations::MANUAL_JOBS) {
        Some(COUNT) => true,
        Some(IGNORE) => false,
        _ => observed.counts_manual_jobs,
    }
}

/// The Jobs of the CronJob that are neither runs of the schedule nor requested ones.
fn manual_jobs<'a>(observed: &Observed<'a>) -> impl Iterator<Item = &'a JobView> {
    let name: &'a str = &observed.cron_job.metadata.name;
    observed.jobs.iter().filter(move |job| job.request.is_none() && job.slot_for(name).is_none())
}
