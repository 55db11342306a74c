//! Runs Pods as processes of this machine.
//!
//! ```text
//!  API ◀──▶ Runner ──▶ PodRuntime: ProcessRuntime ──starts──▶ supervisor (one per Pod) ──▶ containers
//!                           │  ▲                                  │
//!                           ▼  └─── inotify ─── state.json ◀──────┘
//!                 pods/<uid>/pod.json                     logs/<container>/<n>.log ──▶ Logs
//! ```
//!
//! [`Runner`] does for this machine what a kubelet does for a node: it watches Pods, starts and stops
//! them through a [`PodRuntime`], and reports their statuses. [`ProcessRuntime`] writes a plan for each
//! Pod and starts a supervisor process ([`supervise`]) that runs the containers. Supervisors outlive the
//! daemon (the process `punctual up`), so Pods keep running while the daemon is upgraded or restarted.
//! [`Logs`] reads the logs of containers.
//!
//! There are no images: a container runs programs of this machine, with its own environment, volumes,
//! user and limits.

mod async_fd;
mod bounded_file;
mod folder_watcher;
mod logs;
mod node;
mod pod_folder;
mod pod_plan;
mod pod_runtime;
mod pod_state;
mod prepare;
mod process_runtime;
mod process_tree;
mod runner;
mod state_file;
mod supervisor;

pub use self::logs::{LogError, LogQuery, Logs};
pub use self::node::register_node;
pub use self::pod_plan::RestartBackoff;
pub use self::pod_runtime::{PodHandle, PodRuntime, RuntimeEvent};
pub use self::pod_state::{
    ContainerRecord, PodPhase, PodState, ReasonAndMessage, RunState, Termination,
};
pub use self::prepare::{MissingReference, PrepareError, ReferenceKind, References};
pub use self::process_runtime::{ProcessRuntime, ProcessRuntimeOptions};
pub use self::runner::{PodStartedHook, Runner, RunnerOptions};
pub use self::supervisor::supervise;
