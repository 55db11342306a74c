//! `pod.json`: all data that a supervisor needs to run a Pod.
//!
//! The daemon writes it once, before the supervisor starts, and it never changes: commands are
//! expanded, variables have their values, volumes are folders. A supervisor calls no API.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The environment variable by which the processes of a container are found.
pub(crate) const CONTAINER_MARK: &str = "PUNCTUAL_CONTAINER";

/// The environment variable with the path of the file for the termination message.
pub(crate) const TERMINATION_LOG_VARIABLE: &str = "PUNCTUAL_TERMINATION_LOG";

/// The path at which containers of other users see their scratch folder. They cannot reach it in the data directory.
pub(crate) const SCRATCH_MOUNT_POINT: &str = "/run/punctual/scratch";

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
    /// The volumes in memory, which the supervisor mounts.
    #[serde(default)]
    pub(crate) memory_volumes: Vec<MemoryVolume>,
    /// The volumes on disk with a maximum size.
    #[serde(default)]
    pub(crate) size_limits: Vec<SizeLimit>,
    /// The interval at which the sizes of volumes are checked, in milliseconds.
    #[serde(default)]
    pub(crate) size_check_ms: u64,
    /// The boot of the machine in which the Pod was prepared; `None` if an earlier version prepared it, which
    /// made every state durable.
    #[serde(default)]
    pub(crate) boot_id: Option<String>,
}

impl PodPlan {
    /// Whether the machine has run without interruption since the Pod was prepared, so that every state that was
    /// written is there.
    pub(crate) fn is_of_this_boot(&self) -> bool {
        self.boot_id.as_ref().is_none_or(|boot_id| *boot_id == current_boot_id())
    }
}

/// The ID of the present boot of the machine.
pub(crate) fn current_boot_id() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    text.trim().to_owned()
}

/// A volume in memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MemoryVolume {
    pub(crate) path: PathBuf,
    /// The maximum size; `None` for the default of the system.
    pub(crate) bytes_max: Option<u64>,
    /// The group of the volume.
    pub(crate) group: Option<u32>,
}

/// A volume on disk with a maximum size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SizeLimit {
    pub(crate) volume: String,
    pub(crate) path: PathBuf,
    pub(crate) bytes_max: u64,
    /// The limit as the user has written it.
    pub(crate) text: String,
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
    /// Whether the scratch folder is mounted at [`SCRATCH_MOUNT_POINT`].
    pub(crate) has_scratch_mount: bool,
    /// Whether the container has a PID namespace of its own.
    #[serde(default)]
    pub(crate) has_pid_namespace: bool,
    pub(crate) user: UserPlan,
    pub(crate) security: SecurityPlan,
    pub(crate) limits: ResourceLimits,
    pub(crate) termination_message_path: String,
    pub(crate) falls_back_to_logs: bool,
}

/// A folder or file, and its path in the container.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MountPlan {
    pub(crate) source: PathBuf,
    /// The path below the source that is mounted. Containers can write there, so links in it are not
    /// followed.
    #[serde(default)]
    pub(crate) sub_path: PathBuf,
    pub(crate) target: PathBuf,
    pub(crate) read_only: bool,
    /// Whether mounts below the source are read-only too.
    #[serde(default)]
    pub(crate) is_recursively_read_only: bool,
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

/// The rights that a container gives up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SecurityPlan {
    /// A bit for each capability that is dropped.
    pub(crate) dropped_capabilities: u64,
    /// A bit for each capability that the container has even if it was dropped or its user has none.
    pub(crate) added_capabilities: u64,
    /// Whether everything is read-only except volumes, the working directory, `/dev/shm` and `/proc`.
    pub(crate) is_root_read_only: bool,
    /// Whether the seccomp profile applies.
    pub(crate) has_seccomp: bool,
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
