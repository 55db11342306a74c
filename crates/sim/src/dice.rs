//! Chance out of a seed.

use std::sync::atomic::{AtomicU64, Ordering};

/// Random numbers (SplitMix64): the same seed, the same numbers.
#[derive(Debug)]
pub(crate) struct Dice(AtomicU64);

impl Dice {
    /// Dice that always fall in the same way.
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(AtomicU64::new(seed))
    }

    /// Any number.
    pub(crate) fn roll(&self) -> u64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let state = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below the limit, which is not zero.
    pub(crate) fn below(&self, limit: u64) -> u64 {
        self.roll() % limit.max(1)
    }

    /// A number of this range, both ends included.
    pub(crate) fn between(&self, least: i64, most: i64) -> i64 {
        let width = most.saturating_sub(least).unsigned_abs();
        least.saturating_add_unsigned(self.below(width.saturating_add(1)))
    }

    /// Whether this happens, so many times in a hundred.
    pub(crate) fn percent(&self, chance: u64) -> bool {
        self.below(100) < chance
    }

    /// One of several.
    pub(crate) fn pick<T: Clone>(&self, of: &[T]) -> Option<T> {
        let at = usize::try_from(self.below(of.len() as u64)).unwrap_or_default();
        of.get(at).cloned()
    }
}
