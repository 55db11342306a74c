//! Since when the schedule holds, remembered in an annotation.
//!
//! Editing a schedule must not start a run for a time that has passed (kubernetes/kubernetes#63371,
//! #130838). The object itself does not tell when it was edited, so the schedule is kept beside the
//! moment from which it holds. Our server writes it when it takes the edit, a controller of other
//! servers when it first sees it.

use jiff::Timestamp;

use super::CronJob;
use crate::time::Time;
use crate::well_known::annotations;

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

    /// Reads the value of the annotation. What cannot be read remembers nothing.
    pub fn parse(text: &str) -> Option<ScheduleSince> {
        let (since, schedule) = text.split_once(' ')?;
        Some(ScheduleSince { since: since.parse().ok()?, schedule: schedule.into() })
    }

    /// What a CronJob remembers.
    pub fn from_cron_job(cron_job: &CronJob) -> Option<ScheduleSince> {
        cron_job.metadata.annotation(Self::ANNOTATION).and_then(ScheduleSince::parse)
    }

    /// Schedule and zone as one text. Two are the same schedule if their texts are.
    pub fn schedule_text(schedule: &str, zone: Option<&str>) -> String {
        format!("{schedule} {}", zone.unwrap_or_default()).trim_end().into()
    }
}
