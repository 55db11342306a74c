//! Repeatable random numbers (SplitMix64): the same seed, the same run.

pub(crate) struct Dice(pub(crate) u64);

#[allow(dead_code, reason = "not everyone needs every throw")]
impl Dice {
    pub(crate) fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is not 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.roll() % end
    }

    /// True once in so many times.
    pub(crate) fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// True so many times in a hundred.
    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of the items, or the default if there are none.
    pub(crate) fn pick<T: Clone + Default>(&mut self, items: &[T]) -> T {
        let at = self.below(items.len().max(1) as u64) as usize;
        items.get(at).cloned().unwrap_or_default()
    }
}
