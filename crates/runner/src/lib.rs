//! Pods as processes of this machine.
//!
//! ```text
//!  API ◀──▶ Runner (in the daemon) ──starts──▶ supervisor (one per Pod) ──▶ containers
//!             │  ▲                                │
//!             ▼  └── inotify ── state.json ◀──────┘
//!          pods/<uid>/pod.json                  logs/<container>/<n>.log ──▶ Logs
//! ```
//!
//! [`Runner`] is to this machine what a kubelet is to a node: it watches Pods, resolves what they
//! need into a plan, and reports what becomes of them. Running is the business of a [`supervise`]
//! process per Pod, which outlives the daemon and is the only one who starts anything; so a daemon
//! that dies, is upgraded or restarted finds its Pods as they are. [`Logs`] reads what containers
//! said.
//!
//! There are no images: a container runs the programs of the machine, with its own environment,
//! volumes, user and limits.

mod clock;
mod folder;
mod inotify;
mod logs;
mod node;
mod plan;
mod prepare;
mod readiness;
mod runner;
mod state;
mod supervisor;

pub use self::logs::{LogError, LogQuery, Logs};
pub use self::node::register_node;
pub use self::plan::Timing;
pub use self::runner::{Config, Runner, Started};
pub use self::supervisor::supervise;
