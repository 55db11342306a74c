//! What Kubernetes' `workqueue_*` metrics want to know.

use std::time::Duration;

/// The queue at an instant. The two histograms (`queue_duration_seconds`, `work_duration_seconds`)
/// are fed from [`Popped::queued_for`](crate::Popped::queued_for) and
/// [`Done::worked_for`](crate::Done::worked_for).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Keys that could be popped now (`depth`).
    pub depth: usize,
    /// How often a key came in (`adds_total`): a change when it is added, a wake-up or retry when
    /// it is popped.
    pub adds: u64,
    /// How often a run failed and was put back (`retries_total`).
    pub retries: u64,
    /// Keys that were popped and are not done.
    pub in_flight: usize,
    /// The time spent on those so far, summed (`unfinished_work_seconds`).
    pub unfinished: Duration,
    /// The longest of them (`longest_running_processor_seconds`).
    pub longest_running: Duration,
    /// Keys with a wake-up that stands, due or not.
    pub sleeping: usize,
    /// Keys that wait after a failure, due or not.
    pub backing_off: usize,
}
