//! Tests of `punctual serve` as a process.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking; an environment variable sets its length"
)]

mod backups;
mod kills;
mod program;
mod startup;
