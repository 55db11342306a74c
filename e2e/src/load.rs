//! Asynchronous load drivers for benchmarks and soak tests.

pub mod clock;
pub mod connection;
pub mod create;
pub mod latency;
pub mod prometheus_text;
pub mod revisions;
pub mod runtime;
