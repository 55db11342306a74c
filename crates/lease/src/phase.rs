//! Where a candidate is between two calls, and what it exchanges with the shell.

use crate::{Mono, Record, Version};

/// What the shell is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Read the Lease and call [`Elector::on_observed`](crate::Elector::on_observed).
    Get,
    /// Create the Lease and call [`Elector::on_write`](crate::Elector::on_write).
    Create(Record),
    /// Replace the Lease if it still has this version, and call
    /// [`Elector::on_write`](crate::Elector::on_write).
    Update(Record, Version),
    /// Poll again then, or after any other call. While an answer is owed, that is the time to look
    /// whether leadership has ended, not the time to give up on the answer.
    Sleep(Mono),
    /// The Lease was given back or was not ours; there is nothing more to do.
    Released,
}

/// The answer to [`Action::Get`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read {
    /// The Lease.
    Present(Record, Version),
    /// There is none (404).
    Absent,
    /// No answer, or any other.
    Failed,
}

/// The answer to [`Action::Create`] and [`Action::Update`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    /// It was written, and has this version now.
    Done(Version),
    /// Somebody else was faster: 409, or a Lease that is not there to be replaced.
    Conflict,
    /// No answer, or any other: it may have been written, and may yet be.
    Unknown,
}

/// Where a candidate is between two calls.
#[derive(Clone, Debug)]
pub(crate) enum Phase {
    /// To read, at once.
    Read,
    /// To write over what it has seen, at once.
    Write,
    /// To wait, counted from then, and go on; how long is for the dice at the next poll.
    Rest { from: Mono, then: Next },
    /// To wait until then, and go on.
    Sleep { until: Mono, then: Next },
    /// An answer to a read is owed.
    Reading,
    /// An answer to a write that began then is owed.
    Writing { record: Record, started_at: Mono },
    /// It is over.
    Released,
}

/// What follows a rest.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Next {
    Read,
    Write,
}

impl From<Next> for Phase {
    fn from(next: Next) -> Self {
        match next {
            Next::Read => Self::Read,
            Next::Write => Self::Write,
        }
    }
}
