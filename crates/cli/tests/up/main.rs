//! `punctual up` as a process.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod manifests;
mod pods;
mod process;
mod runs;
mod starts;
mod view;
