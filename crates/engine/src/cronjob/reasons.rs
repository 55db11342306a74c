//! Reasons of events, and types and reasons of conditions, of CronJobs.
//!
//! They are those of Kubernetes where it has them.

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

/// Types of conditions.
pub(crate) mod condition_type {
    /// The last reconcile succeeded and nothing is left to do.
    pub(crate) const SETTLED: &str = "Settled";
    /// The time zone cannot be loaded.
    pub(crate) const INVALID_TIME_ZONE: &str = "InvalidTimeZone";
    /// The only slot of the schedule was started or missed.
    pub(crate) const COMPLETE: &str = "Complete";
}

/// Reasons of conditions.
pub(crate) mod condition_reason {
    pub(crate) const RECONCILED: &str = "Reconciled";
    pub(crate) const NEVER_RUNS: &str = "NeverRuns";
    pub(crate) const NAME_TAKEN: &str = "NameTaken";
    pub(crate) const RECONCILE_ERROR: &str = "ReconcileError";
    pub(crate) const FULFILLED: &str = "Fulfilled";
    pub(crate) const UNKNOWN_TIME_ZONE: &str = "UnknownTimeZone";
}
