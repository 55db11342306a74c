//! What was seen of a Pod and its containers.

use serde::{Deserialize, Serialize};

use crate::meta::{Extra, is_zero};
use crate::time::Time;

/// What was seen of a Pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodStatus {
    /// `Pending`, `Running`, `Succeeded`, `Failed` or `Unknown`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub phase: String,
    /// Conditions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<PodCondition>,
    /// A sentence for people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// One word for programs.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Address of the machine.
    #[serde(rename = "hostIP", skip_serializing_if = "String::is_empty")]
    pub host_ip: String,
    /// Address of the Pod.
    #[serde(rename = "podIP", skip_serializing_if = "String::is_empty")]
    pub pod_ip: String,
    /// When the Pod was taken on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Time>,
    /// Init containers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub init_container_statuses: Vec<ContainerStatus>,
    /// Containers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub container_statuses: Vec<ContainerStatus>,
    /// How it is treated when memory is short.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub qos_class: String,
    /// Fields not named here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Phases of a Pod.
pub mod phase {
    /// Not all containers run yet.
    pub const PENDING: &str = "Pending";
    /// At least one container runs or is about to.
    pub const RUNNING: &str = "Running";
    /// All containers ended well.
    pub const SUCCEEDED: &str = "Succeeded";
    /// All containers ended, one badly.
    pub const FAILED: &str = "Failed";
}

impl PodStatus {
    /// Whether the Pod ended, either way.
    pub fn is_terminal(&self) -> bool {
        self.phase == phase::SUCCEEDED || self.phase == phase::FAILED
    }

    /// Whether a condition of that type has the status `True`.
    pub fn is_true(&self, condition_type: &str) -> bool {
        self.conditions.iter().any(|c| c.condition_type == condition_type && c.status == "True")
    }
}

/// A condition of a Pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodCondition {
    /// What the condition is about.
    #[serde(rename = "type")]
    pub condition_type: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Generation of the Pod that the condition speaks of.
    #[serde(skip_serializing_if = "is_zero")]
    pub observed_generation: i64,
    /// When the condition was last looked at.
    pub last_probe_time: Option<Time>,
    /// When `status` last changed.
    pub last_transition_time: Option<Time>,
    /// One word for programs.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// A sentence for people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// What was seen of a container.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerStatus {
    /// The container.
    pub name: String,
    /// What it does now.
    pub state: ContainerState,
    /// What it did before it was restarted.
    pub last_state: ContainerState,
    /// Whether its readiness probe is content.
    pub ready: bool,
    /// How often it was restarted.
    pub restart_count: i32,
    /// Image it runs.
    pub image: String,
    /// Image it runs, by content.
    #[serde(rename = "imageID")]
    pub image_id: String,
    /// Identity of the running container.
    #[serde(rename = "containerID", skip_serializing_if = "String::is_empty")]
    pub container_id: String,
    /// Whether its startup probe was passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<bool>,
    /// Fields not named here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What a container does: at most one of these; none means that it waits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContainerState {
    /// It waits to be started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<ContainerStateWaiting>,
    /// It runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<ContainerStateRunning>,
    /// It ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminated: Option<ContainerStateTerminated>,
}

/// Why a container waits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContainerStateWaiting {
    /// One word for programs.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// A sentence for people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// Since when a container runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerStateRunning {
    /// Since when.
    pub started_at: Option<Time>,
}

/// How a container ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerStateTerminated {
    /// Exit code.
    pub exit_code: i32,
    /// Signal that ended it.
    #[serde(skip_serializing_if = "is_zero")]
    pub signal: i32,
    /// One word for programs.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// What it left as its termination message.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// When it started.
    pub started_at: Option<Time>,
    /// When it ended.
    pub finished_at: Option<Time>,
    /// Identity of the container that ended.
    #[serde(rename = "containerID", skip_serializing_if = "String::is_empty")]
    pub container_id: String,
}

impl ContainerStatus {
    /// Whether the container ended, and is not to be started again as far as can be seen.
    pub fn has_terminated(&self) -> bool {
        self.state.terminated.is_some()
    }

    /// The exit code, once it ended.
    pub fn exit_code(&self) -> Option<i32> {
        self.state.terminated.as_ref().map(|terminated| terminated.exit_code)
    }
}

impl ContainerState {
    /// Whether nothing is known.
    pub fn is_unknown(&self) -> bool {
        self.waiting.is_none() && self.running.is_none() && self.terminated.is_none()
    }

    /// Whether the container runs.
    pub fn is_running(&self) -> bool {
        self.running.is_some()
    }
}
