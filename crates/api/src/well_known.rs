//! Keys of labels and annotations, and names of finalizers.

/// Label keys.
pub mod labels {
    /// The UID of the Job that owns the Pod.
    pub const CONTROLLER_UID: &str = "batch.kubernetes.io/controller-uid";
    /// The name of the Job that owns the Pod.
    pub const JOB_NAME: &str = "batch.kubernetes.io/job-name";
    /// The UID of the Job that owns the Pod; legacy key.
    pub const LEGACY_CONTROLLER_UID: &str = "controller-uid";
    /// The name of the Job that owns the Pod; legacy key.
    pub const LEGACY_JOB_NAME: &str = "job-name";
    /// The completion index of a Pod in an Indexed Job.
    pub const JOB_COMPLETION_INDEX: &str = "batch.kubernetes.io/job-completion-index";
    /// The name of a namespace, set on the namespace.
    pub const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";
    /// The name of a node, set on the node.
    pub const HOSTNAME: &str = "kubernetes.io/hostname";
}

/// Annotation keys.
pub mod annotations {
    /// The slot of a Job in RFC 3339 and the CronJob's time zone; set on the Job and its Pods.
    pub const SCHEDULED_TIMESTAMP: &str = "batch.kubernetes.io/cronjob-scheduled-timestamp";
    /// The previous slot, for programs that process an interval.
    pub const PREVIOUS_SCHEDULED_TIMESTAMP: &str = "punctual.dev/previous-scheduled-timestamp";
    /// Replaces `spec.concurrencyPolicy` on clusters that reject `CatchUp`.
    pub const CONCURRENCY_POLICY: &str = "punctual.dev/concurrency-policy";
    /// Replaces `spec.jitter` on clusters without that field.
    pub const JITTER: &str = "punctual.dev/jitter";
    /// The last missed slot and the number of missed slots, for statuses without those fields.
    pub const MISSED: &str = "punctual.dev/missed";
    /// Marks the CronJob that detects a competing controller; our controller ignores it.
    pub const PROBE: &str = "punctual.dev/probe";
    /// The current schedule and the time since which it is in effect.
    pub const SCHEDULE_SINCE: &str = "punctual.dev/schedule-since";
    /// The completion index of a Pod in an Indexed Job.
    pub const JOB_COMPLETION_INDEX: &str = "batch.kubernetes.io/job-completion-index";
    /// The number of failures of the Pod's index.
    pub const JOB_INDEX_FAILURE_COUNT: &str = "batch.kubernetes.io/job-index-failure-count";
    /// The number of failures of the Pod's index that a policy ignored.
    pub const JOB_INDEX_IGNORED_FAILURE_COUNT: &str =
        "batch.kubernetes.io/job-index-ignored-failure-count";
    /// Marks a Job that a user started manually from a CronJob.
    pub const INSTANTIATE: &str = "cronjob.kubernetes.io/instantiate";
}

/// Finalizer names.
pub mod finalizers {
    /// Keeps a Pod until its Job has counted it.
    pub const JOB_TRACKING: &str = "batch.kubernetes.io/job-tracking";
    /// Keeps a Job with a TTL until the CronJob's status records its slot.
    pub const SLOT_RECORDED: &str = "punctual.dev/slot-recorded";
    /// Orphans the dependents.
    pub const ORPHAN: &str = "orphan";
    /// Deletes the dependents first.
    pub const FOREGROUND_DELETION: &str = "foregroundDeletion";
}
