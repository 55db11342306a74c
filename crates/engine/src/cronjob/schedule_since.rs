//! Since when the current schedule applies, according to the CronJob's annotation.

use jiff::Timestamp;
use punctual_api::cronjob::ScheduleSince;
use punctual_api::{CronJob, Time};

/// Returns the time at or before which no slot of the current schedule counts, if one is recorded,
/// and the record to write, unless it is already written.
///
/// Without a record the schedule applies since the CronJob was created. Kubernetes has no such
/// record, so there an edit of the schedule can start slots that precede the edit.
pub(super) fn schedule_since(
    cron_job: &CronJob,
    now: Timestamp,
) -> (Option<Timestamp>, Option<ScheduleSince>) {
    let spec = &cron_job.spec;
    let schedule = ScheduleSince::schedule_text(&spec.schedule, spec.time_zone.as_deref());
    match ScheduleSince::from_cron_job(cron_job) {
        Some(recorded) if recorded.schedule == schedule => (Some(recorded.since), None),
        Some(_) => (Some(now), Some(ScheduleSince { since: now, schedule })),
        None => {
            let since = cron_job.metadata.creation_timestamp.map_or(now, Time::timestamp);
            (None, Some(ScheduleSince { since, schedule }))
        }
    }
}
