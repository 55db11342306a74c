//! The rules of the CronJob controller. Each test decides and settles once and checks the result.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod deadlines;
mod fixture;
mod history;
mod jitter;
mod names;
mod policies;
mod schedules;
mod status;
