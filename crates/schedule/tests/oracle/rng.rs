//! Repeatable random numbers (SplitMix64): the same seed gives the same sequence.

/// A random number generator with its state.
pub(crate) struct TestRng(pub(crate) u64);

#[allow(dead_code, reason = "several test crates share this file")]
impl TestRng {
    /// Returns the next random number.
    pub(crate) fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `end`, which must not be 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.roll() % end
    }

    /// Returns true with a probability of 1 in `times`.
    pub(crate) fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// Returns true with a probability of `percent`.
    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Returns one of the items, or the default of an empty slice.
    pub(crate) fn pick<T: Clone + Default>(&mut self, items: &[T]) -> T {
        let at = self.below(items.len().max(1) as u64) as usize;
        items.get(at).cloned().unwrap_or_default()
    }
}
