//! Tests of leader election: several candidates with a real server in the same process and a paused
//! clock.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod connection;
mod faults;
mod handovers;
#[path = "../harness/mod.rs"]
mod harness;
mod terms;
mod test_env;
