//! What the simulator, the soak tests and the tests of other crates share.
//!
//! This crate depends on no other crate of ours, so that a check never shares code with the part that
//! it checks.

mod policy;
mod rng;

pub use policy::ConcurrencyPolicy;
pub use rng::TestRng;
