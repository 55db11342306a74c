//! The Job controller with a real server in the same process. The tests play the kubelet.

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
mod lifecycle;
#[path = "../request/mod.rs"]
mod request;
mod test_env;
