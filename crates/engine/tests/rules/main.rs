//! Tests of the rules of the CronJob controller. Each test runs one reconcile
//! (`decide`, then `settle`) and checks the result.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod catch_up_limits;
mod deadlines;
mod feature_gates;
mod fixture;
mod future_records;
mod history;
mod jitter;
mod ledger;
mod manual_jobs;
mod names;
mod pending_deadlines;
mod policies;
mod replacement;
mod run_requests;
mod schedules;
mod skipped;
mod status;
mod suspensions;
