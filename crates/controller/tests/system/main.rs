//! Tests of the controllers with a real server in the same process and a clock that the tests set.
//! Where only the CronJob controller runs, the tests finish its Jobs. Where all controllers run, a
//! fake node finishes the Pods.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod all_controllers;
mod bursts;
mod captured_log;
mod crashes;
mod cron_jobs;
mod decision_log;
mod examples;
mod fake_node;
mod feature_gates;
mod foreign_server;
#[path = "../harness/mod.rs"]
mod harness;
#[path = "../in_process_server/mod.rs"]
mod in_process_server;
mod pending_deadlines;
mod quotas;
mod test_cluster;
