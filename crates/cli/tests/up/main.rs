//! Tests of `punctual up` as a process.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod attacks;
mod closed_stderr;
mod cron_job_commands;
mod examples;
mod manifest_folder;
mod manifests;
mod metrics;
mod pods;
mod program;
mod repair_command;
mod run_command;
mod run_request_commands;
mod runs;
mod screen;
mod special_files;
mod startup;
mod view;
