//! Tests of the server through its router and over TLS.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod audit;
mod auth;
mod bodies;
mod client;
mod connections;
mod deletion;
mod expiry;
mod fairness;
mod kube;
mod ledger;
mod limits;
mod lists;
mod memory;
mod metrics;
mod quotas;
mod replay;
mod run_requests;
mod schedule_since;
mod tls;
mod watches;
mod writes;
