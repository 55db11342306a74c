//! What a thousand runs add.

use super::holdings::Holdings;

/// The line through some points that is nearest to them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Growth {
    what: &'static str,
    per_thousand: f64,
    allowed: f64,
}

/// An Event in memory, in KiB. They go after an hour, so a trial only sees them come.
const EVENT_KIB: f64 = 2.0;
/// A leak of one per run would be a thousand, one for a hundred runs ten. At rest there is nothing to
/// add but a connection that was not closed yet.
const COUNT_MAX: f64 = 2.0;
/// A kilobyte per run would be a thousand; allocators grow in steps.
const KIB_MAX: f64 = 500.0;

/// What grew in the second half of the looks, when everything is as large as it gets.
pub(super) fn growths(looks: &[Holdings]) -> Vec<Growth> {
    let half = looks.get(looks.len() / 2..).unwrap_or_default();
    let slope = |what: fn(&Holdings) -> u64| {
        let points = half.iter().map(|look| (look.runs as f64, what(look) as f64));
        slope(&points.collect::<Vec<_>>()) * 1e3
    };
    let events = slope(|look| look.events);
    let for_events = events.max(0.0) * EVENT_KIB;
    let growth = |what, per_thousand, allowed| Growth { what, per_thousand, allowed };
    vec![
        growth("memory, KiB", slope(|look| look.memory_kib), KIB_MAX + for_events),
        growth("open files", slope(|look| look.open_files), COUNT_MAX),
        growth("supervisors", slope(|look| look.supervisors), COUNT_MAX),
        growth("data without the store, KiB", slope(|look| look.data_kib), KIB_MAX),
        growth("files in the data folder", slope(|look| look.data_files), COUNT_MAX),
        growth("objects without Events", slope(|look| look.objects), COUNT_MAX),
        growth("Events", events, f64::INFINITY),
    ]
}

/// What is printed.
pub(super) fn table(growths: &[Growth]) -> String {
    let line = |growth: &Growth| {
        let Growth { what, per_thousand, allowed } = growth;
        format!("{what:<28}{per_thousand:>12.1} per 1,000 runs; allowed are {allowed:.1}\n")
    };
    growths.iter().map(line).collect()
}

impl Growth {
    /// In words, if it is too much.
    pub(super) fn fault(&self) -> Option<String> {
        let Growth { what, per_thousand, allowed } = self;
        (per_thousand > allowed).then(|| format!("too much growth: {what}: {per_thousand:.1}"))
    }
}

/// By least squares; 0 for points that have no line.
fn slope(points: &[(f64, f64)]) -> f64 {
    let count = points.len() as f64;
    let mean = |what: fn(&(f64, f64)) -> f64| points.iter().map(what).sum::<f64>() / count;
    let (x_mean, y_mean) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = points.iter().map(|(x, _)| (x - x_mean).powi(2)).sum();
    let common: f64 = points.iter().map(|(x, y)| (x - x_mean) * (y - y_mean)).sum();
    if spread > 0.0 { common / spread } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(memory_kib: impl Fn(u64) -> u64) -> Vec<Holdings> {
        let look = |number: u64| Holdings {
            runs: number * 100,
            memory_kib: memory_kib(number * 100),
            ..Holdings::default()
        };
        (0..100).map(look).collect()
    }

    #[test]
    fn the_slope_is_that_of_the_nearest_line() {
        assert_eq!(slope(&[(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)]), 2.0);
        assert_eq!(slope(&[(0.0, 0.0), (1.0, 1.0), (2.0, 0.0)]), 0.0);
        assert_eq!(slope(&[]), 0.0);
        assert_eq!(slope(&[(1.0, 1.0), (1.0, 2.0)]), 0.0);
    }

    #[test]
    fn growth_in_the_first_half_is_none() {
        let all = growths(&looks(|runs| runs.min(5_000)));
        assert_eq!(all.iter().find_map(Growth::fault), None);
    }

    #[test]
    fn a_kibibyte_for_each_run_is_found() {
        let all = growths(&looks(|runs| runs));
        let fault = all.iter().find_map(Growth::fault);
        assert_eq!(fault.as_deref(), Some("too much growth: memory, KiB: 1000.0"));
    }

    #[test]
    fn memory_may_grow_with_events() {
        let with_events = |look: &Holdings| Holdings { events: look.runs * 2, ..*look };
        let looks: Vec<Holdings> = looks(|runs| runs * 2).iter().map(with_events).collect();
        assert_eq!(growths(&looks).iter().find_map(Growth::fault), None);
    }
}
