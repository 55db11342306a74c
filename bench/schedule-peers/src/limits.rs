//! The limits that our library must keep.

use crate::{
    library::{LIBRARIES, Library},
    results::{CellFigures, ItemResults},
    workload::{BenchZone, CountRange, Operation, SCHEDULES},
};

/// For these, we execute fewer instructions than every other library with correct results.
const COMPARED: [Operation; 3] =
    [Operation::Next, Operation::Latest, Operation::Count(CountRange::Day)];
/// The largest geometric mean of the instructions of `next`.
const NEXT_MAX: [(BenchZone, f64); 2] = [(BenchZone::Utc, 350.0), (BenchZone::NewYork, 600.0)];
/// The longest time of a scheduler whose last run of an every-minute schedule was in 1970.
const SINCE_1970_MAX: f64 = 1000.0;
const SINCE_1970: [Operation; 3] =
    [Operation::Latest, Operation::LatestSince1970, Operation::Count(CountRange::Since1970)];

/// A limit and whether it is kept.
#[derive(Debug, PartialEq)]
pub(crate) struct LimitResult {
    what: String,
    /// The figures that decide.
    measured: String,
    /// None if a figure is missing.
    is_kept: Option<bool>,
    /// Whether it limits instructions, which are repeatable. Times depend on the load of the machine.
    is_exact: bool,
}

pub(crate) fn check_all(results: &[ItemResults]) -> Vec<LimitResult> {
    let mut limits = Vec::new();
    for operation in COMPARED {
        for zone in BenchZone::ALL {
            let rows = || results.iter().filter(move |row| row.is_of(operation, zone));
            limits.push(LimitResult {
                what: format!("{}, {}: fewest instructions", operation.name(), zone.name()),
                ..compare(rows().map(pairs).collect())
            });
        }
    }
    for (zone, max) in NEXT_MAX {
        let next = results.iter().filter(|row| row.is_of(Operation::Next, zone));
        let mean = geomean(next.map(|row| row.ours()?.instructions));
        let what = format!("next, {}: geomean of instructions", zone.name());
        limits.push(at_most(what, mean, max, true));
    }
    let is_since_1970 = |row: &&ItemResults| {
        SINCE_1970.contains(&row.item.operation) && row.item.expression.text == SCHEDULES[0].text
    };
    let times = results.iter().filter(is_since_1970).map(|row| Some(row.ours()?.nanoseconds));
    let slowest =
        times.collect::<Option<Vec<f64>>>().and_then(|all| all.into_iter().reduce(f64::max));
    let what = "every minute, last run 1970: nanoseconds".to_owned();
    limits.push(at_most(what, slowest, SINCE_1970_MAX, false));
    limits
}

/// Reports whether an exact limit is exceeded. With valgrind, every exact limit must be measured.
pub(crate) fn is_any_exceeded(limits: &[LimitResult], has_valgrind: bool) -> bool {
    let mut exact = limits.iter().filter(|limit| limit.is_exact);
    exact.any(|limit| !limit.is_kept.unwrap_or(!has_valgrind))
}

/// Lists the limits, one on each line.
pub(crate) fn list(limits: &[LimitResult]) -> String {
    let lines = limits.iter().map(|LimitResult { what, measured, is_kept, .. }| {
        let status = match is_kept {
            Some(true) => "kept",
            Some(false) => "EXCEEDED",
            None => "not measured",
        };
        format!("- {status}: {what} ({measured})\n")
    });
    format!("**limits**\n\n{}", lines.collect::<String>())
}

/// Returns the geometric mean, or None if a value is missing.
pub(crate) fn geomean(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let logarithms: Vec<f64> = values.map(|value| value.map(f64::ln)).collect::<Option<_>>()?;
    let count = logarithms.len() as f64;
    (count > 0.0).then(|| (logarithms.iter().sum::<f64>() / count).exp())
}

fn at_most(what: String, measured: Option<f64>, max: f64, is_exact: bool) -> LimitResult {
    let figure = measured.map_or("-".into(), |measured| format!("{measured:.0}"));
    let measured_text = format!("{figure}, at most {max:.0}");
    let is_kept = measured.map(|measured| measured <= max);
    LimitResult { what, measured: measured_text, is_kept, is_exact }
}

