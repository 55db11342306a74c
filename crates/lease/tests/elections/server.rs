//! The one Lease, with compare-and-swap.

use punctual_lease::{Action, Read, Record, Written};

#[derive(Default)]
pub(crate) struct Server {
    lease: Option<Record>,
    version: u64,
}

/// What a request is answered with.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Read(Read),
    Written(Written),
}

impl Server {
    pub(crate) fn handle(&mut self, request: Action) -> Answer {
        match request {
            Action::Get => Answer::Read(match &self.lease {
                Some(lease) => Read::Present(lease.clone(), self.version.to_string()),
                None => Read::Absent,
            }),
            Action::Create(record) => {
                let is_free = self.lease.is_none();
                Answer::Written(self.write(record, is_free))
            }
            Action::Update(record, version) => {
                let is_same = self.lease.is_some() && version == self.version.to_string();
                Answer::Written(self.write(record, is_same))
            }
            Action::Sleep(_) | Action::Released => unreachable!("not a request"),
        }
    }

    /// Somebody edits the Lease's metadata.
    pub(crate) fn touch(&mut self) {
        self.version += 1;
    }

    fn write(&mut self, record: Record, is_allowed: bool) -> Written {
        if !is_allowed {
            return Written::Conflict;
        }
        self.lease = Some(record);
        self.version += 1;
        Written::Done(self.version.to_string())
    }
}
