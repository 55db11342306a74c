//! Keys of labels and annotations, and names of finalizers, of Kubernetes and of Punctual.

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
    /// The name of the CronJob; set on its Jobs and their Pods.
    pub const CRON_JOB_NAME: &str = "punctual.dev/cronjob-name";
    /// The UID of the CronJob; set on its Jobs and their Pods.
    pub const CRON_JOB_UID: &str = "punctual.dev/cronjob-uid";
    /// `CronJob` or `ScheduledJob`; set on its Jobs and their Pods.
    pub const CRON_JOB_KIND: &str = "punctual.dev/cronjob-kind";
    /// The name of the RunRequest of a Job; set on the Job and its Pods.
    pub const RUN_REQUEST: &str = "punctual.dev/run-request";
    /// The UID of the RunRequest of a Job; set on the Job.
    pub const RUN_REQUEST_UID: &str = "punctual.dev/run-request-uid";
    /// The position of a Job in the order of its RunRequest, from 0; set on the Job.
    pub const RUN_REQUEST_INDEX: &str = "punctual.dev/run-request-index";
    /// Replaces `spec.concurrencyPolicy` on clusters that reject `CatchUp`.
    pub const CONCURRENCY_POLICY: &str = "punctual.dev/concurrency-policy";
    /// Replaces `spec.jitter` on clusters without that field.
    pub const JITTER: &str = "punctual.dev/jitter";
    /// Replaces `spec.pendingDeadlineSeconds` on clusters without that field.
    pub const PENDING_DEADLINE_SECONDS: &str = "punctual.dev/pending-deadline-seconds";
    /// Replaces `spec.catchUpLimit` on clusters without that field.
    pub const CATCH_UP_LIMIT: &str = "punctual.dev/catch-up-limit";
    /// Whether Jobs that users created from a CronJob count for its concurrency policy: `Count` or `Ignore`.
    pub const MANUAL_JOBS: &str = "punctual.dev/manual-jobs";
    /// Whether a slot under the policy `Replace` waits until the Pods of the replaced Jobs are gone:
    /// `Foreground` or `Background`.
    pub const REPLACE_DELETION: &str = "punctual.dev/replace-deletion";
    /// The last missed slot and the number of missed slots, for statuses without those fields.
    pub const MISSED: &str = "punctual.dev/missed";
    /// The number of skipped slots, for statuses without that field.
    pub const SKIPPED: &str = "punctual.dev/skipped";
    /// When the controller resumes a suspended CronJob, in RFC 3339.
    pub const SUSPENDED_UNTIL: &str = "punctual.dev/suspended-until";
    /// Why a CronJob is suspended.
    pub const SUSPENDED_REASON: &str = "punctual.dev/suspended-reason";
    /// The user who suspended a CronJob.
    pub const SUSPENDED_BY: &str = "punctual.dev/suspended-by";
    /// Which slots of a suspension start after it: `latest` (the default) or `drop` for none. Removed once it
    /// is applied.
    pub const RESUME_MISSED: &str = "punctual.dev/resume-missed";
    /// Marks the CronJob that detects a competing controller; our controller ignores it.
    pub const PROBE: &str = "punctual.dev/probe";
    /// The current schedule and the time at which it took effect.
    pub const SCHEDULE_SINCE: &str = "punctual.dev/schedule-since";
    /// Whether `spec.timeZone` is read (`on`) or ignored (`off`), and the time at which this began; absent if
    /// it was never ignored.
    pub const TIME_ZONE_GATE: &str = "punctual.dev/time-zone-gate";
    /// The name of the user of a Pod's containers, instead of `runAsUser`; read by our runner.
    pub const RUN_AS_USER: &str = "punctual.dev/run-as-user";
    /// `false` if a Pod's containers do not get the login variables of their user; read by our runner.
    pub const LOGIN_VARIABLES: &str = "punctual.dev/login-variables";
    /// `true` if each container of a Pod has a PID namespace; read by our runner.
    pub const PID_NAMESPACE: &str = "punctual.dev/pid-namespace";
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
    /// Keeps a Job with a TTL until the CronJob's status records its slot, and the Job of a RunRequest until both
    /// statuses record it.
    pub const SLOT_RECORDED: &str = "punctual.dev/slot-recorded";
    /// Orphans the dependents.
    pub const ORPHAN: &str = "orphan";
    /// Deletes the dependents first.
    pub const FOREGROUND_DELETION: &str = "foregroundDeletion";
}
