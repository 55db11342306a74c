//! The server as clients see it: in process over its router, and over TLS.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod auth;
mod client;
mod expiry;
mod gone;
mod kube;
mod limits;
mod lists;
mod replay;
mod scrape;
mod since;
mod tls;
mod watches;
mod writes;
