//! `state.json`: the durable state of a Pod.
//!
//! It is the only record of the results of containers. The supervisor replaces the file at every
//! change; the daemon (the process `punctual up`) and the log readers only read it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::pod_plan::{ContainerPlan, PodPlan};

/// The maximum number of warnings that are kept.
const WARNINGS_MAX: usize = 16;

/// The state of a Pod.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodState {
    /// The process ID of the supervisor that wrote the state. Earlier versions named the field `supervisor`, and their
    /// supervisors keep running after an upgrade.
    #[serde(alias = "supervisor")]
    pub supervisor_pid: i32,
    /// When the Pod was first started.
    pub started_at: Timestamp,
    /// The phase.
    pub phase: PodPhase,
    /// Why the Pod was stopped; `None` if its containers ended without being stopped.
    #[serde(alias = "reason")]
    pub stop_reason: Option<ReasonAndMessage>,
    /// The containers in the order of the plan: init containers first.
    pub containers: Vec<ContainerRecord>,
    /// Problems that did not keep the Pod from running, without duplicates.
    pub warnings: Vec<ReasonAndMessage>,
}

/// The phase of a Pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PodPhase {
    /// Init containers are running.
    Pending,
    /// Containers are running.
    Running,
    /// All containers ended successfully.
    Succeeded,
    /// A container failed, or the Pod was stopped.
    Failed,
}

/// Why a Pod or container is in its state: a word for programs and a message for users.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReasonAndMessage {
    /// The reason: one word in camel case.
    pub reason: String,
    /// The message for users.
    pub message: String,
}

/// The state of a container.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerRecord {
    /// The name.
    pub name: String,
    /// Whether it is an init container.
    pub is_init: bool,
    /// The state of the present run.
    pub current: RunState,
    /// The result of the previous run.
    pub last_termination: Option<Termination>,
    /// The number of restarts.
    pub restarts: u32,
}

/// The state of one run of a container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "state")]
pub enum RunState {
    /// The container was never started, or waits for its restart.
    Waiting(ReasonAndMessage),
    /// The container is about to start. After a crash it must be assumed that it did start.
    Starting,
    /// The container is running.
    #[serde(rename_all = "camelCase")]
    Running {
        /// The process ID of the main process.
        pid: i32,
        /// When it was started.
        started_at: Timestamp,
    },
    /// The container has ended.
    Terminated(Termination),
}

/// The result of a run of a container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Termination {
    /// The exit code.
    pub exit_code: i32,
    /// The signal that killed it, or 0.
    pub signal: i32,
    /// The reason: one word in camel case.
    pub reason: String,
    /// The message for users.
    pub message: String,
    /// When it was started; `None` if it did not start.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub finished_at: Timestamp,
}

/// Reasons of Pods and containers, mostly those of Kubernetes.
pub(crate) mod reasons {
    pub(crate) const BACK_OFF: &str = "CrashLoopBackOff";
    pub(crate) const CANNOT_RUN: &str = "ContainerCannotRun";
    pub(crate) const COMPLETED: &str = "Completed";
    pub(crate) const CONFIG_ERROR: &str = "CreateContainerConfigError";
    pub(crate) const CREATING: &str = "ContainerCreating";
    pub(crate) const DEADLINE: &str = "DeadlineExceeded";
    pub(crate) const ERROR: &str = "Error";
    pub(crate) const DATA_DIRECTORY_VISIBLE: &str = "DataDirectoryVisible";
    pub(crate) const EVICTED: &str = "Evicted";
    pub(crate) const INITIALIZING: &str = "PodInitializing";
    pub(crate) const LIMITS_NOT_SET: &str = "LimitsNotSet";
    pub(crate) const OOM_KILLED: &str = "OOMKilled";
    pub(crate) const START_ERROR: &str = "StartError";
    pub(crate) const UNKNOWN: &str = "ContainerStatusUnknown";
}

impl ReasonAndMessage {
    /// Creates a reason and its message.
    pub fn new(reason: &str, message: impl Into<String>) -> ReasonAndMessage {
        ReasonAndMessage { reason: reason.to_owned(), message: message.into() }
    }
}

impl PodPhase {
    /// Whether the Pod has ended.
    pub fn is_final(self) -> bool {
        matches!(self, PodPhase::Succeeded | PodPhase::Failed)
    }
}

impl Termination {
    /// Whether the exit code is 0.
    pub fn is_success(&self) -> bool {
        self.exit_code == 0
    }
}

impl ContainerRecord {
    fn new(plan: &ContainerPlan, waiting_reason: &str) -> ContainerRecord {
        ContainerRecord {
            name: plan.name.clone(),
            is_init: plan.is_init,
            current: RunState::Waiting(ReasonAndMessage::new(waiting_reason, "")),
            last_termination: None,
            restarts: 0,
        }
    }

    /// The result of the present run, if it has ended.
    pub fn termination(&self) -> Option<&Termination> {
        match &self.current {
            RunState::Terminated(termination) => Some(termination),
            _ => None,
        }
    }

    /// Whether the container is running.
    pub fn is_running(&self) -> bool {
        matches!(self.current, RunState::Running { .. })
    }

    /// Whether the present run has ended with exit code 0.
    pub(crate) fn has_succeeded(&self) -> bool {
        self.termination().is_some_and(Termination::is_success)
    }

    /// The number of the latest run, which has the current log; `None` if there was no run.
    pub(crate) fn run_number(&self) -> Option<u32> {
        match &self.current {
            RunState::Waiting(_) => self.last_termination.is_some().then_some(self.restarts),
            _ => Some(self.restarts),
        }
    }
}

impl PodState {
    pub(crate) fn new(plan: &PodPlan, now: Timestamp) -> PodState {
        let has_init = plan.containers.iter().any(|container| container.is_init);
        let reason = if has_init { reasons::INITIALIZING } else { reasons::CREATING };
        let containers = plan.containers.iter();
        PodState {
            supervisor_pid: 0,
            started_at: now,
            phase: if has_init { PodPhase::Pending } else { PodPhase::Running },
            stop_reason: None,
            containers: containers.map(|plan| ContainerRecord::new(plan, reason)).collect(),
            warnings: Vec::new(),
        }
    }

    /// The state of a Pod whose own is lost: every container may have been started.
    pub(crate) fn lost(plan: &PodPlan, now: Timestamp) -> PodState {
        let mut state = PodState::new(plan, now);
        for record in &mut state.containers {
            record.current = RunState::Starting;
        }
        state
    }

    /// Marks all containers that have not ended as started, because they may have been.
    pub(crate) fn mark_unfinished_as_started(&mut self) {
        for record in &mut self.containers {
            if record.termination().is_none() {
                record.current = RunState::Starting;
            }
        }
    }

    pub(crate) fn container(&self, name: &str) -> Option<&ContainerRecord> {
        self.containers.iter().find(|record| record.name == name)
    }

    pub(crate) fn add_warning(&mut self, warning: ReasonAndMessage) {
        if self.warnings.len() < WARNINGS_MAX && !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_that_a_supervisor_of_an_earlier_version_writes_is_read() {
        let text = r#"{"supervisor": 27, "startedAt": "2026-11-18T16:35:05Z", "phase": "Failed",
            "reason": {"reason": "DeadlineExceeded", "message": "too slow"}, "containers": [],
            "warnings": []}"#;
        let state: PodState = serde_json::from_str(text).unwrap();
        assert_eq!(state.supervisor_pid, 27);
        assert_eq!(state.stop_reason, Some(ReasonAndMessage::new("DeadlineExceeded", "too slow")));
    }
}
