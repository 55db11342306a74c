//! A server for the tests: one Lease, written by compare-and-swap.

use punctual_lease::{ElectorAction, LeaseReadResult, LeaseRecord, LeaseWriteResult};

#[derive(Default)]
pub(crate) struct LeaseServer {
    lease: Option<LeaseRecord>,
    version: u64,
}

/// The response to a request.
#[derive(Clone, Debug)]
pub(crate) enum LeaseResponse {
    Read(LeaseReadResult),
    Written(LeaseWriteResult),
}

impl LeaseServer {
    pub(crate) fn handle(&mut self, request: ElectorAction) -> LeaseResponse {
        match request {
            ElectorAction::Get => LeaseResponse::Read(match &self.lease {
                Some(lease) => LeaseReadResult::Present(lease.clone(), self.version.to_string()),
                None => LeaseReadResult::Absent,
            }),
            ElectorAction::Create(record) => {
                let is_free = self.lease.is_none();
                LeaseResponse::Written(self.write(record, is_free))
            }
            ElectorAction::Update(record, version) => {
                let is_same = self.lease.is_some() && version == self.version.to_string();
                LeaseResponse::Written(self.write(record, is_same))
            }
            ElectorAction::Sleep(_) | ElectorAction::Released => unreachable!("not a request"),
        }
    }

    /// Simulates an edit of the Lease's metadata by another client.
    pub(crate) fn edit_metadata(&mut self) {
        self.version += 1;
    }

    fn write(&mut self, record: LeaseRecord, is_allowed: bool) -> LeaseWriteResult {
        if !is_allowed {
            return LeaseWriteResult::Conflict;
        }
        self.lease = Some(record);
        self.version += 1;
        LeaseWriteResult::Done(self.version.to_string())
    }
}
