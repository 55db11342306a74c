//! What the bursts measured, beside what is wanted.

use std::time::Duration;

use super::{
    super::{
        latency::Latencies,
        table::{Row, mebibytes, milliseconds, render},
    },
    many::Results,
};

const BURST_P99_MAX: Duration = Duration::from_secs(2);
const ALONE_MAX: Duration = Duration::from_millis(10);

/// Ours and the peer's.
type Both<'a> = (Option<&'a Results>, Option<&'a Results>);

/// All lines.
pub(super) fn table(count: usize, both: Both<'_>, alone: Option<&Latencies>) -> String {
    let mut rows = skews(count, both);
    rows.extend(costs(both));
    rows.extend(both.0.into_iter().flat_map(own));
    rows.extend(alone.into_iter().flat_map(alone_rows));
    render(&rows)
}

fn skews(count: usize, both: Both<'_>) -> Vec<Row> {
    let at = |percent| move |results: &Results| milliseconds(results.skews.percentile(percent));
    let p99 = both.0.map(|results| results.skews.percentile(99));
    let wanted = format!("<= {BURST_P99_MAX:?}");
    vec![
        row("skew p50", both, "ms", at(50)),
        row("skew p99", both, "ms", at(99))
            .with_target(wanted, p99.map(|p99| p99 <= BURST_P99_MAX)),
        row("skew max", both, "ms", |results| milliseconds(results.skews.max())),
        row(&format!("Jobs, {count} at once"), both, "/s", Results::per_second),
    ]
}

fn costs(both: Both<'_>) -> Vec<Row> {
    let recorded = |results: &Results| results.recorded.map(milliseconds);
    let unrecorded = |results: &Results| results.unrecorded as f64;
    vec![
        Row::new(
            "statuses written after",
            both.0.and_then(recorded),
            both.1.and_then(recorded),
            "ms",
        ),
        row("statuses not written", both, "", unrecorded),
        row("no more writes after", both, "ms", |results| milliseconds(results.quiet)),
        row("processor time", both, "ms", |results| milliseconds(results.processor)),
        row("memory after", both, "MiB", |results| mebibytes(results.memory)),
    ]
}

/// What the server itself says.
fn own(results: &Results) -> Vec<Row> {
    let at = |percent| {
        let seconds = results.own_skews.as_ref().and_then(|skews| skews.percentile(percent));
        seconds.map(|seconds| seconds * 1e3)
    };
    let line =
        |name: &str, value| Row::new(format!("its own skew {name}, at most"), value, None, "ms");
    vec![line("p50", at(50.0)), line("p99", at(99.0)), line("max", at(100.0))]
}

fn alone_rows(skews: &Latencies) -> [Row; 2] {
    let line = |name: &str, skew| Row::new(name, Some(milliseconds(skew)), None, "ms");
    let is_met = Some(skews.max() <= ALONE_MAX);
    [
        line("skew of one alone p50", skews.percentile(50)),
        line("skew of one alone max", skews.max()).with_target(format!("<= {ALONE_MAX:?}"), is_met),
    ]
}

fn row(name: &str, both: Both<'_>, unit: &'static str, what: impl Fn(&Results) -> f64) -> Row {
    Row::new(name, both.0.map(&what), both.1.map(&what), unit)
}
