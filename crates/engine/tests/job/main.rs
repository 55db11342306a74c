//! The Job controller's decision: single decisions in edge cases, and histories in virtual time.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking and prints how many cases it checked"
)]

mod arbitrary_input;
mod edge_cases;
mod job_simulator;
mod random_histories;
mod recorded_jobs;
