//! Every rule has a history that keeps it and one that breaks it.

mod jobs;
mod records;
mod starts;
mod tale;
mod worlds;

use crate::scenario::Process;

const LEADER: Process = Process::Controller(0);
