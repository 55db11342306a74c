//! Since when the schedule holds, remembered in an annotation.
//!
//! Editing a schedule must not start a run for a time that has passed (kubernetes/kubernetes#63371,
//! #130838). The object itself does not tell when it was edited, so the schedule that was last acted
//! upon is kept beside the moment at which it was first seen.

use jiff::Timestamp;
use punctual_api::{CronJob, Time, well_known::annotations};

/// A schedule, and the moment from which it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleSince {
    /// The moment.
    pub since: Timestamp,
    /// Schedule and zone, as one text.
    pub schedule: String,
}

impl ScheduleSince {
    /// The key of the annotation.
    pub const ANNOTATION: &str = annotations::SCHEDULE_SINCE;

    /// The value of the annotation: `2026-01-31T08:00:00Z 30 2 * * * Europe/Berlin`.
    pub fn to_annotation(&self) -> String {
        format!("{} {}", Time::new(self.since), self.schedule)
    }

    fn parse(text: &str) -> Option<ScheduleSince> {
        let (since, schedule) = text.split_once(' ')?;
        Some(ScheduleSince { since: since.parse().ok()?, schedule: schedule.into() })
    }

    fn remembered(cron_job: &CronJob) -> Option<ScheduleSince> {
        cron_job.metadata.annotation(Self::ANNOTATION).and_then(ScheduleSince::parse)
    }

    /// The moment before which no slot of the present schedule counts, if one is remembered; and
    /// what is to be remembered, unless it already is. A CronJob that is seen for the first time has
    /// had its schedule since it was created.
    pub(crate) fn of(
        cron_job: &CronJob,
        now: Timestamp,
    ) -> (Option<Timestamp>, Option<ScheduleSince>) {
        let schedule = schedule_text(cron_job);
        match ScheduleSince::remembered(cron_job) {
            Some(known) if known.schedule == schedule => (Some(known.since), None),
            Some(_) => (Some(now), Some(ScheduleSince { since: now, schedule })),
            None => {
                let since = cron_job.metadata.creation_timestamp.map_or(now, Time::at);
                (None, Some(ScheduleSince { since, schedule }))
            }
        }
    }
}

fn schedule_text(cron_job: &CronJob) -> String {
    let zone = cron_job.spec.time_zone.as_deref().unwrap_or_default();
    format!("{} {zone}", cron_job.spec.schedule).trim_end().into()
}
