//! `pod.json`: everything a supervisor needs to run a Pod, resolved.
//!
//! The daemon writes it once, before the supervisor starts, and it never changes: commands are
//! expanded, variables have their values, volumes are folders. A supervisor asks nobody.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The variable that marks the processes of a Pod, and by which they are found.
pub(crate) const MARK: &str = "PUNCTUAL_CONTAINER";

/// The value of the mark of a container's processes.
pub(crate) fn mark(uid: &str, container: &str) -> String {
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
    pub(crate) timing: Timing,
    pub(crate) log_bytes_max: u64,
    /// Whether cgroups are used where they can be.
    pub(crate) cgroups: bool,
}

/// When an ended container is started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum RestartPolicy {
    Always,
    OnFailure,
    Never,
}

/// How long a container that keeps ending waits before it is started again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Timing {
    /// The wait before the first restart, in milliseconds; it doubles each time.
    pub backoff_first_ms: u64,
    /// The longest wait, in milliseconds.
    pub backoff_max_ms: u64,
    /// A run at least this long, in milliseconds, makes the next wait the first one again.
    pub backoff_reset_ms: u64,
}

impl Default for Timing {
    /// Kubernetes' own: 10 s doubling to 5 min, forgotten after 10 min of running.
    fn default() -> Timing {
        Timing { backoff_first_ms: 10_000, backoff_max_ms: 300_000, backoff_reset_ms: 600_000 }
    }
}

/// A container that is ready to run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ContainerPlan {
    pub(crate) name: String,
    pub(crate) is_init: bool,
    /// Why it cannot be run, now or ever.
    pub(crate) refusal: Option<String>,
    /// Program and arguments.
    pub(crate) command: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
    /// Folder to start in; a scratch folder of the Pod when none.
    pub(crate) working_dir: Option<String>,
    pub(crate) mounts: Vec<MountPlan>,
    pub(crate) user: UserPlan,
    pub(crate) limits: Limits,
    pub(crate) termination_message_path: String,
    pub(crate) falls_back_to_logs: bool,
}

/// A folder or file and where the container sees it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MountPlan {
    pub(crate) source: PathBuf,
    pub(crate) target: PathBuf,
    pub(crate) read_only: bool,
    /// What becomes of a source that is missing.
    pub(crate) missing: Missing,
}

/// What becomes of a source that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Missing {
    /// The container cannot start.
    Fails,
    /// A folder is made.
    Folder,
    /// An empty file is made.
    File,
}

/// Whose rights the processes have; what is none stays as the supervisor's.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct UserPlan {
    pub(crate) user: Option<u32>,
    pub(crate) group: Option<u32>,
    pub(crate) groups: Vec<u32>,
    /// Whether running as root is refused.
    pub(crate) must_not_be_root: bool,
    pub(crate) no_new_privileges: bool,
}

/// The most that a container may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Limits {
    pub(crate) memory_bytes: Option<u64>,
    pub(crate) cpu_milli: Option<u64>,
    pub(crate) pids: Option<u64>,
}

impl Limits {
    pub(crate) fn is_empty(&self) -> bool {
        *self == Limits::default()
    }
}
