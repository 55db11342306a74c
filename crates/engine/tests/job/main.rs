//! The Job controller's decision: single looks at odd situations, and whole lives in virtual time.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test may fail, and tells how much it looked at"
)]

mod edges;
mod lives;
mod recorded;
mod totality;
mod world;
