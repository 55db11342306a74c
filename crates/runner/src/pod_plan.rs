//! `pod.json`: all data that a supervisor needs to run a Pod.
//!
//! The daemon writes it once, before the supervisor starts, and it never changes: commands are
//! expanded, variables have their values, volumes are folders. A supervisor calls no API.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The environment variable that marks the processes of a container, so that they can be found.
pub(crate) const CONTAINER_MARK: &str = "PUNCTUAL_CONTAINER";

/// The value of [`CONTAINER_MARK`] for a container.
pub(crate) fn container_mark(uid: &str, container: &str) -> String {
    format!("{uid}/{container}")
}

/// A Pod that is ready to run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PodPlan {
    pub(crate) uid: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) restart_policy: RestartPolicy,
    pub(crate) grace_seconds: u64,
    pub(crate) active_deadline_seconds: Option<u64>,
    /// Init containers first, in the order in which they run.
    pub(crate) containers: Vec<ContainerPlan>,
    pub(crate) restart_backoff: RestartBackoff,
    pub(crate) log_bytes_max: u64,
    /// Whether to use cgroups where the system allows it.
    pub(crate) use_cgroups: bool,
}

/// When a container that has ended is restarted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum RestartPolicy {
    Always,
    OnFailure,
    Never,
}

/// The delays before a container is restarted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RestartBackoff {
    /// The delay before the second restart, in milliseconds. It doubles with each further restart.
    pub first_ms: u64,
    /// The longest delay, in milliseconds.
    pub max_ms: u64,
    /// A run of at least this many milliseconds resets the delay.
    pub reset_ms: u64,
}

impl Default for RestartBackoff {
    /// The values of Kubernetes: 10 s, doubled up to 5 min, reset after a run of 10 min.
    fn default() -> RestartBackoff {
        RestartBackoff { first_ms: 10_000, max_ms: 300_000, reset_ms: 600_000 }
    }
}

/// A container that is ready to run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ContainerPlan {
    pub(crate) name: String,
    pub(crate) is_init: bool,
    /// Why this container can never run; `None` if it can.
    pub(crate) unsupported: Option<String>,
    /// The program and its arguments.
    pub(crate) command: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
    /// The working directory; `None` for the scratch folder of the container.
    pub(crate) working_dir: Option<String>,
    pub(crate) mounts: Vec<MountPlan>,
    pub(crate) user: UserPlan,
    pub(crate) limits: ResourceLimits,
    pub(crate) termination_message_path: String,
    pub(crate) falls_back_to_logs: bool,
}

/// A folder or file, and its path in the container.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MountPlan {
    pub(crate) source: PathBuf,
    pub(crate) target: PathBuf,
    pub(crate) read_only: bool,
    pub(crate) missing_source: MissingSource,
}

/// What to do if the source of a mount does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum MissingSource {
    /// The container does not start.
    Fail,
    /// Create a folder.
    CreateFolder,
    /// Create an empty file.
    CreateFile,
}

/// The user of a container's processes. Values that are `None` are those of the supervisor.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct UserPlan {
    pub(crate) user: Option<u32>,
    pub(crate) group: Option<u32>,
    pub(crate) groups: Vec<u32>,
    /// Whether the container must not run as root.
    pub(crate) must_not_be_root: bool,
    pub(crate) no_new_privileges: bool,
}

/// The resource limits of a container.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ResourceLimits {
    pub(crate) memory_bytes: Option<u64>,
    pub(crate) cpu_milli: Option<u64>,
    pub(crate) pids: Option<u64>,
}

impl ResourceLimits {
    pub(crate) fn is_empty(&self) -> bool {
        *self == ResourceLimits::default()
    }
}
