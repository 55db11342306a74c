//! The table of burst measurements and their targets.

use std::time::Duration;

use punctual_e2e::load::latency::Latencies;

use super::{
    super::table::{ComparisonRow, mebibytes, milliseconds, render},
    run::BurstResults,
};

const BURST_P99_MAX: Duration = Duration::from_secs(2);
const SINGLE_MAX: Duration = Duration::from_millis(10);

/// The results of both servers.
pub(super) struct BurstComparison<'a> {
    pub(super) count: usize,
    pub(super) ours: &'a BurstResults,
    pub(super) peer: Option<&'a BurstResults>,
}

/// Renders all rows.
pub(super) fn table(both: &BurstComparison<'_>, single: Option<&Latencies>) -> String {
    let mut rows = skew_rows(both);
    rows.extend(cost_rows(both));
    rows.extend(own_metrics_rows(both.ours));
    rows.extend(single.into_iter().flat_map(single_rows));
    render(&rows)
}

fn skew_rows(both: &BurstComparison<'_>) -> Vec<ComparisonRow> {
    let at =
        |percent| move |results: &BurstResults| milliseconds(results.skews.percentile(percent));
    let p99 = both.ours.skews.percentile(99);
    let target = format!("<= {BURST_P99_MAX:?}");
    vec![
        row("skew p50", both, "ms", at(50)),
        row("skew p99", both, "ms", at(99)).with_target(target, Some(p99 <= BURST_P99_MAX)),
        row("skew max", both, "ms", |results| milliseconds(results.skews.max())),
        row(&format!("Jobs, {} at once", both.count), both, "/s", BurstResults::per_second),
    ]
}

fn cost_rows(both: &BurstComparison<'_>) -> Vec<ComparisonRow> {
    let recorded = |results: &BurstResults| results.recorded.map(milliseconds);
    let unrecorded = |results: &BurstResults| results.unrecorded as f64;
    vec![
        ComparisonRow::new(
            "statuses written after",
            recorded(both.ours),
            both.peer.and_then(recorded),
            "ms",
        ),
        row("statuses not written", both, "", unrecorded),
        row("no more writes after", both, "ms", |results| milliseconds(results.quiet)),
        row("processor time", both, "ms", |results| milliseconds(results.processor)),
        row("memory after", both, "MiB", |results| mebibytes(results.memory)),
    ]
}

/// The skews in the server's own metrics.
fn own_metrics_rows(results: &BurstResults) -> Vec<ComparisonRow> {
    let at = |percent| {
        let seconds = results.own_skews.as_ref().and_then(|skews| skews.percentile(percent));
        seconds.map(|seconds| seconds * 1e3)
    };
    let line = |name: &str, value| {
        ComparisonRow::new(format!("skew in own metrics {name}, at most"), value, None, "ms")
    };
    vec![line("p50", at(50.0)), line("p99", at(99.0)), line("max", at(100.0))]
}

fn single_rows(skews: &Latencies) -> [ComparisonRow; 2] {
    let line = |name: &str, skew| ComparisonRow::new(name, Some(milliseconds(skew)), None, "ms");
    let is_met = Some(skews.max() <= SINGLE_MAX);
    [
        line("single skew p50", skews.percentile(50)),
        line("single skew max", skews.max()).with_target(format!("<= {SINGLE_MAX:?}"), is_met),
    ]
}

fn row(
    name: &str,
    both: &BurstComparison<'_>,
    unit: &'static str,
    value: impl Fn(&BurstResults) -> f64,
) -> ComparisonRow {
    ComparisonRow::new(name, Some(value(both.ours)), both.peer.map(&value), unit)
}
