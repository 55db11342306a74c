//! Computes percentiles of durations.

use std::time::Duration;

/// Sorted durations.
#[derive(Clone, Debug, Default)]
pub struct Latencies(Vec<Duration>);

impl Latencies {
    /// Sorts samples.
    pub fn new(mut samples: Vec<Duration>) -> Self {
        samples.sort_unstable();
        Latencies(samples)
    }

    /// The number of samples.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The percentile by nearest rank; zero without samples.
    pub fn percentile(&self, percent: usize) -> Duration {
        let rank = (self.0.len() * percent).div_ceil(100).max(1);
        self.0.get(rank - 1).copied().unwrap_or_default()
    }

    /// The longest sample; zero without samples.
    pub fn max(&self) -> Duration {
        self.0.last().copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_samples_by_nearest_rank() {
        let samples = (1..=200).rev().map(Duration::from_millis).collect();
        let latencies = Latencies::new(samples);
        assert_eq!(latencies.percentile(50), Duration::from_millis(100));
        assert_eq!(latencies.percentile(99), Duration::from_millis(198));
        assert_eq!(latencies.max(), Duration::from_millis(200));
    }

    #[test]
    fn one_sample_is_every_percentile_and_no_sample_is_zero() {
        let one = Latencies::new(vec![Duration::from_secs(1)]);
        assert_eq!((one.percentile(1), one.percentile(99)), (one.max(), one.max()));
        assert_eq!(Latencies::default().percentile(50), Duration::ZERO);
    }
}
