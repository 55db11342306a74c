//! Tests that run Pods as real processes, with a real server in the same process.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod adoption;
mod data_directory;
mod environment;
mod executor;
mod exits;
mod failures;
mod fork_server;
mod in_memory_runtime;
mod limits;
mod logs;
mod node;
mod pid_namespaces;
mod pod_permits;
mod power_loss;
mod restarts;
mod security;
mod stops;
mod supervisors;
mod test_node;
mod volumes;
