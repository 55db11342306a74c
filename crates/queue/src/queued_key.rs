//! The state of one key of the queue: the reasons to run it, and whether it runs now.

use std::time::Duration;

use jiff::Timestamp;

use crate::due_list::DuePosition;
use crate::time;

/// The reasons to run a key. They are separate because each ends differently: a change ends with the
/// next run, a wake-up when it is due or replaced, a retry when it is due or forgotten.
#[derive(Debug, Default)]
pub(crate) struct QueuedKey {
    /// The time of the first change since the last run began.
    pub(crate) changed_at: Option<Timestamp>,
    pub(crate) wake_at: Option<Timestamp>,
    /// The key is delayed or failed. It does not run before this retry, whatever the other reasons.
    pub(crate) retry: Option<Retry>,
    pub(crate) failures: u32,
    pub(crate) run: Option<ActiveRun>,
    pub(crate) positions: ListPositions,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Retry {
    pub(crate) at: Timestamp,
    delay: Duration,
}

/// A run that has not ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ActiveRun {
    pub(crate) id: u64,
    pub(crate) started_at: Timestamp,
    /// The key was removed during the run, so the result of the run is ignored.
    pub(crate) is_removed: bool,
}

/// The positions of a key in the lists of the queue.
#[derive(Debug, Default)]
pub(crate) struct ListPositions {
    pub(crate) change: Option<DuePosition>,
    pub(crate) wake: Option<DuePosition>,
    pub(crate) retry: Option<DuePosition>,
}

impl Retry {
    pub(crate) fn new(now: Timestamp, delay: Duration) -> Self {
        Self { at: time::add_delay(now, delay), delay }
    }

    /// Moves the retry to at most its delay after `now`, in case the clock was set back.
    pub(crate) fn rebased(self, now: Timestamp) -> Self {
        Self { at: self.at.min(time::add_delay(now, self.delay)), ..self }
    }
}

impl QueuedKey {
    /// The key can be dropped without losing information.
    pub(crate) fn is_idle(&self) -> bool {
        self.run.is_none() && self.retry.is_none() && !self.has_reason()
    }

    /// The key changed or has a wake-up.
    pub(crate) fn has_reason(&self) -> bool {
        self.changed_at.is_some() || self.wake_at.is_some()
    }

    /// The key was removed during its run and was not added again.
    pub(crate) fn is_removed(&self) -> bool {
        self.run.is_some_and(|run| run.is_removed) && !self.has_reason()
    }

    pub(crate) fn due_wake(&self, now: Timestamp) -> Option<Timestamp> {
        self.wake_at.filter(|at| *at <= now)
    }

    /// Returns the instant from which the key could have run.
    pub(crate) fn due_at(&self, now: Timestamp) -> Timestamp {
        let requested = [self.changed_at, self.due_wake(now)].into_iter().flatten().min();
        self.retry.map(|retry| retry.at).or(requested).unwrap_or(now)
    }

    /// Starts a run, which satisfies the change, the retry and a due wake-up.
    pub(crate) fn begin(&mut self, run: ActiveRun, now: Timestamp) {
        self.changed_at = None;
        self.retry = None;
        if self.due_wake(now).is_some() {
            self.wake_at = None;
        }
        self.run = Some(run);
    }
}
