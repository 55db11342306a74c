//! The controllers on a real server in the same process, under a clock that the tests set.
//! Of the CronJob controller alone the tests say what becomes of its Jobs; in the whole system a node of
//! the tests says what becomes of Pods.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod abroad;
#[path = "../asking/mod.rs"]
mod asking;
mod bursts;
mod crashes;
mod life;
mod node;
mod whole;
mod world;
