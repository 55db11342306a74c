//! The names of condition reasons and event reasons of Jobs, as in Kubernetes v1.36.

/// Condition: the Job has the required number of successes.
pub const COMPLETIONS_REACHED: &str = "CompletionsReached";
/// Condition: a rule of the success policy is met.
pub const SUCCESS_POLICY: &str = "SuccessPolicy";
/// Condition: a failed Pod matched a `FailJob` rule.
pub const POD_FAILURE_POLICY: &str = "PodFailurePolicy";
/// Condition: the Job has more failures than its backoff limit.
pub const BACKOFF_LIMIT_EXCEEDED: &str = "BackoffLimitExceeded";
/// Condition: the Job was active longer than its deadline.
pub const DEADLINE_EXCEEDED: &str = "DeadlineExceeded";
/// Condition: more indexes failed than allowed.
pub const MAX_FAILED_INDEXES_EXCEEDED: &str = "MaxFailedIndexesExceeded";
/// Condition: all indexes finished and some failed.
pub const FAILED_INDEXES: &str = "FailedIndexes";
/// Condition: the Job is suspended.
pub const JOB_SUSPENDED: &str = "JobSuspended";
/// Condition: the Job is no longer suspended.
pub const JOB_RESUMED: &str = "JobResumed";

/// Event: a Pod was created.
pub const SUCCESSFUL_CREATE: &str = "SuccessfulCreate";
/// Event: a Pod could not be created.
pub const FAILED_CREATE: &str = "FailedCreate";
/// Event: a Pod was deleted.
pub const SUCCESSFUL_DELETE: &str = "SuccessfulDelete";
/// Event: a Pod could not be deleted.
pub const FAILED_DELETE: &str = "FailedDelete";
/// Event: the Job was suspended.
pub const SUSPENDED: &str = "Suspended";
/// Event: the Job was resumed.
pub const RESUMED: &str = "Resumed";
/// Event: the Job succeeded.
pub const COMPLETED: &str = "Completed";
/// Event: more Pods succeeded than required.
pub const TOO_MANY_SUCCEEDED_PODS: &str = "TooManySucceededPods";
/// Event: the Job has an unknown completion mode and is not managed.
pub const UNKNOWN_COMPLETION_MODE: &str = "UnknownCompletionMode";
/// Event: the Job failed for a reason that this version does not know.
pub const JOB_FAILED: &str = "JobFailed";

const FAILURES: [&str; 5] = [
    POD_FAILURE_POLICY,
    BACKOFF_LIMIT_EXCEEDED,
    DEADLINE_EXCEEDED,
    MAX_FAILED_INDEXES_EXCEEDED,
    FAILED_INDEXES,
];

/// Returns the event reason for a failure: the reason of the condition if this version knows it. The
/// condition comes from the stored Job and may have any reason.
pub(super) fn failure_event_reason(condition_reason: &str) -> &'static str {
    FAILURES.into_iter().find(|reason| *reason == condition_reason).unwrap_or(JOB_FAILED)
}
