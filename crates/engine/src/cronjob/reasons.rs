//! The words of events and conditions: Kubernetes' where it has them.

use std::fmt;

pub(crate) const SUCCESSFUL_CREATE: &str = "SuccessfulCreate";
pub(crate) const FAILED_CREATE: &str = "FailedCreate";
pub(crate) const SUCCESSFUL_DELETE: &str = "SuccessfulDelete";
pub(crate) const FAILED_DELETE: &str = "FailedDelete";
pub(crate) const SAW_COMPLETED_JOB: &str = "SawCompletedJob";
pub(crate) const MISSING_JOB: &str = "MissingJob";
pub(crate) const UNEXPECTED_JOB: &str = "UnexpectedJob";
pub(crate) const JOB_ALREADY_ACTIVE: &str = "JobAlreadyActive";
pub(crate) const TOO_MANY_MISSED_TIMES: &str = "TooManyMissedTimes";
pub(crate) const MISS_SCHEDULE: &str = "MissSchedule";
pub(crate) const UNSUPPORTED_SCHEDULE: &str = "UnsupportedSchedule";

/// Types and reasons of conditions.
pub(crate) mod conditions {
    /// The controller has done what there was to do.
    pub(crate) const SETTLED: &str = "Settled";
    /// The time zone cannot be loaded.
    pub(crate) const INVALID_TIME_ZONE: &str = "InvalidTimeZone";
    /// A single instant has come and gone.
    pub(crate) const COMPLETE: &str = "Complete";

    pub(crate) const RECONCILED: &str = "Reconciled";
    pub(crate) const NEVER_RUNS: &str = "NeverRuns";
    pub(crate) const NAME_TAKEN: &str = "NameTaken";
    pub(crate) const RECONCILE_ERROR: &str = "ReconcileError";
    pub(crate) const FULFILLED: &str = "Fulfilled";
}

/// Why a CronJob has no slots: a user's mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The zone is not in the database.
    UnknownTimeZone {
        /// Its name.
        zone: String,
        /// What is wrong with it.
        error: String,
    },
    /// The schedule is no schedule.
    UnparseableSchedule {
        /// Its text.
        schedule: String,
        /// What is wrong with it.
        error: String,
    },
    /// The schedule has no slot at all.
    InvalidSchedule {
        /// Its text.
        schedule: String,
    },
}

impl Trouble {
    /// The reason of the event, and of the condition `Settled`.
    pub fn reason(&self) -> &'static str {
        match self {
            Trouble::UnknownTimeZone { .. } => "UnknownTimeZone",
            Trouble::UnparseableSchedule { .. } => "UnparseableSchedule",
            Trouble::InvalidSchedule { .. } => "InvalidSchedule",
        }
    }

    /// The text of the event, in Kubernetes' words.
    pub fn message(&self) -> String {
        self.to_string()
    }

    pub(crate) fn is_about_zone(&self) -> bool {
        matches!(self, Trouble::UnknownTimeZone { .. })
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::UnknownTimeZone { zone, error } => {
                write!(f, "invalid timeZone: {zone:?}: {error}")
            }
            Trouble::UnparseableSchedule { schedule, error } => {
                write!(f, "unparseable schedule: {schedule:?} : {error}")
            }
            Trouble::InvalidSchedule { schedule } => write!(
                f,
                "invalid schedule: {schedule} : time difference between two schedules is less \
                 than 1 second"
            ),
        }
    }
}
