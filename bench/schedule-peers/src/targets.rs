//! The targets of the benchmark.

use crate::{
    results::{BenchResults, LibraryResults},
    table::ReportFormat,
    workload::{BenchZone, CountRange, Operation},
};

/// The operations of a scheduler whose last run was in 1970.
pub(crate) const SINCE_1970: [(Operation, &str); 3] = [
    (Operation::Latest, "latest at or before t"),
    (Operation::LatestSince1970, "latest in (1970, t]"),
    (Operation::Count(CountRange::Since1970), "count in (1970, t]"),
];

const NANOSECONDS_MAX: f64 = 1000.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TargetStatus {
    Met,
    Missed,
    NotMeasured,
}

impl TargetStatus {
    fn of(met: bool) -> TargetStatus {
        if met { TargetStatus::Met } else { TargetStatus::Missed }
    }

    fn name(self) -> &'static str {
        match self {
            TargetStatus::Met => "met",
            TargetStatus::Missed => "MISSED",
            TargetStatus::NotMeasured => "not measured",
        }
    }
}

pub(crate) struct BenchTarget {
    what: String,
    /// The figures that decide.
    measured: String,
    status: TargetStatus,
    /// The target is about instructions, which are repeatable, so missing it fails the benchmark.
    /// Times depend on the load of the machine.
    is_exact: bool,
}

pub(crate) fn all(results: &BenchResults) -> Vec<BenchTarget> {
    let mut targets = Vec::new();
    for (operation, what) in [
        (Operation::Next, "next"),
        (Operation::Latest, "latest"),
        (Operation::Count(CountRange::Day), "count over a day"),
    ] {
        for zone in BenchZone::ALL {
            targets.push(fewest(results, operation, zone, what));
        }
    }
    targets.push(next_geomean(results, BenchZone::Utc, 350.0));
    targets.push(next_geomean(results, BenchZone::NewYork, 600.0));
    targets.push(since_1970(results));
    targets
}

/// Reports whether an exact target is missed. With valgrind, an unmeasured target is missed too.
pub(crate) fn any_missed(targets: &[BenchTarget], has_valgrind: bool) -> bool {
    let missed = |target: &BenchTarget| match target.status {
        TargetStatus::Met => false,
        TargetStatus::Missed => true,
        TargetStatus::NotMeasured => has_valgrind,
    };
    targets.iter().any(|target| target.is_exact && missed(target))
}

/// Lists the targets, one on each line.
pub(crate) fn list(targets: &[BenchTarget], format: ReportFormat) -> String {
    let line = |target: &BenchTarget| {
        let BenchTarget { what, measured, status, .. } = target;
        let status = status.name();
        match format {
            ReportFormat::Plain => format!("  {status:<12}  {what} ({measured})\n"),
            ReportFormat::Markdown => format!("- {status}: {what} ({measured})\n"),
        }
    };
    let lines: String = targets.iter().map(line).collect();
    match format {
        ReportFormat::Plain => format!("targets\n{lines}"),
        ReportFormat::Markdown => format!("**targets**\n\n{lines}"),
    }
}

