//! What the simulator, the soak tests and the tests of other crates share: random numbers from a seed, an
//! independent evaluation of schedules, and scenarios, histories and their checker.
//!
//! A slot is a scheduled time of a CronJob. `CatchUp` is our concurrency policy that runs all pending
//! slots in order.
//!
//! This crate depends on no other crate of ours, so that a check never shares code with the part that
//! it checks.

pub mod check;
pub mod history;
pub mod manifest;
pub mod oracle;
mod policy;
mod rng;
pub mod scenario;

pub use policy::ConcurrencyPolicy;
pub use rng::TestRng;
