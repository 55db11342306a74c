//! Tests of the dashboard over HTTP, with a real API server in the same process.

mod pages;
mod projections;
mod security;
mod site;
