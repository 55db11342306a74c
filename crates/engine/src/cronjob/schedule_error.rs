//! Why a CronJob has no slots (scheduled times).

use std::fmt;

/// Why a CronJob has no slots. The texts are those of Kubernetes' events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScheduleError {
    /// The time zone is not in the time zone database.
    UnknownTimeZone {
        /// The name of the zone.
        zone: String,
        /// Why the zone cannot be loaded.
        error: String,
    },
    /// The schedule cannot be parsed.
    UnparseableSchedule {
        /// The text of the schedule.
        schedule: String,
        /// Why it cannot be parsed.
        error: String,
    },
    /// The schedule has no slots, such as February 30.
    InvalidSchedule {
        /// The text of the schedule.
        schedule: String,
    },
}

impl ScheduleError {
    /// The reason of the event and of the condition `Settled`.
    pub fn reason(&self) -> &'static str {
        match self {
            ScheduleError::UnknownTimeZone { .. } => "UnknownTimeZone",
            ScheduleError::UnparseableSchedule { .. } => "UnparseableSchedule",
            ScheduleError::InvalidSchedule { .. } => "InvalidSchedule",
        }
    }

    pub(crate) fn is_about_zone(&self) -> bool {
        matches!(self, ScheduleError::UnknownTimeZone { .. })
    }
}

impl fmt::Display for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScheduleError::UnknownTimeZone { zone, error } => {
                write!(f, "invalid timeZone: {zone:?}: {error}")
            }
            ScheduleError::UnparseableSchedule { schedule, error } => {
                write!(f, "unparseable schedule: {schedule:?} : {error}")
            }
            ScheduleError::InvalidSchedule { schedule } => write!(
                f,
                "invalid schedule: {schedule} : time difference between two schedules is less \
                 than 1 second"
            ),
        }
    }
}

impl std::error::Error for ScheduleError {}
