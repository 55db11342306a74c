//! The table of the server benchmark.

use std::time::Duration;

use punctual_e2e::load::create::CreateResults;

use super::{
    super::table::{ComparisonRow, mebibytes, milliseconds, render},
    results::ServerResults,
};

const CREATES_RATIO_MIN: f64 = 5.0;
const MEMORY_RATIO_MAX: f64 = 0.1;
const COLD_START_MAX: Duration = Duration::from_millis(100);
const COLD_START_FULL_MAX: Duration = Duration::from_secs(3);
/// The number of clients that the target of creates is for.
const CLIENTS: usize = 16;

/// Renders all rows.
pub(super) fn table(ours: &ServerResults, peer: &ServerResults, stored: usize) -> String {
    let mut rows = cold_start_rows(ours, peer, stored);
    for created in if ours.created.is_empty() { &peer.created } else { &ours.created } {
        rows.extend(create_rows(ours, peer, created.clients));
    }
    rows.push(row("processor per create, last phase", ours, peer, |results| {
        results.processor_per_create
    }));
    rows.extend(list_rows(ours, peer));
    rows.extend(watch_rows(ours, peer));
    rows.extend(memory_rows(ours, peer));
    render(&rows)
}

fn cold_start_rows(
    ours: &ServerResults,
    peer: &ServerResults,
    stored: usize,
) -> Vec<ComparisonRow> {
    let empty = row("cold start, empty", ours, peer, |results| results.cold_start);
    let full =
        row(&format!("cold start, {stored} stored"), ours, peer, |results| results.cold_start_full);
    let below = |row: ComparisonRow, duration: Option<Duration>, max: Duration| {
        row.with_target(format!("< {max:?}"), duration.map(|duration| duration < max))
    };
    vec![
        below(empty, ours.cold_start, COLD_START_MAX),
        below(full, ours.cold_start_full, COLD_START_FULL_MAX),
    ]
}

fn create_rows(ours: &ServerResults, peer: &ServerResults, clients: usize) -> Vec<ComparisonRow> {
    let of = |results: &ServerResults, what: fn(&CreateResults) -> f64| {
        results.created_by(clients).map(what)
    };
    let both = |name: &str, unit, what: fn(&CreateResults) -> f64| {
        ComparisonRow::new(
            format!("{name}, {clients} clients"),
            of(ours, what),
            of(peer, what),
            unit,
        )
    };
    let mut rate = both("creates", "/s", CreateResults::per_second);
    if clients == CLIENTS {
        let is_met = rate.ratio().map(|ratio| ratio >= CREATES_RATIO_MIN);
        rate = rate.with_target(format!(">= {CREATES_RATIO_MIN} x"), is_met);
    }
    vec![
        rate,
        both("create p50", "ms", |created| milliseconds(created.latencies.percentile(50))),
        both("create p99", "ms", |created| milliseconds(created.latencies.percentile(99))),
    ]
}

fn list_rows(ours: &ServerResults, peer: &ServerResults) -> Vec<ComparisonRow> {
    let bytes = |results: &ServerResults| {
        results.listed.as_ref().map(|listed| mebibytes(listed.bytes as u64))
    };
    vec![
        row("list p50", ours, peer, |results| {
            Some(results.listed.as_ref()?.latencies.percentile(50))
        }),
        row("list max", ours, peer, |results| Some(results.listed.as_ref()?.latencies.max())),
        ComparisonRow::new("list size", bytes(ours), bytes(peer), "MiB"),
    ]
}

fn watch_rows(ours: &ServerResults, peer: &ServerResults) -> Vec<ComparisonRow> {
    let Some(watched) = ours.watched.as_ref().or(peer.watched.as_ref()) else { return Vec::new() };
    let name = format!("event at {} watches", watched.load.watches);
    let rate = |results: &ServerResults| {
        let watched = results.watched.as_ref()?;
        Some(watched.latencies.count() as f64 / watched.duration.as_secs_f64())
    };
    let at = |percent| {
        move |results: &ServerResults| Some(results.watched.as_ref()?.latencies.percentile(percent))
    };
    vec![
        row(&format!("{name}, p50"), ours, peer, at(50)),
        row(&format!("{name}, p99"), ours, peer, at(99)),
        ComparisonRow::new("events delivered", rate(ours), rate(peer), "/s"),
    ]
}

fn memory_rows(ours: &ServerResults, peer: &ServerResults) -> Vec<ComparisonRow> {
    let phases = if ours.memory.is_empty() { &peer.memory } else { &ours.memory };
    let row_of = |phase: &str| {
        let of = |results: &ServerResults| results.memory_after(phase).map(mebibytes);
        let row = ComparisonRow::new(format!("memory after {phase}"), of(ours), of(peer), "MiB");
        let is_met = row.ratio().map(|ratio| ratio <= MEMORY_RATIO_MAX);
        row.with_target(format!("<= {MEMORY_RATIO_MAX} x"), is_met)
    };
    phases.iter().map(|(phase, _)| row_of(phase)).collect()
}

fn row(
    name: &str,
    ours: &ServerResults,
    peer: &ServerResults,
    what: impl Fn(&ServerResults) -> Option<Duration>,
) -> ComparisonRow {
    let of = |results| what(results).map(milliseconds);
    ComparisonRow::new(name, of(ours), of(peer), "ms")
}

#[cfg(test)]
mod tests {
    use punctual_e2e::load::latency::Latencies;

    use super::*;

    fn results(duration_ms: u64, bytes: u64) -> ServerResults {
        let latencies = Latencies::new(vec![Duration::from_millis(duration_ms); 10]);
        let duration = Duration::from_millis(duration_ms * 10);
        ServerResults {
            cold_start: Some(Duration::from_millis(duration_ms)),
            created: vec![CreateResults { clients: CLIENTS, latencies, duration }],
            memory: vec![("start", bytes)],
            ..ServerResults::default()
        }
    }

    #[test]
    fn targets_are_met_or_missed() {
        let text = table(&results(1, 1 << 20), &results(10, 5 << 20), 7);
        let line = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap();
        assert!(line("creates, 16").ends_with("10.00   >= 5 x: met"), "{text}");
        assert!(line("memory after start").ends_with("0.20   <= 0.1 x: MISSED"), "{text}");
        assert!(line("cold start, empty").ends_with("< 100ms: met"), "{text}");
        assert!(line("cold start, 7 stored").ends_with("< 3s: not measured"), "{text}");
    }

    #[test]
    fn a_missing_server_has_dashes() {
        let text = table(&ServerResults::default(), &results(10, 1 << 20), 7);
        let line = text.lines().find(|line| line.starts_with("creates, 16")).unwrap();
        assert!(line.contains(" - ") && line.ends_with("not measured"), "{text}");
    }
}
