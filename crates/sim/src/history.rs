//! What happened in a world, as somebody outside saw it: what the disk took, what the node ran, what
//! users were told. Nothing in it comes from the controllers.

use std::sync::Arc;

use bytes::Bytes;

use crate::scenario::{Millis, Process};

/// The end of a world, in which nothing is left to do.
pub const LAST_WHILE: Millis = 30_000;

/// Something that happened.
#[derive(Clone, Debug)]
pub struct Record {
    /// When, on the true clock.
    pub at: Millis,
    /// What.
    pub what: Happened,
}

/// What can happen.
#[derive(Clone, Debug)]
pub enum Happened {
    /// The disk took a change. Revisions go up by one, also over restarts.
    Written {
        /// The revision.
        revision: u64,
        /// For example `/jobs.batch/default/c0-29500000`.
        key: Arc<str>,
        /// The object as JSON text; none if it is gone.
        value: Option<Bytes>,
    },
    /// The node began to run a Pod.
    Began {
        /// The Pod's UID.
        pod: Arc<str>,
        /// The UID of its Job.
        job: Arc<str>,
    },
    /// The node's process of a Pod is over.
    Ended {
        /// The Pod's UID.
        pod: Arc<str>,
        /// Its exit status; none if it was killed.
        exit: Option<i32>,
    },
    /// A user was told what came of the so-manieth deed of the scenario.
    Told {
        /// The place of the deed in the scenario.
        deed: usize,
        /// The code of the answer.
        code: u16,
    },
    /// How often somebody looked at a clock in the last [`LAST_WHILE`] of the world.
    Looked(u64),
    /// A process has begun or ceased to be allowed to act.
    Leads(Process, bool),
    /// Something for the reader of a timeline.
    Remark(String),
}

/// All of it, in the order of time.
pub type History = Vec<Record>;
