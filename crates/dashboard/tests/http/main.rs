//! Tests of the dashboard over HTTP, with a real API server in the same process.

#![expect(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test fails by panicking")]

mod pages;
mod projections;
mod security;
mod site;
