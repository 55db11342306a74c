//! The former name of `rng.rs`, for test crates that still use it.

#[path = "rng.rs"]
mod rng;

pub(crate) use rng::TestRng as Dice;
