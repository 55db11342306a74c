//! Runs `punctual up` as a process.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod manifests;
mod pods;
mod program;
mod runs;
mod startup;
mod view;
