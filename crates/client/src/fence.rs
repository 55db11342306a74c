//! Allows writes only while this process leads.
//!
//! [`ApiClient`](crate::ApiClient) asks the fence immediately before every write. The fence compares
//! the end of the term with the clock, so it closes without any task having to run: a process that was
//! paused past the end of its term is refused at its next write. A write in flight has a deadline that
//! ends before another process can lead.

use std::fmt;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use punctual_lease::MonotonicTime;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;

/// Whether writes are allowed now. Clones share the same state.
#[derive(Clone)]
pub struct Fence {
    /// `None` without leader election: writes are always allowed.
    guard: Option<Guard>,
}

#[derive(Clone)]
struct Guard {
    clock: Arc<dyn Clock>,
    term: watch::Sender<Term>,
    /// The number of the only term in which this fence opens; `None` for every term.
    bound_to: Option<u64>,
    /// Closes this fence for good when it is cancelled.
    finished: CancellationToken,
}

/// The latest state of the election.
#[derive(Clone, Copy, Debug, Default)]
struct Term {
    /// Grows with every term.
    number: u64,
    /// When the term ends unless it is renewed; `None` while another process may lead.
    ends_at: Option<MonotonicTime>,
    /// How long no other process takes over after the end.
    slack: Duration,
}

impl Fence {
    /// A fence that is always open, for a process without leader election.
    pub fn always_open() -> Fence {
        Fence { guard: None }
    }

    /// A fence that is closed until an election opens it.
    pub fn closed(clock: Arc<dyn Clock>) -> Fence {
        let term = watch::Sender::new(Term::default());
        let finished = CancellationToken::new();
        Fence { guard: Some(Guard { clock, term, bound_to: None, finished }) }
    }

    /// Whether writes are allowed now.
    pub fn is_open(&self) -> bool {
        self.guard.as_ref().is_none_or(|guard| guard.time_left().is_some())
    }

    /// The deadline of a write that starts now: at most `usual`, and before another process can lead.
    /// `None` if the write must not start.
    pub fn call_budget(&self, usual: Duration) -> Option<Duration> {
        let Some(guard) = &self.guard else { return Some(usual) };
        let slack = guard.term.borrow().slack;
        guard.time_left().map(|left| usual.min(left.saturating_add(slack)))
    }

    /// Waits until writes are allowed.
    pub async fn wait_open(&self) {
        let Some(guard) = &self.guard else { return };
        let mut term = guard.term.subscribe();
        while guard.time_left().is_none() {
            // This never fails, because the guard holds a sender.
            let _ = term.changed().await;
        }
    }

    /// Waits until writes are no longer allowed.
    pub async fn wait_closed(&self) {
        let Some(guard) = &self.guard else { return pending().await };
        let mut term = guard.term.subscribe();
        while let Some(end) = guard.ends_at().filter(|end| guard.clock.monotonic() < *end) {
            tokio::select! {
                biased;
                _ = term.changed() => {}
                () = guard.finished.cancelled() => return,
                () = tokio::time::sleep(guard.clock.delay_until_monotonic(end)) => {}
            }
        }
    }

    /// A fence for the work of the present term. It closes for good when `finished` is cancelled or the
    /// term ends, so writes left over from this work stay blocked even if this process leads again.
    pub fn for_current_term(&self, finished: CancellationToken) -> Fence {
        let guard = self.guard.clone().map(|guard| {
            let bound_to = Some(guard.term.borrow().number);
            Guard { bound_to, finished, ..guard }
        });
        Fence { guard }
    }

    /// Sets the end of the term, if this process leads, and how long no other process takes over after
    /// that. An end that follows `None` starts a new term.
    pub fn set_term_end(&self, ends_at: Option<MonotonicTime>, slack: Duration) {
        let Some(guard) = &self.guard else { return };
        guard.term.send_if_modified(|term| {
            let is_changed = term.ends_at != ends_at;
            if term.ends_at.is_none() && ends_at.is_some() {
                term.number += 1;
            }
            term.ends_at = ends_at;
            term.slack = slack;
            is_changed
        });
    }

    /// Whether this fence belongs to a process without leader election.
    pub fn is_always_open(&self) -> bool {
        self.guard.is_none()
    }
}

impl Guard {
    /// When this fence closes; `None` if it is closed for this work.
    fn ends_at(&self) -> Option<MonotonicTime> {
        let Term { number, ends_at, .. } = *self.term.borrow();
        let is_ours = self.bound_to.is_none_or(|own| own == number);
        if is_ours && !self.finished.is_cancelled() { ends_at } else { None }
    }

    /// How long this fence stays open; `None` if it is closed.
    fn time_left(&self) -> Option<Duration> {
        let left = self.ends_at()?.saturating_sub(self.clock.monotonic());
        if left.is_zero() { None } else { Some(left) }
    }
}

impl fmt::Debug for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fence").field("is_open", &self.is_open()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
