//! Since when the current schedule applies, according to the CronJob's annotation.

use jiff::Timestamp;
use punctual_api::cronjob::EffectiveSchedule;
use punctual_api::{CronJob, Time};

/// Returns the time at or before which no slot of the current schedule counts, if one is recorded,
/// and the record to write, unless it is already written.
///
/// Without a record the schedule applies since the CronJob was created. Kubernetes has no such
/// record, so there an edit of the schedule can start slots that precede the edit.
pub(super) fn schedule_effective_since(
    cron_job: &CronJob,
    now: Timestamp,
) -> (Option<Timestamp>, Option<EffectiveSchedule>) {
    let spec = &cron_job.spec;
    let schedule = EffectiveSchedule::schedule_text(&spec.schedule, spec.time_zone.as_deref());
    match EffectiveSchedule::from_cron_job(cron_job) {
        Some(recorded) if recorded.schedule == schedule => (Some(recorded.since), None),
        Some(_) => (Some(now), Some(EffectiveSchedule { since: now, schedule })),
        None => {
            let since = cron_job.metadata.creation_timestamp.map_or(now, Time::timestamp);
            (None, Some(EffectiveSchedule { since, schedule }))
        }
    }
}
