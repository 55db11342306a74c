//! The phases of an elector, and its messages to and from the caller.

use crate::{LeaseRecord, MonotonicTime, ResourceVersion};

/// The next action of the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ElectorAction {
    /// Read the Lease and call [`Elector::on_observed`](crate::Elector::on_observed).
    Get,
    /// Create the Lease and call [`Elector::on_write`](crate::Elector::on_write).
    Create(LeaseRecord),
    /// Replace the Lease if it still has this version, and call
    /// [`Elector::on_write`](crate::Elector::on_write).
    Update(LeaseRecord, ResourceVersion),
    /// Call `poll` again at this time, or earlier after a call of another method. While a request is in
    /// flight, leadership may end at this time; it is not the timeout of the request.
    Sleep(MonotonicTime),
    /// Stop: the election has ended. The Lease was released, or another holder had it.
    Released,
}

/// The result of [`ElectorAction::Get`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseReadResult {
    /// The Lease.
    Present(LeaseRecord, ResourceVersion),
    /// The Lease does not exist (404).
    Absent,
    /// Timeout or any other error.
    Failed,
}

/// The result of [`ElectorAction::Create`] and [`ElectorAction::Update`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseWriteResult {
    /// The write succeeded, and the Lease has this version now.
    Done(ResourceVersion),
    /// Another writer was faster (409), or the Lease to replace does not exist.
    Conflict,
    /// Timeout or any other error. The write may have succeeded, or may still succeed.
    Unknown,
}

/// The phase of an elector between two calls.
#[derive(Clone, Debug)]
pub(crate) enum ElectorPhase {
    /// Read at the next poll.
    Read,
    /// Write at the next poll, based on the last observed Lease.
    Write,
    /// Wait for a retry period from `from`. The next poll adds the jitter.
    Wait { from: MonotonicTime, then: NextRequest },
    /// Wait until a known time.
    Sleep { until: MonotonicTime, then: NextRequest },
    /// A read is in flight.
    Reading,
    /// A write is in flight.
    Writing { record: LeaseRecord, started_at: MonotonicTime },
    /// The election is over.
    Released,
}

/// The request after a wait.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NextRequest {
    Read,
    Write,
}

impl From<NextRequest> for ElectorPhase {
    fn from(next: NextRequest) -> Self {
        match next {
            NextRequest::Read => Self::Read,
            NextRequest::Write => Self::Write,
        }
    }
}
