//! Since when the schedule holds, as far as the CronJob remembers.

use jiff::Timestamp;
use punctual_api::cronjob::ScheduleSince;
use punctual_api::{CronJob, Time};

/// The moment before which no slot of the present schedule counts, if one is remembered; and what
/// is to be remembered, unless it already is. A CronJob that is seen for the first time has had its
/// schedule since it was created.
pub(super) fn schedule_since(
    cron_job: &CronJob,
    now: Timestamp,
) -> (Option<Timestamp>, Option<ScheduleSince>) {
    let spec = &cron_job.spec;
    let schedule = ScheduleSince::schedule_text(&spec.schedule, spec.time_zone.as_deref());
    match ScheduleSince::from_cron_job(cron_job) {
        Some(known) if known.schedule == schedule => (Some(known.since), None),
        Some(_) => (Some(now), Some(ScheduleSince { since: now, schedule })),
        None => {
            let since = cron_job.metadata.creation_timestamp.map_or(now, Time::timestamp);
            (None, Some(ScheduleSince { since, schedule }))
        }
    }
}
