//! What is known about one key, and where that lets it stand.

use std::time::Duration;

use jiff::Timestamp;

use crate::lane::Place;
use crate::span;

/// The reasons to run a key. They are kept apart, because each ends in its own way: a change with
/// the next run, a wake-up when it is due or replaced, a retry when it is due or forgotten.
#[derive(Debug, Default)]
pub(crate) struct Entry {
    /// It changed then, and no run has begun since.
    pub(crate) changed_at: Option<Timestamp>,
    pub(crate) wake_at: Option<Timestamp>,
    /// It failed; until then it does not run, whatever the other reasons say.
    pub(crate) retry: Option<Retry>,
    pub(crate) failures: u32,
    pub(crate) run: Option<Run>,
    pub(crate) places: Places,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Retry {
    pub(crate) at: Timestamp,
    delay: Duration,
}

/// A run that has not ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) id: u64,
    pub(crate) started_at: Timestamp,
    /// The key was removed meanwhile: how the run ends concerns nobody.
    pub(crate) is_disowned: bool,
}

/// Where it stands in the lanes of the queue.
#[derive(Debug, Default)]
pub(crate) struct Places {
    pub(crate) change: Option<Place>,
    pub(crate) wake: Option<Place>,
    pub(crate) retry: Option<Place>,
}

impl Retry {
    pub(crate) fn new(now: Timestamp, delay: Duration) -> Self {
        Self { at: span::after(now, delay), delay }
    }

    /// Never further away than its delay, wherever the clock was set.
    pub(crate) fn rebased(self, now: Timestamp) -> Self {
        Self { at: self.at.min(span::after(now, self.delay)), ..self }
    }
}

impl Entry {
    /// Nothing would be lost if the key were unknown.
    pub(crate) fn is_idle(&self) -> bool {
        self.run.is_none() && self.retry.is_none() && self.is_unwanted()
    }

    /// There is no reason to run it.
    pub(crate) fn is_unwanted(&self) -> bool {
        self.changed_at.is_none() && self.wake_at.is_none()
    }

    /// Its run is over for everybody but the worker, and nobody has asked for the key anew.
    pub(crate) fn is_gone(&self) -> bool {
        self.run.is_some_and(|run| run.is_disowned) && self.is_unwanted()
    }

    pub(crate) fn wake_due(&self, now: Timestamp) -> Option<Timestamp> {
        self.wake_at.filter(|at| *at <= now)
    }

    /// The instant since which it could have run.
    pub(crate) fn due_at(&self, now: Timestamp) -> Timestamp {
        let asked = [self.changed_at, self.wake_due(now)].into_iter().flatten().min();
        self.retry.map(|retry| retry.at).or(asked).unwrap_or(now)
    }

    /// Takes the reasons that a run which begins now will satisfy.
    pub(crate) fn begin(&mut self, run: Run, now: Timestamp) {
        self.changed_at = None;
        self.retry = None;
        if self.wake_due(now).is_some() {
            self.wake_at = None;
        }
        self.run = Some(run);
    }
}
