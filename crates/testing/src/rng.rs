//! A generator of repeatable random numbers for tests.

use std::sync::atomic::{AtomicU64, Ordering};

/// A SplitMix64 generator: the same seed gives the same numbers. It can be shared, because its methods
/// take `&self`.
#[derive(Debug)]
pub struct TestRng(AtomicU64);

impl TestRng {
    /// A generator with a seed.
    pub fn new(seed: u64) -> TestRng {
        TestRng(AtomicU64::new(seed))
    }

    /// Any number.
    pub fn next_u64(&self) -> u64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let state = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below the limit. A limit of zero counts as one.
    pub fn below(&self, limit: u64) -> u64 {
        self.next_u64() % limit.max(1)
    }

    /// A number in this range, both ends included.
    pub fn between(&self, least: i64, most: i64) -> i64 {
        let width = most.saturating_sub(least).unsigned_abs();
        least.saturating_add_unsigned(self.below(width.saturating_add(1)))
    }

    /// True once in this many times on average.
    pub fn once_in(&self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// True with this probability in percent.
    pub fn percent(&self, chance: u64) -> bool {
        self.below(100) < chance
    }

    /// One of the choices; none if there are none.
    pub fn pick<T: Clone>(&self, choices: &[T]) -> Option<T> {
        let index = usize::try_from(self.below(choices.len() as u64)).unwrap_or_default();
        choices.get(index).cloned()
    }

    /// One of the choices; the default if there are none.
    pub fn pick_or_default<T: Clone + Default>(&self, choices: &[T]) -> T {
        self.pick(choices).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The scenario of a seed must never change, because reports of violations name the seed.
    #[test]
    fn a_seed_always_gives_the_same_numbers() {
        let rng = TestRng::new(0);
        assert_eq!(rng.next_u64(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(rng.next_u64(), 0x6e78_9e6a_a1b9_65f4);
    }

    #[test]
    fn a_range_includes_both_ends() {
        let rng = TestRng::new(1);
        let numbers: std::collections::BTreeSet<i64> =
            (0..100).map(|_| rng.between(-1, 1)).collect();
        assert_eq!(numbers.into_iter().collect::<Vec<_>>(), [-1, 0, 1]);
    }
}
