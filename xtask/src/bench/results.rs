//! What was measured of one server.

use std::time::Duration;

use super::{create::Created, list::Listed, watches::Watched};

/// Everything that is compared.
#[derive(Clone, Debug, Default)]
pub(super) struct Results {
    /// With nothing stored.
    pub(super) cold_start: Option<Duration>,
    /// With everything of the largest phase stored.
    pub(super) cold_start_full: Option<Duration>,
    pub(super) created: Vec<Created>,
    /// Processor time for one create of the busiest phase.
    pub(super) processor_per_create: Option<Duration>,
    pub(super) listed: Option<Listed>,
    pub(super) watched: Option<Watched>,
    /// Bytes after each phase, in order.
    pub(super) memory: Vec<(&'static str, u64)>,
}

impl Results {
    /// The phase with so many clients.
    pub(super) fn created_by(&self, clients: usize) -> Option<&Created> {
        self.created.iter().find(|created| created.clients == clients)
    }

    /// Bytes after a phase.
    pub(super) fn memory_after(&self, phase: &str) -> Option<u64> {
        self.memory.iter().find(|(name, _)| *name == phase).map(|(_, bytes)| *bytes)
    }
}
