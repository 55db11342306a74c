//! The rules of the CronJob controller, one scene each: the cases that the design documents name.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod deadlines;
mod history;
mod jitter;
mod names;
mod policies;
mod scene;
mod schedules;
mod status;
