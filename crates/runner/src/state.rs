//! `state.json`: what a supervisor knows of its Pod, durably.
//!
//! It is the only word of how containers went. The supervisor replaces it at every change; the
//! daemon and the readers of logs only read it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::plan::{ContainerPlan, PodPlan};

/// The most notes that are kept; the same thing is noted once.
const NOTES_MAX: usize = 16;

/// What is known of a Pod.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PodState {
    /// The supervisor that wrote this.
    pub(crate) supervisor: i32,
    /// When the Pod was first taken on.
    pub(crate) started_at: Timestamp,
    pub(crate) phase: Phase,
    /// Why it ended or is ending, if not of itself.
    pub(crate) reason: Option<Fault>,
    /// In the order of the plan: init containers first.
    pub(crate) containers: Vec<Record>,
    pub(crate) notes: Vec<Fault>,
}

/// How far a Pod got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Phase {
    /// Init containers run.
    Pending,
    Running,
    Succeeded,
    Failed,
}

/// Something that is wrong: a word for programs, a sentence for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fault {
    pub(crate) reason: String,
    pub(crate) message: String,
}

/// What is known of a container.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Record {
    pub(crate) name: String,
    pub(crate) is_init: bool,
    pub(crate) now: Now,
    /// How the run before this one ended.
    pub(crate) last: Option<End>,
    pub(crate) restarts: u32,
}

/// What a container does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "is")]
pub(crate) enum Now {
    /// It was never started, or waits to be started again.
    Waiting(Fault),
    /// It is about to be started. Whoever finds this later must take it that it was.
    Starting,
    #[serde(rename_all = "camelCase")]
    Running {
        pid: i32,
        started_at: Timestamp,
    },
    Ended(End),
}

/// How a run of a container ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct End {
    pub(crate) exit_code: i32,
    pub(crate) signal: i32,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) started_at: Option<Timestamp>,
    pub(crate) finished_at: Timestamp,
}

/// Why a container or Pod is as it is.
pub(crate) mod reasons {
    pub(crate) const BACK_OFF: &str = "CrashLoopBackOff";
    pub(crate) const CANNOT_RUN: &str = "ContainerCannotRun";
    pub(crate) const COMPLETED: &str = "Completed";
    pub(crate) const CONFIG_ERROR: &str = "CreateContainerConfigError";
    pub(crate) const CREATING: &str = "ContainerCreating";
    pub(crate) const DEADLINE: &str = "DeadlineExceeded";
    pub(crate) const ERROR: &str = "Error";
    pub(crate) const INITIALIZING: &str = "PodInitializing";
    pub(crate) const LIMITS_NOT_SET: &str = "LimitsNotSet";
    pub(crate) const OOM_KILLED: &str = "OOMKilled";
    pub(crate) const START_ERROR: &str = "StartError";
    pub(crate) const UNKNOWN: &str = "ContainerStatusUnknown";
    pub(crate) const VOLUMES_NOT_MOUNTED: &str = "VolumesNotMounted";
}

impl Fault {
    pub(crate) fn new(reason: &str, message: impl Into<String>) -> Fault {
        Fault { reason: reason.to_owned(), message: message.into() }
    }
}

impl Phase {
    pub(crate) fn is_final(self) -> bool {
        matches!(self, Phase::Succeeded | Phase::Failed)
    }
}

impl End {
    pub(crate) fn is_success(&self) -> bool {
        self.exit_code == 0
    }
}

impl Record {
    fn new(plan: &ContainerPlan, reason: &str) -> Record {
        let now = Now::Waiting(Fault::new(reason, ""));
        Record { name: plan.name.clone(), is_init: plan.is_init, now, last: None, restarts: 0 }
    }

    pub(crate) fn end(&self) -> Option<&End> {
        match &self.now {
            Now::Ended(end) => Some(end),
            _ => None,
        }
    }

    pub(crate) fn is_running(&self) -> bool {
        matches!(self.now, Now::Running { .. })
    }

    /// The number of the run whose log is the current one; none if there was no run.
    pub(crate) fn run(&self) -> Option<u32> {
        match &self.now {
            Now::Waiting(_) => self.last.is_some().then_some(self.restarts),
            _ => Some(self.restarts),
        }
    }
}

impl PodState {
    pub(crate) fn new(plan: &PodPlan, now: Timestamp) -> PodState {
        let has_init = plan.containers.iter().any(|container| container.is_init);
        let waits = if has_init { reasons::INITIALIZING } else { reasons::CREATING };
        PodState {
            supervisor: 0,
            started_at: now,
            phase: if has_init { Phase::Pending } else { Phase::Running },
            reason: None,
            containers: plan.containers.iter().map(|plan| Record::new(plan, waits)).collect(),
            notes: Vec::new(),
        }
    }

    pub(crate) fn record(&self, container: &str) -> Option<&Record> {
        self.containers.iter().find(|record| record.name == container)
    }

    pub(crate) fn note(&mut self, note: Fault) {
        if self.notes.len() < NOTES_MAX && !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}