/// The instructions of our library beside those of another one whose results are correct.
struct PeerComparison {
    peer: String,
    ours: f64,
    theirs: f64,
}

/// Pairs our cell with the correct cells of other libraries. Returns None if instructions are missing.
fn pairs(row: &ItemResults) -> Option<Vec<PeerComparison>> {
    let peers = LIBRARIES.iter().zip(&row.cells).skip(1);
    let correct = peers.filter_map(|(library, cell)| Some((library, cell.ok()?)));
    let correct = correct.filter(|(_, figures)| figures.differing == 0.0);
    let ours = row.ours()?.instructions;
    let compare = |(library, figures): (&Library, CellFigures)| {
        let peer = format!("{} on `{}`", library.name, row.item.expression.text);
        Some(PeerComparison { peer, ours: ours?, theirs: figures.instructions? })
    };
    correct.map(compare).collect()
}

fn compare(pairs: Option<Vec<Vec<PeerComparison>>>) -> LimitResult {
    let mut pairs: Vec<PeerComparison> = pairs.unwrap_or_default().into_iter().flatten().collect();
    pairs.sort_by(|one, other| (other.ours / other.theirs).total_cmp(&(one.ours / one.theirs)));
    let text = |pair: &PeerComparison| {
        format!("{:.0} against {:.0} of {}", pair.ours, pair.theirs, pair.peer)
    };
    let lost: Vec<String> =
        pairs.iter().filter(|pair| pair.ours >= pair.theirs).map(text).collect();
    let measured = match pairs.first() {
        None => "not every cell was counted".into(),
        Some(closest) if lost.is_empty() => {
            format!("all {} cells, closest: {}", pairs.len(), text(closest))
        }
        Some(_) => format!("not in {} of {} cells: {}", lost.len(), pairs.len(), lost.join("; ")),
    };
    let is_kept = (!pairs.is_empty()).then_some(lost.is_empty());
    LimitResult { what: String::new(), measured, is_kept, is_exact: true }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pairs: &[(f64, f64)], is_kept: Option<bool>, measured: &str) {
        let pair =
            |&(ours, theirs): &(f64, f64)| PeerComparison { peer: "a peer".into(), ours, theirs };
        let result = compare(Some(vec![pairs.iter().map(pair).collect()]));
        assert_eq!((result.is_kept, result.measured.as_str()), (is_kept, measured));
    }

    #[test]
    fn we_need_fewer_instructions_in_every_cell() {
        let closest = "all 2 cells, closest: 5 against 6 of a peer";
        check(&[(1.0, 9.0), (5.0, 6.0)], Some(true), closest);
        let lost = "not in 1 of 2 cells: 6 against 6 of a peer";
        check(&[(1.0, 9.0), (6.0, 6.0)], Some(false), lost);
        check(&[], None, "not every cell was counted");
        assert_eq!(compare(None).is_kept, None);
    }

    #[test]
    fn a_figure_above_the_maximum_exceeds_the_limit() {
        for (measured, is_kept) in
            [(Some(350.0), Some(true)), (Some(351.0), Some(false)), (None, None)]
        {
            assert_eq!(at_most(String::new(), measured, 350.0, true).is_kept, is_kept);
        }
    }

    #[test]
    fn only_exact_limits_fail_the_benchmark_and_with_valgrind_also_unmeasured_ones() {
        let limit = |measured, is_exact| at_most(String::new(), measured, 1.0, is_exact);
        assert!(is_any_exceeded(&[limit(Some(1.0), true), limit(Some(2.0), true)], true));
        assert!(!is_any_exceeded(&[limit(Some(1.0), true), limit(Some(2.0), false)], true));
        assert!(is_any_exceeded(&[limit(None, true)], true));
        assert!(!is_any_exceeded(&[limit(None, true)], false));
    }

    #[test]
    fn a_geomean_needs_all_values() {
        assert_eq!(geomean([Some(2.0), Some(8.0)].into_iter()).map(f64::round), Some(4.0));
        assert_eq!(geomean([Some(2.0), None].into_iter()), None);
        assert_eq!(geomean([].into_iter()), None);
    }
}
