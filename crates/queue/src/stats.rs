//! Statistics of the queue, for Kubernetes' `workqueue_*` metrics.

use std::time::Duration;

/// The state of the queue at an instant. [`PoppedKey::queued_for`](crate::PoppedKey::queued_for) and
/// [`FinishedRun::worked_for`](crate::FinishedRun::worked_for) feed the two histograms
/// (`queue_duration_seconds`, `work_duration_seconds`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueStats {
    /// Keys that can be popped now (`depth`).
    pub depth: usize,
    /// Keys queued so far (`adds_total`). A change is counted when it is added; a key that is due at its
    /// wake-up time or for a retry is counted when it is popped.
    pub adds: u64,
    /// Failed runs so far (`retries_total`).
    pub retries: u64,
    /// Keys that are popped and not done.
    pub in_flight: usize,
    /// The sum of the durations of the active runs (`unfinished_work_seconds`).
    pub unfinished: Duration,
    /// The duration of the longest active run (`longest_running_processor_seconds`).
    pub longest_running: Duration,
    /// Keys with a wake-up time, due or not.
    pub wake_ups: usize,
    /// Keys that wait for a retry, due or not.
    pub backing_off: usize,
}
