//! Keys of labels, annotations and finalizers that programs look for.

/// Keys of labels.
pub mod labels {
    /// UID of the Job that a Pod belongs to.
    pub const CONTROLLER_UID: &str = "batch.kubernetes.io/controller-uid";
    /// Name of the Job that a Pod belongs to.
    pub const JOB_NAME: &str = "batch.kubernetes.io/job-name";
    /// UID of the Job that a Pod belongs to, under the name it had first.
    pub const LEGACY_CONTROLLER_UID: &str = "controller-uid";
    /// Name of the Job that a Pod belongs to, under the name it had first.
    pub const LEGACY_JOB_NAME: &str = "job-name";
    /// Index of a Pod in its Indexed Job.
    pub const JOB_COMPLETION_INDEX: &str = "batch.kubernetes.io/job-completion-index";
    /// Name of a namespace, on the namespace itself.
    pub const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";
    /// Name of a node, on the node itself.
    pub const HOSTNAME: &str = "kubernetes.io/hostname";
}

/// Keys of annotations.
pub mod annotations {
    /// The slot of a Job, RFC 3339 in the CronJob's zone; on the Job and on its Pods.
    pub const SCHEDULED_TIMESTAMP: &str = "batch.kubernetes.io/cronjob-scheduled-timestamp";
    /// The slot before a Job's own, for programs that process an interval.
    pub const PREVIOUS_SCHEDULED_TIMESTAMP: &str = "punctual.dev/previous-scheduled-timestamp";
    /// Stands in for `spec.concurrencyPolicy` where `CatchUp` is refused.
    pub const CONCURRENCY_POLICY: &str = "punctual.dev/concurrency-policy";
    /// Stands in for `spec.jitter` where there is no such field.
    pub const JITTER: &str = "punctual.dev/jitter";
    /// The last slot that was missed and how many were, where the status has no such fields.
    pub const MISSED: &str = "punctual.dev/missed";
    /// Marks the CronJob by which another controller shows; ours leaves it alone.
    pub const PROBE: &str = "punctual.dev/probe";
    /// The schedule that is in effect, and since when.
    pub const SCHEDULE_SINCE: &str = "punctual.dev/schedule-since";
    /// Index of a Pod in its Indexed Job.
    pub const JOB_COMPLETION_INDEX: &str = "batch.kubernetes.io/job-completion-index";
    /// Failures of a Pod's index so far.
    pub const JOB_INDEX_FAILURE_COUNT: &str = "batch.kubernetes.io/job-index-failure-count";
    /// Failures of a Pod's index so far that a policy ignored.
    pub const JOB_INDEX_IGNORED_FAILURE_COUNT: &str =
        "batch.kubernetes.io/job-index-ignored-failure-count";
    /// Marks a Job that a person started from a CronJob.
    pub const INSTANTIATE: &str = "cronjob.kubernetes.io/instantiate";
}

/// Finalizers.
pub mod finalizers {
    /// Keeps a Pod until its Job has counted it.
    pub const JOB_TRACKING: &str = "batch.kubernetes.io/job-tracking";
    /// Keeps a Job with a time to live until its slot is recorded in the CronJob.
    pub const SLOT_RECORDED: &str = "punctual.dev/slot-recorded";
    /// Orphans the dependents.
    pub const ORPHAN: &str = "orphan";
    /// Deletes the dependents first.
    pub const FOREGROUND_DELETION: &str = "foregroundDeletion";
}
