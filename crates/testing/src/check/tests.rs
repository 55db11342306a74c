//! Tests of the checker: every rule has a history that satisfies it and one that violates it.

mod history_builder;
mod jobs;
mod pods;
mod starts;
mod statuses;
mod whole_system;

use crate::scenario::ProcessId;

const LEADER: ProcessId = ProcessId::Controller(0);
