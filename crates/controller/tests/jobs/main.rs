//! The Job controller on a real server in the same process. The kubelet is the test.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

#[path = "../asking/mod.rs"]
mod asking;
mod claims;
mod crashes;
mod flaky;
mod lives;
mod world;
