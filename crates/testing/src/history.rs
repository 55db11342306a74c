//! What happened in a simulation, recorded by the simulated disk, node and users. The controllers
//! record nothing here, so the checker does not depend on what they claim.

use std::sync::Arc;

use bytes::Bytes;

use crate::scenario::{Millis, ProcessId};

/// The last part of a simulation, in which nothing is left to do. Clock reads are counted to find
/// controllers that work although they are idle.
pub const IDLE_CHECK_PERIOD: Millis = 30_000;

/// One event and its time.
#[derive(Clone, Debug)]
pub struct HistoryRecord {
    /// The true time.
    pub at: Millis,
    /// The event.
    pub event: HistoryEvent,
}

/// An event.
#[derive(Clone, Debug)]
pub enum HistoryEvent {
    /// The disk stored a change. Revisions increase by one, even across restarts.
    Written {
        /// The revision.
        revision: u64,
        /// For example `/jobs.batch/default/c0-29500000`, the Job of a slot: the name of the CronJob and
        /// the minutes since 1970.
        key: Arc<str>,
        /// The object as JSON; none if it was deleted.
        value: Option<Bytes>,
    },
    /// The node started the process of a Pod.
    PodStarted {
        /// The Pod's UID.
        pod: Arc<str>,
        /// The UID of its Job.
        job: Arc<str>,
    },
    /// The process of a Pod ended.
    PodEnded {
        /// The Pod's UID.
        pod: Arc<str>,
        /// The exit code: 143 after SIGTERM, 137 after SIGKILL.
        exit_code: i32,
        /// Whether it ended because it was stopped.
        was_stopped: bool,
    },
    /// A user received the response to an action.
    Response {
        /// The index of the action in the scenario.
        action: usize,
        /// The HTTP status code.
        code: u16,
    },
    /// The server served this slot record at the end, as JSON.
    SlotRecord(Arc<str>),
    /// The number of clock reads in the [`IDLE_CHECK_PERIOD`].
    ClockReads(u64),
    /// A process gained or lost leadership.
    LeaderChanged(ProcessId, bool),
    /// A remark for readers of the timeline.
    Remark(String),
}

/// All records in order of time.
pub type History = Vec<HistoryRecord>;
