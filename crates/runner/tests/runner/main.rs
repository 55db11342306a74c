//! Runs Pods as real processes, with a real server in the same process.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod adoption;
mod environment;
mod exits;
mod failures;
mod in_memory_runtime;
mod logs;
mod node;
mod pod_permits;
mod restarts;
mod stops;
mod supervisors;
mod test_node;
mod volumes;
