//! Pods as real processes, over a real server in the same process.
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
mod logs;
mod mishaps;
mod node;
mod places;
mod restarts;
mod stops;
mod supervisors;
mod volumes;
mod world;