/// Returns the geometric mean, or None if a value is missing.
pub(crate) fn geomean(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let logarithms: Vec<f64> = values.map(|value| value.map(f64::ln)).collect::<Option<_>>()?;
    if logarithms.is_empty() {
        return None;
    }
    Some((logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp())
}

/// Our cell and the same cell of another library whose results are correct.
struct CellPair {
    what: String,
    ours: f64,
    theirs: f64,
}

impl CellPair {
    fn ratio(&self) -> f64 {
        self.theirs / self.ours
    }

    fn text(&self) -> String {
        format!("{:.0} against {:.0} of {}", self.ours, self.theirs, self.what)
    }
}

fn fewest(
    results: &BenchResults,
    operation: Operation,
    zone: BenchZone,
    what: &str,
) -> BenchTarget {
    let peers = results.columns.iter().filter(|column| !column.is_ours());
    let pairs = peers.map(|peer| pairs(results.ours(), peer, operation, zone));
    // A missing cell makes the comparison incomplete.
    let pairs: Option<Vec<Vec<CellPair>>> = pairs.collect();
    let (status, measured) = judge(pairs.unwrap_or_default().into_iter().flatten().collect());
    let what = format!(
        "{what}, {}: fewer instructions than every other library with correct results",
        zone.name()
    );
    BenchTarget { what, measured, status, is_exact: true }
}

/// Pairs our cells with the correct cells of another library. Returns None if instructions are
/// missing.
fn pairs(
    ours: &LibraryResults,
    peer: &LibraryResults,
    operation: Operation,
    zone: BenchZone,
) -> Option<Vec<CellPair>> {
    let pairs = ours.cells(operation, zone).zip(peer.cells(operation, zone));
    let correct = pairs.filter(|(_, (_, theirs))| theirs.is_correct());
    correct
        .map(|((expression, ours), (_, theirs))| {
            let what = format!("{} on `{}`", peer.library.name(), expression.text);
            Some(CellPair { what, ours: ours.instructions()?, theirs: theirs.instructions()? })
        })
        .collect()
}

fn judge(mut pairs: Vec<CellPair>) -> (TargetStatus, String) {
    pairs.sort_by(|one, other| one.ratio().total_cmp(&other.ratio()));
    let lost: Vec<String> =
        pairs.iter().filter(|pair| pair.ours >= pair.theirs).map(CellPair::text).collect();
    match pairs.first() {
        None => (TargetStatus::NotMeasured, "not every cell was counted".into()),
        Some(closest) if lost.is_empty() => {
            (TargetStatus::Met, format!("all {} cells, closest: {}", pairs.len(), closest.text()))
        }
        Some(_) => {
            let share = format!("not in {} of {} cells", lost.len(), pairs.len());
            (TargetStatus::Missed, format!("{share}: {}", lost.join("; ")))
        }
    }
}

fn next_geomean(results: &BenchResults, zone: BenchZone, max: f64) -> BenchTarget {
    let cells = results.ours().cells(Operation::Next, zone);
    let mean = geomean(cells.map(|(_, cell)| cell.instructions()));
    BenchTarget {
        what: format!("next, {}: geomean at most {max:.0} instructions", zone.name()),
        measured: mean.map_or("-".into(), |mean| format!("{mean:.0}")),
        status: mean.map_or(TargetStatus::NotMeasured, |mean| TargetStatus::of(mean <= max)),
        is_exact: true,
    }
}

fn since_1970(results: &BenchResults) -> BenchTarget {
    let operations =
        BenchZone::ALL.iter().flat_map(|zone| SINCE_1970.map(|(operation, _)| (operation, *zone)));
    let slowest: Option<f64> = operations
        .map(|(operation, zone)| results.ours().cells(operation, zone).next()?.1.nanoseconds())
        .try_fold(0.0, |slowest: f64, nanoseconds| Some(slowest.max(nanoseconds?)));
    BenchTarget {
        what: format!("last run 1970, every minute: at most {NANOSECONDS_MAX:.0} ns"),
        measured: slowest.map_or("-".into(), |slowest| format!("slowest {slowest:.0} ns")),
        status: slowest
            .map_or(TargetStatus::NotMeasured, |ns| TargetStatus::of(ns <= NANOSECONDS_MAX)),
        is_exact: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(status: TargetStatus, is_exact: bool) -> BenchTarget {
        BenchTarget { what: String::new(), measured: String::new(), status, is_exact }
    }

    fn check(pairs: &[(f64, f64)], status: TargetStatus, measured: &str) {
        let pair = |&(ours, theirs): &(f64, f64)| CellPair { what: "a peer".into(), ours, theirs };
        assert_eq!(judge(pairs.iter().map(pair).collect()), (status, String::from(measured)));
    }

    #[test]
    fn the_target_needs_fewer_instructions_in_every_cell() {
        let closest = "all 2 cells, closest: 5 against 6 of a peer";
        check(&[(1.0, 9.0), (5.0, 6.0)], TargetStatus::Met, closest);
        let lost = "not in 1 of 2 cells: 6 against 6 of a peer";
        check(&[(1.0, 9.0), (6.0, 6.0)], TargetStatus::Missed, lost);
        check(&[], TargetStatus::NotMeasured, "not every cell was counted");
    }

    #[test]
    fn only_exact_targets_fail_the_benchmark() {
        assert!(any_missed(
            &[target(TargetStatus::Met, true), target(TargetStatus::Missed, true)],
            true
        ));
        assert!(!any_missed(
            &[target(TargetStatus::Met, true), target(TargetStatus::Missed, false)],
            true
        ));
    }

    #[test]
    fn an_unmeasured_target_fails_the_benchmark_only_with_valgrind() {
        assert!(any_missed(&[target(TargetStatus::NotMeasured, true)], true));
        assert!(!any_missed(&[target(TargetStatus::NotMeasured, true)], false));
    }

    #[test]
    fn a_geomean_needs_all_values() {
        assert_eq!(geomean([Some(2.0), Some(8.0)].into_iter()).map(f64::round), Some(4.0));
        assert_eq!(geomean([Some(2.0), None].into_iter()), None);
        assert_eq!(geomean([].into_iter()), None);
    }
}
