//! The annotation `punctual.dev/schedule-since`, which records when a schedule took effect.
//!
//! Editing a schedule must not start a run for a time in the past (kubernetes/kubernetes#63371,
//! #130838). Kubernetes does not record when a schedule was edited, so this annotation stores the
//! schedule together with the time of the edit. Our server writes it with the edit. On other
//! servers the controller writes it when it first observes the edit.

use jiff::Timestamp;

use super::CronJob;
use crate::time::Time;
use crate::well_known::annotations;

/// A schedule and the time at which it took effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectiveSchedule {
    /// The time at which the schedule took effect.
    pub since: Timestamp,
    /// The schedule and time zone as one string.
    pub schedule: String,
}

impl EffectiveSchedule {
    /// The annotation key.
    pub const ANNOTATION: &str = annotations::SCHEDULE_SINCE;

    /// Returns the annotation value, such as `2026-01-31T08:00:00Z 30 2 * * * Europe/Berlin`.
    pub fn to_annotation(&self) -> String {
        format!("{} {}", Time::new(self.since), self.schedule)
    }

    /// Parses the annotation value. Returns `None` for a malformed value.
    pub fn parse(text: &str) -> Option<EffectiveSchedule> {
        let (since, schedule) = text.split_once(' ')?;
        Some(EffectiveSchedule { since: since.parse().ok()?, schedule: schedule.into() })
    }

    /// Reads the annotation of a CronJob.
    pub fn from_cron_job(cron_job: &CronJob) -> Option<EffectiveSchedule> {
        cron_job.metadata.annotation(Self::ANNOTATION).and_then(EffectiveSchedule::parse)
    }

    /// Formats a schedule and its time zone as one text. Equal texts mean equal schedules.
    pub fn schedule_text(schedule: &str, zone: Option<&str>) -> String {
        format!("{schedule} {}", zone.unwrap_or_default()).trim_end().into()
    }
}
