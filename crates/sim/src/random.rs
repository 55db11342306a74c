//! Pseudorandom numbers from a seed.

use std::sync::atomic::{AtomicU64, Ordering};

/// A SplitMix64 generator: the same seed gives the same numbers.
#[derive(Debug)]
pub(crate) struct Random(AtomicU64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(AtomicU64::new(seed))
    }

    /// Any number.
    pub(crate) fn next_u64(&self) -> u64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let state = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below the limit. A limit of zero counts as one.
    pub(crate) fn below(&self, limit: u64) -> u64 {
        self.next_u64() % limit.max(1)
    }

    /// A number in this range, both ends included.
    pub(crate) fn between(&self, least: i64, most: i64) -> i64 {
        let width = most.saturating_sub(least).unsigned_abs();
        least.saturating_add_unsigned(self.below(width.saturating_add(1)))
    }

    /// True with this probability in percent.
    pub(crate) fn percent(&self, chance: u64) -> bool {
        self.below(100) < chance
    }

    /// One of the choices; none if there are none.
    pub(crate) fn pick<T: Clone>(&self, choices: &[T]) -> Option<T> {
        let index = usize::try_from(self.below(choices.len() as u64)).unwrap_or_default();
        choices.get(index).cloned()
    }
}
