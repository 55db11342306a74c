//! Words and sentences of the Job controller, as Kubernetes v1.36 writes them.

/// The number of successes was reached.
pub const COMPLETIONS_REACHED: &str = "CompletionsReached";
/// A rule of the success policy holds.
pub const SUCCESS_POLICY: &str = "SuccessPolicy";
/// A failed Pod matched a `FailJob` rule.
pub const POD_FAILURE_POLICY: &str = "PodFailurePolicy";
/// Too many failures.
pub const BACKOFF_LIMIT_EXCEEDED: &str = "BackoffLimitExceeded";
/// Active for too long.
pub const DEADLINE_EXCEEDED: &str = "DeadlineExceeded";
/// Too many indexes failed.
pub const MAX_FAILED_INDEXES_EXCEEDED: &str = "MaxFailedIndexesExceeded";
/// All indexes ended, some badly.
pub const FAILED_INDEXES: &str = "FailedIndexes";
/// Condition of a Job that holds its Pods back.
pub const JOB_SUSPENDED: &str = "JobSuspended";
/// Condition of a Job that holds its Pods back no longer.
pub const JOB_RESUMED: &str = "JobResumed";

/// Event: a Pod was created.
pub const SUCCESSFUL_CREATE: &str = "SuccessfulCreate";
/// Event: a Pod could not be created.
pub const FAILED_CREATE: &str = "FailedCreate";
/// Event: a Pod was deleted.
pub const SUCCESSFUL_DELETE: &str = "SuccessfulDelete";
/// Event: a Pod could not be deleted.
pub const FAILED_DELETE: &str = "FailedDelete";
/// Event: the Pods are held back.
pub const SUSPENDED: &str = "Suspended";
/// Event: the Pods are held back no longer.
pub const RESUMED: &str = "Resumed";
/// Event: the Job succeeded.
pub const COMPLETED: &str = "Completed";
/// Event: more Pods succeeded than were wanted.
pub const TOO_MANY_SUCCEEDED_PODS: &str = "TooManySucceededPods";
/// Event: nothing is done for a Job whose mode is not known.
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

/// The event that tells of a failure. Its reason is that of the condition, which was read from an
/// object and so may be any word.
pub(super) fn of_failure(condition: &str) -> &'static str {
    FAILURES.into_iter().find(|reason| *reason == condition).unwrap_or(JOB_FAILED)
}
