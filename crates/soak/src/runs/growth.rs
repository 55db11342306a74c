//! Computes how much each resource grows per thousand runs, and compares it with the limits.

use super::usage::ResourceUsage;

/// The growth of one resource.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Growth {
    resource: &'static str,
    per_thousand_runs: f64,
    limit: f64,
}

/// The memory of an Event in KiB. Events expire after an hour, so this test only sees them accumulate.
const EVENT_KIB: f64 = 2.0;
/// The limit for counts. A leak of one per run would be 1,000, one per hundred runs 10. An idle server
/// adds nothing but a connection that is not closed yet.
const COUNT_MAX: f64 = 2.0;
/// The limit for sizes. A leak of a KiB per run would be 1,000; allocators grow in steps.
const KIB_MAX: f64 = 500.0;

/// Fits the growth in the second half of the measurements, after caches have reached their full size.
pub(super) fn fit_growths(usages: &[ResourceUsage]) -> Vec<Growth> {
    let half = usages.get(usages.len() / 2..).unwrap_or_default();
    let slope = |resource: fn(&ResourceUsage) -> u64| {
        let points = half.iter().map(|usage| (usage.runs as f64, resource(usage) as f64));
        fit_slope(&points.collect::<Vec<_>>()) * 1e3
    };
    let events = slope(|usage| usage.events);
    let events_kib = events.max(0.0) * EVENT_KIB;
    let growth = |resource, per_thousand_runs, limit| Growth { resource, per_thousand_runs, limit };
    vec![
        growth("memory, KiB", slope(|usage| usage.memory_kib), KIB_MAX + events_kib),
        growth("open files", slope(|usage| usage.open_files), COUNT_MAX),
        growth("supervisors", slope(|usage| usage.supervisors), COUNT_MAX),
        growth("data without the store, KiB", slope(|usage| usage.data_kib), KIB_MAX),
        growth("files in the data directory", slope(|usage| usage.data_files), COUNT_MAX),
        growth("objects without Events", slope(|usage| usage.objects), COUNT_MAX),
        growth("Events", events, f64::INFINITY),
    ]
}

/// One line for each resource.
pub(super) fn format_table(growths: &[Growth]) -> String {
    let line = |growth: &Growth| {
        let Growth { resource, per_thousand_runs, limit } = growth;
        format!("{resource:<28}{per_thousand_runs:>12.1} per 1,000 runs; the limit is {limit:.1}\n")
    };
    growths.iter().map(line).collect()
}

impl Growth {
    /// A description if the growth exceeds its limit.
    pub(super) fn violation(&self) -> Option<String> {
        let Growth { resource, per_thousand_runs, limit } = self;
        (per_thousand_runs > limit)
            .then(|| format!("too much growth: {resource}: {per_thousand_runs:.1}"))
    }
}

/// The slope of the line of least squares; 0 if it is undetermined.
fn fit_slope(points: &[(f64, f64)]) -> f64 {
    let count = points.len() as f64;
    let x_mean = points.iter().map(|(x, _)| x).sum::<f64>() / count;
    let y_mean = points.iter().map(|(_, y)| y).sum::<f64>() / count;
    let variance: f64 = points.iter().map(|(x, _)| (x - x_mean).powi(2)).sum();
    let covariance: f64 = points.iter().map(|(x, y)| (x - x_mean) * (y - y_mean)).sum();
    if variance > 0.0 { covariance / variance } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usages(memory_kib: impl Fn(u64) -> u64) -> Vec<ResourceUsage> {
        let usage = |number: u64| ResourceUsage {
            runs: number * 100,
            memory_kib: memory_kib(number * 100),
            ..ResourceUsage::default()
        };
        (0..100).map(usage).collect()
    }

    fn violation(usages: &[ResourceUsage]) -> Option<String> {
        fit_growths(usages).iter().find_map(Growth::violation)
    }

    #[test]
    fn the_slope_is_that_of_the_nearest_line() {
        assert_eq!(fit_slope(&[(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)]), 2.0);
        assert_eq!(fit_slope(&[(0.0, 0.0), (1.0, 1.0), (2.0, 0.0)]), 0.0);
        assert_eq!(fit_slope(&[]), 0.0);
        assert_eq!(fit_slope(&[(1.0, 1.0), (1.0, 2.0)]), 0.0);
    }

    #[test]
    fn growth_in_the_first_half_is_ignored() {
        assert_eq!(violation(&usages(|runs| runs.min(5_000))), None);
    }

    #[test]
    fn a_kibibyte_per_run_is_a_violation() {
        let found = violation(&usages(|runs| runs));
        assert_eq!(found.as_deref(), Some("too much growth: memory, KiB: 1000.0"));
    }

    #[test]
    fn memory_may_grow_with_events() {
        let with_events =
            |usage: &ResourceUsage| ResourceUsage { events: usage.runs * 2, ..*usage };
        let usages: Vec<ResourceUsage> = usages(|runs| runs * 2).iter().map(with_events).collect();
        assert_eq!(violation(&usages), None);
    }
}
