//! Finds work queues that do not move although keys are due, for the watchdog of the process.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use punctual_lease::MonotonicTime;

use crate::metrics::{Metrics, QueueState};

/// Compares the work queues of a process at each check with those of the earlier checks.
pub struct QueueMonitor {
    metrics: Metrics,
    /// For how long a queue with due keys may not move. Longer than the deadline of an API call.
    tolerance: Duration,
    stalls: Mutex<HashMap<&'static str, StallStart>>,
}

/// The first of the consecutive checks at which a queue had due keys and had not moved.
#[derive(Clone, Copy)]
struct StallStart {
    since: MonotonicTime,
    moves: u64,
}

/// A queue that does not move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StalledQueue {
    /// The name of the queue, as in its metrics.
    pub name: &'static str,
    /// The number of keys that are due.
    pub due: usize,
    /// For how long it has not moved, at least.
    pub duration: Duration,
}

impl fmt::Display for StalledQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StalledQueue { name, due, duration } = self;
        let seconds = duration.as_secs();
        write!(f, "the work queue {name} has {due} due keys and has not moved for {seconds} s")
    }
}

impl QueueMonitor {
    /// Creates a monitor of all queues that report to these metrics.
    pub fn new(metrics: Metrics, tolerance: Duration) -> QueueMonitor {
        QueueMonitor { metrics, tolerance, stalls: Mutex::default() }
    }

    /// Returns the queue that has not moved for the longest time, if it is longer than the tolerance.
    pub fn check(&self, now: MonotonicTime) -> Option<StalledQueue> {
        let mut stalls = self.stalls.lock().unwrap_or_else(PoisonError::into_inner);
        let mut worst: Option<StalledQueue> = None;
        for (name, state) in self.metrics.queue_states() {
            let Some(duration) = update(&mut stalls, name, &state, now) else { continue };
            if duration >= self.tolerance && worst.is_none_or(|worst| worst.duration < duration) {
                worst = Some(StalledQueue { name, due: state.stats.depth, duration });
            }
        }
        worst
    }
}

/// Returns for how long a queue has been stalled. A queue without workers has not started.
fn update(
    stalls: &mut HashMap<&'static str, StallStart>,
    name: &'static str,
    state: &QueueState,
    now: MonotonicTime,
) -> Option<Duration> {
    if state.stats.depth == 0 || state.workers == 0 {
        stalls.remove(name);
        return None;
    }
    let fresh = StallStart { since: now, moves: state.moves };
    let entry = stalls.entry(name).or_insert(fresh);
    if entry.moves != state.moves {
        *entry = fresh;
    }
    Some(now.saturating_sub(entry.since))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use punctual_queue::QueueStats;

    use super::*;

    const TOLERANCE: Duration = Duration::from_secs(120);

    #[test]
    fn only_a_queue_with_due_keys_that_does_not_move_is_stalled() {
        let metrics = Metrics::default();
        let state =
            Arc::new(Mutex::new(QueueState { stats: QueueStats::default(), workers: 4, moves: 7 }));
        let shown = state.clone();
        metrics.add_queue("job", move || Some(*shown.lock().unwrap()));
        let monitor = QueueMonitor::new(metrics, TOLERANCE);
        let check = |seconds: u64| monitor.check(Duration::from_secs(seconds));
        assert_eq!((check(0), check(1_000)), (None, None), "an idle queue does not move");
        state.lock().unwrap().stats.depth = 3;
        assert_eq!((check(1_030), check(1_100)), (None, None));
        state.lock().unwrap().moves += 1;
        assert_eq!((check(1_170), check(1_280)), (None, None), "it moved");
        let stalled = check(1_290).unwrap();
        assert_eq!(
            stalled.to_string(),
            "the work queue job has 3 due keys and has not moved for 120 s"
        );
        state.lock().unwrap().stats.depth = 0;
        assert_eq!(check(1_300), None);
        state.lock().unwrap().stats.depth = 1;
        assert_eq!(check(1_301), None, "the time starts again");
    }
}
