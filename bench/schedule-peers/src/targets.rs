//! The targets of the benchmark, and whether they are met.

use crate::{
    results::{BenchResults, LibraryResults},
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
    fn from_met(met: bool) -> TargetStatus {
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
    counts_instructions: bool,
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

/// Reports whether a target about instructions is missed. With valgrind, an unmeasured target is missed too.
pub(crate) fn any_missed(targets: &[BenchTarget], has_valgrind: bool) -> bool {
    let missed = |target: &BenchTarget| match target.status {
        TargetStatus::Met => false,
        TargetStatus::Missed => true,
        TargetStatus::NotMeasured => has_valgrind,
    };
    targets.iter().any(|target| target.counts_instructions && missed(target))
}

/// Lists the targets, one on each line.
pub(crate) fn list(targets: &[BenchTarget]) -> String {
    let lines = targets.iter().map(|target| {
        let BenchTarget { what, measured, status, .. } = target;
        format!("- {}: {what} ({measured})\n", status.name())
    });
    format!("**targets**\n\n{}", lines.collect::<String>())
}

/// Returns the geometric mean, or None if a value is missing.
pub(crate) fn geomean(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let logarithms: Vec<f64> = values.map(|value| value.map(f64::ln)).collect::<Option<_>>()?;
    if logarithms.is_empty() {
        return None;
    }
    Some((logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp())
}

/// The figure of our library beside that of another library whose results are correct.
struct PeerComparison {
    what: String,
    ours: f64,
    theirs: f64,
}

impl PeerComparison {
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
    let pairs: Option<Vec<Vec<PeerComparison>>> = pairs.collect();
    let (status, measured) = evaluate(pairs.unwrap_or_default().into_iter().flatten().collect());
    let what = format!(
        "{what}, {}: fewer instructions than every other library with correct results",
        zone.name()
    );
    BenchTarget { what, measured, status, counts_instructions: true }
}

/// Pairs our cells with the correct cells of another library. Returns None if instructions are
/// missing.
fn pairs(
    ours: &LibraryResults,
    peer: &LibraryResults,
    operation: Operation,
    zone: BenchZone,
) -> Option<Vec<PeerComparison>> {
    let pairs = ours.cells(operation, zone).zip(peer.cells(operation, zone));
    let correct = pairs.filter(|(_, (_, theirs))| theirs.is_correct());
    correct
        .map(|((expression, ours), (_, theirs))| {
            let what = format!("{} on `{}`", peer.library.name, expression.text);
            Some(PeerComparison {
                what,
                ours: ours.instructions()?,
                theirs: theirs.instructions()?,
            })
        })
        .collect()
}

fn evaluate(mut pairs: Vec<PeerComparison>) -> (TargetStatus, String) {
    pairs.sort_by(|one, other| one.ratio().total_cmp(&other.ratio()));
    let lost: Vec<String> =
        pairs.iter().filter(|pair| pair.ours >= pair.theirs).map(PeerComparison::text).collect();
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
        status: mean.map_or(TargetStatus::NotMeasured, |mean| TargetStatus::from_met(mean <= max)),
        counts_instructions: true,
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
            .map_or(TargetStatus::NotMeasured, |ns| TargetStatus::from_met(ns <= NANOSECONDS_MAX)),
        counts_instructions: false,
    }
}

#[cfg(test)]
mod tests;
