//! Formats the results of the server benchmark, with their targets.

use punctual_e2e::load::create::CreateResults;

use super::results::ServerResults;
use crate::bench::table::{Figure, ResultColumn, Target, mebibytes, render};

const CREATES_RATIO_MIN: f64 = 5.0;
const MEMORY_RATIOS_MAX: [f64; 1] = [0.1];
const COLD_START_MAX_MS: f64 = 100.0;
const COLD_START_FULL_MAX_MS: f64 = 3_000.0;
/// The number of clients that the target of creates is for.
const CLIENTS: usize = 16;

/// Renders all rows.
pub(super) fn table(ours: &ServerResults, peer: &ServerResults, stored: usize) -> String {
    // The phases are those of any server that was measured.
    let measured = if ours.created.is_empty() { peer } else { ours };
    let mut figures = vec![
        Figure::time("cold start, empty", |it: &ServerResults| it.cold_start)
            .with_target(Target::AtMost(COLD_START_MAX_MS)),
        Figure::time(format!("cold start, {stored} stored"), |it: &ServerResults| {
            it.cold_start_full
        })
        .with_target(Target::AtMost(COLD_START_FULL_MAX_MS)),
    ];
    figures.extend(measured.created.iter().flat_map(|created| create_figures(created.clients)));
    figures.push(Figure::time("processor per create, last phase", |it: &ServerResults| {
        it.processor_per_create
    }));
    figures.extend(list_figures());
    if let Some(watched) = &measured.watched {
        figures.extend(watch_figures(watched.load.watches));
    }
    figures.extend(measured.memory.iter().map(|(phase, _)| {
        let phase = *phase;
        Figure::memory(format!("memory after {phase}"), move |it: &ServerResults| {
            it.memory_after(phase)
        })
        .with_target(Target::RatioAtMost(&MEMORY_RATIOS_MAX))
    }));
    let columns = [("punctual", ours), ("kube-apiserver", peer)]
        .map(|(name, results)| ResultColumn { name, results: Some(results) });
    render(&columns, &figures)
}

fn create_figures(clients: usize) -> [Figure<ServerResults>; 3] {
    let mut rate =
        Figure::new(format!("creates, {clients} clients"), "/s", move |it: &ServerResults| {
            it.created_by(clients).map(CreateResults::per_second)
        });
    if clients == CLIENTS {
        rate = rate.with_target(Target::RatioAtLeast(CREATES_RATIO_MIN));
    }
    let [p50, p99, _] =
        Figure::latencies(&format!("create, {clients} clients"), move |it: &ServerResults| {
            it.created_by(clients).map(|created| &created.latencies)
        });
    [rate, p50, p99]
}

fn list_figures() -> [Figure<ServerResults>; 3] {
    let [p50, _, max] = Figure::latencies("list", |it: &ServerResults| {
        it.listed.as_ref().map(|listed| &listed.latencies)
    });
    let size = Figure::new("list size", "MiB", |it: &ServerResults| {
        Some(mebibytes(it.listed.as_ref()?.bytes as u64))
    });
    [p50, max, size]
}

fn watch_figures(watches: usize) -> [Figure<ServerResults>; 3] {
    let [p50, p99, _] =
        Figure::latencies(&format!("event at {watches} watches"), |it: &ServerResults| {
            it.watched.as_ref().map(|watched| &watched.latencies)
        });
    let rate = Figure::new("events delivered", "/s", |it: &ServerResults| {
        let watched = it.watched.as_ref()?;
        Some(watched.latencies.count() as f64 / watched.duration.as_secs_f64())
    });
    [p50, p99, rate]
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

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
        assert!(line("cold start, empty").ends_with("<= 100: met"), "{text}");
        assert!(line("cold start, 7 stored").ends_with("<= 3000: not measured"), "{text}");
    }

    #[test]
    fn a_missing_server_has_dashes() {
        let text = table(&ServerResults::default(), &results(10, 1 << 20), 7);
        let line = text.lines().find(|line| line.starts_with("creates, 16")).unwrap();
        assert!(line.contains(" - ") && line.ends_with("not measured"), "{text}");
    }
}
