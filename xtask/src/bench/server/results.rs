//! The measurements of one server in the server benchmark.

use std::time::Duration;

use punctual_e2e::load::create::CreateResults;

use super::{list::ListResults, watches::WatchResults};

/// All compared measurements.
#[derive(Clone, Debug, Default)]
pub(super) struct ServerResults {
    /// The start with an empty store.
    pub(super) cold_start: Option<Duration>,
    /// The start with many stored CronJobs.
    pub(super) cold_start_full: Option<Duration>,
    pub(super) created: Vec<CreateResults>,
    /// The processor time of one create in the last phase.
    pub(super) processor_per_create: Option<Duration>,
    pub(super) listed: Option<ListResults>,
    pub(super) watched: Option<WatchResults>,
    /// The name of each phase and the memory after it, in bytes.
    pub(super) memory: Vec<(&'static str, u64)>,
}

impl ServerResults {
    /// The phase with a number of clients.
    pub(super) fn created_by(&self, clients: usize) -> Option<&CreateResults> {
        self.created.iter().find(|created| created.clients == clients)
    }

    /// The memory after a phase, in bytes.
    pub(super) fn memory_after(&self, phase: &str) -> Option<u64> {
        self.memory.iter().find(|(name, _)| *name == phase).map(|(_, bytes)| *bytes)
    }
}
