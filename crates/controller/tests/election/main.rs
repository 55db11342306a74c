//! Several candidates on a real server in the same process, in virtual time: nothing here waits.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

#[path = "../asking/mod.rs"]
mod asking;
mod handovers;
mod links;
mod terms;
mod troubles;
mod world;
