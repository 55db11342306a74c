//! Tests of the Job controller with a real server in the same process. The tests write the status
//! of the Pods, as a kubelet does.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod claims;
mod crashes;
mod flaky_connection;
#[path = "../harness/mod.rs"]
mod harness;
#[path = "../in_process_server/mod.rs"]
mod in_process_server;
mod lifecycle;
mod test_env;
