//! The types of a Pod's status: phase, conditions and the states of its containers.

use serde::{Deserialize, Serialize};

use crate::meta::{Extra, is_zero};
use crate::time::Time;

/// The observed state of a Pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodStatus {
    /// `Pending`, `Running`, `Succeeded`, `Failed` or `Unknown`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub phase: String,
    /// The conditions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<PodCondition>,
    /// Human-readable message.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Machine-readable reason in CamelCase.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The IP address of the node.
    #[serde(rename = "hostIP", skip_serializing_if = "String::is_empty")]
    pub host_ip: String,
    /// The IP address of the Pod.
    #[serde(rename = "podIP", skip_serializing_if = "String::is_empty")]
    pub pod_ip: String,
    /// When the kubelet accepted the Pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Time>,
    /// The states of the init containers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub init_container_statuses: Vec<ContainerStatus>,
    /// The states of the containers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub container_statuses: Vec<ContainerStatus>,
    /// The quality-of-service class.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub qos_class: String,
    /// Undeclared fields, preserved as received.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Phases of a Pod.
pub mod phase {
    /// Not all containers have started.
    pub const PENDING: &str = "Pending";
    /// At least one container is running or starting.
    pub const RUNNING: &str = "Running";
    /// All containers terminated successfully.
    pub const SUCCEEDED: &str = "Succeeded";
    /// All containers terminated, at least one with a failure.
    pub const FAILED: &str = "Failed";
}

impl PodStatus {
    /// Returns whether the Pod succeeded or failed.
    pub fn is_terminal(&self) -> bool {
        self.phase == phase::SUCCEEDED || self.phase == phase::FAILED
    }

    /// Returns whether the condition of a type has the status `True`.
    pub fn is_true(&self, condition_type: &str) -> bool {
        self.conditions.iter().any(|c| c.condition_type == condition_type && c.status == "True")
    }
}

/// A condition of a Pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodCondition {
    /// The condition type.
    #[serde(rename = "type")]
    pub condition_type: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// The generation of the Pod that the condition describes.
    #[serde(skip_serializing_if = "is_zero")]
    pub observed_generation: i64,
    /// When the condition was last probed.
    pub last_probe_time: Option<Time>,
    /// When `status` last changed.
    pub last_transition_time: Option<Time>,
    /// Machine-readable reason in CamelCase.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Human-readable message.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// The observed state of a container.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerStatus {
    /// The name of the container.
    pub name: String,
    /// The current state.
    pub state: ContainerState,
    /// The state before the last restart.
    pub last_state: ContainerState,
    /// Whether the readiness probe succeeds.
    pub ready: bool,
    /// How many times the container was restarted.
    pub restart_count: i32,
    /// The image.
    pub image: String,
    /// The image ID.
    #[serde(rename = "imageID")]
    pub image_id: String,
    /// The ID of the container.
    #[serde(rename = "containerID", skip_serializing_if = "String::is_empty")]
    pub container_id: String,
    /// Whether the startup probe succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<bool>,
    /// Undeclared fields, preserved as received.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The state of a container: at most one field is set; none means waiting.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContainerState {
    /// The container waits to be started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<ContainerStateWaiting>,
    /// The container is running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<ContainerStateRunning>,
    /// The container terminated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminated: Option<ContainerStateTerminated>,
}

/// The state of a waiting container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContainerStateWaiting {
    /// Machine-readable reason in CamelCase.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Human-readable message.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// The state of a running container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerStateRunning {
    /// When the container started.
    pub started_at: Option<Time>,
}

/// The state of a terminated container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerStateTerminated {
    /// The exit code.
    pub exit_code: i32,
    /// The signal that terminated the container.
    #[serde(skip_serializing_if = "is_zero")]
    pub signal: i32,
    /// Machine-readable reason in CamelCase.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The termination message.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// When the container started.
    pub started_at: Option<Time>,
    /// When the container terminated.
    pub finished_at: Option<Time>,
    /// The ID of the container.
    #[serde(rename = "containerID", skip_serializing_if = "String::is_empty")]
    pub container_id: String,
}

impl ContainerStatus {
    /// Returns whether the container is terminated.
    pub fn has_terminated(&self) -> bool {
        self.state.terminated.is_some()
    }

    /// Returns the exit code of a terminated container.
    pub fn exit_code(&self) -> Option<i32> {
        self.state.terminated.as_ref().map(|terminated| terminated.exit_code)
    }
}

impl ContainerState {
    /// Returns whether no state is set.
    pub fn is_unknown(&self) -> bool {
        self.waiting.is_none() && self.running.is_none() && self.terminated.is_none()
    }

    /// Returns whether the container is running.
    pub fn is_running(&self) -> bool {
        self.running.is_some()
    }
}
