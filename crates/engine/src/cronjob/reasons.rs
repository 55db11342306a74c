//! The names of event reasons, condition types and condition reasons of CronJobs.
//!
//! Where Kubernetes has a name for the same thing, we use it.

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
pub(crate) const CATCH_UP_LIMIT_EXCEEDED: &str = "CatchUpLimitExceeded";
pub(crate) const LAST_SCHEDULE_IN_FUTURE: &str = "LastScheduleInFuture";
pub(crate) const SKIPPED_SLOTS: &str = "SkippedSlots";
pub(crate) const PENDING_DEADLINE_EXCEEDED: &str = "PendingDeadlineExceeded";
pub(crate) const REPLACED_PODS_REMAIN: &str = "ReplacedPodsRemain";
pub(crate) const UNSUPPORTED_SCHEDULE: &str = "UnsupportedSchedule";

/// Types of conditions.
pub(crate) mod condition_type {
    /// The last reconcile succeeded and nothing is left to do.
    pub(crate) const SETTLED: &str = "Settled";
    /// The time zone cannot be loaded.
    pub(crate) const INVALID_TIME_ZONE: &str = "InvalidTimeZone";
    /// The only slot of the schedule was started or missed.
    pub(crate) const COMPLETE: &str = "Complete";
    /// The pending deadline is ignored because of the Pod template.
    pub(crate) const PENDING_DEADLINE_IGNORED: &str = "PendingDeadlineIgnored";
    /// Fields are ignored because their feature gate is off.
    pub(crate) const FEATURE_DISABLED: &str = "FeatureDisabled";
}

/// Reasons of conditions.
pub(crate) mod condition_reason {
    pub(crate) const RECONCILED: &str = "Reconciled";
    pub(crate) const NEVER_RUNS: &str = "NeverRuns";
    pub(crate) const NAME_TAKEN: &str = "NameTaken";
    pub(crate) const RECONCILE_ERROR: &str = "ReconcileError";
    /// The reason of `Complete`.
    pub(crate) const FULFILLED: &str = "Fulfilled";
    pub(crate) const FEATURE_GATE_OFF: &str = "FeatureGateOff";
    pub(crate) const TEMPLATE_CONFLICT: &str = "TemplateConflict";
    pub(crate) const UNKNOWN_TIME_ZONE: &str = "UnknownTimeZone";
}
