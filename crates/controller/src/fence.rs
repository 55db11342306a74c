//! Whether effects are allowed: always where there is nobody else, else while we lead.
//!
//! The fence is asked immediately before every call that changes something. It looks at the clock
//! itself, so that nothing has to run for it to close: a process that was stopped and wakes is
//! refused at its first question. What is under way by then has an end, after which another may lead
//! at the earliest.

use std::fmt;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use punctual_lease::Mono;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;

/// Whether effects are allowed now. Clones are handles to the same.
#[derive(Clone)]
pub struct Fence {
    /// None if there is nobody to be kept from anything.
    guard: Option<Guard>,
}

#[derive(Clone)]
struct Guard {
    clock: Arc<dyn Clock>,
    office: watch::Sender<Office>,
    /// The one term that it is for, if it is not for whichever comes.
    term: Option<u64>,
    /// Whether the one work that it is for is over.
    over: CancellationToken,
}

/// What an election last said.
#[derive(Clone, Copy, Debug, Default)]
struct Office {
    /// Grows with every term.
    term: u64,
    /// When the term ends unless it is renewed.
    until: Option<Mono>,
    /// How long others stay away after that.
    slack: Duration,
}

impl Fence {
    /// One that is never closed.
    pub fn open() -> Fence {
        Fence { guard: None }
    }

    /// One that is closed until an election opens it.
    pub fn shut(clock: Arc<dyn Clock>) -> Fence {
        let office = watch::Sender::new(Office::default());
        let over = CancellationToken::new();
        Fence { guard: Some(Guard { clock, office, term: None, over }) }
    }

    /// Whether effects are allowed now.
    pub fn allows(&self) -> bool {
        self.guard.as_ref().is_none_or(|guard| guard.left().is_some())
    }

    /// How long a call that begins now may take, of what it usually may: it must be over before
    /// another can lead. None if it must not begin.
    pub fn patience(&self, usual: Duration) -> Option<Duration> {
        let Some(guard) = &self.guard else { return Some(usual) };
        let slack = guard.office.borrow().slack;
        guard.left().map(|left| usual.min(left.saturating_add(slack)))
    }

    /// Waits until effects are allowed.
    pub async fn opened(&self) {
        let Some(guard) = &self.guard else { return };
        let mut office = guard.office.subscribe();
        // Only news can open it. And there will be some: we hold a sender.
        while guard.left().is_none() {
            let _ = office.changed().await;
        }
    }

    /// Waits until effects are not allowed any more.
    pub async fn closed(&self) {
        let Some(guard) = &self.guard else { return pending().await };
        let mut office = guard.office.subscribe();
        while let Some(until) = guard.until().filter(|until| guard.clock.monotonic() < *until) {
            tokio::select! {
                biased;
                _ = office.changed() => {}
                () = guard.over.cancelled() => return,
                () = tokio::time::sleep(guard.clock.rest_until_monotonic(until)) => {}
            }
        }
    }

    /// The fence of one work in the present term, for good: what is left of the work when it is
    /// over stays outside, even if we lead again by then.
    pub(crate) fn for_work(&self, over: CancellationToken) -> Fence {
        let guard = self.guard.clone().map(|guard| {
            let term = Some(guard.office.borrow().term);
            Guard { term, over, ..guard }
        });
        Fence { guard }
    }

    /// Says until when we lead, if we do, and how long others stay away after that.
    pub(crate) fn set(&self, until: Option<Mono>, slack: Duration) {
        let Some(guard) = &self.guard else { return };
        guard.office.send_if_modified(|office| {
            let is_news = office.until != until;
            office.term += u64::from(office.until.is_none() && until.is_some());
            (office.until, office.slack) = (until, slack);
            is_news
        });
    }

    pub(crate) fn is_always_open(&self) -> bool {
        self.guard.is_none()
    }
}

impl Guard {
    /// When it closes, if it was opened for us.
    fn until(&self) -> Option<Mono> {
        let Office { term, until, .. } = *self.office.borrow();
        let is_ours = self.term.is_none_or(|ours| ours == term) && !self.over.is_cancelled();
        if is_ours { until } else { None }
    }

    /// How long it stays open. None if it is closed.
    fn left(&self) -> Option<Duration> {
        let left = self.until()?.saturating_sub(self.clock.monotonic());
        Some(left).filter(|left| !left.is_zero())
    }
}

impl fmt::Debug for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fence").field("allows", &self.allows()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
