//! Formats the results of the burst benchmark, with their targets.

use punctual_e2e::load::{latency::Latencies, prometheus_text::Histogram};

use super::{pod_start::PodStartResults, run::BurstResults};
use crate::bench::table::{Figure, ResultColumn, Target, render};

const BURST_P99_MAX_MS: f64 = 2_000.0;
const SINGLE_CRON_JOB_SKEW_MAX_MS: f64 = 10.0;

/// Renders the figures of our server and those of its peer, if that was measured.
pub(super) fn table(count: usize, ours: &BurstResults, peer: Option<&BurstResults>) -> String {
    let mut columns = vec![ResultColumn { name: "punctual", results: Some(ours) }];
    if peer.is_some() {
        columns.push(ResultColumn { name: "kube-apiserver", results: peer });
    }
    let [p50, p99, max] = Figure::latencies("skew", |it: &BurstResults| Some(&it.skews));
    let mut figures = vec![p50, p99.with_target(Target::AtMost(BURST_P99_MAX_MS)), max];
    figures.extend(cost_figures(&format!("Jobs, {count} at once")));
    figures.push(Figure::memory("memory after", |it: &BurstResults| Some(it.memory)));
    for (name, percent) in [("p50", 50.0), ("p99", 99.0), ("max", 100.0)] {
        figures.push(Figure::new(
            format!("skew in own metrics {name}, at most"),
            "ms",
            move |it: &BurstResults| Some(it.own_skews.as_ref()?.percentile(percent)? * 1e3),
        ));
    }
    render(&columns, &figures)
}

/// The figures that all comparisons of bursts have.
pub(in super::super) fn cost_figures(rate_name: &str) -> Vec<Figure<BurstResults>> {
    vec![
        Figure::new(rate_name, "/s", |it: &BurstResults| Some(it.per_second())),
        Figure::time("statuses written after", |it: &BurstResults| it.all_statuses_written),
        Figure::new("statuses not written", "", |it: &BurstResults| {
            Some(it.unwritten_statuses as f64)
        }),
        Figure::time("no more writes after", |it: &BurstResults| Some(it.quiet)),
        Figure::time("processor time", |it: &BurstResults| Some(it.processor)),
    ]
}

/// Renders the skews of a single CronJob.
pub(super) fn single_cron_job_table(skews: &Latencies) -> String {
    let [p50, _, max] =
        Figure::latencies("skew of a single CronJob", |skews: &Latencies| Some(skews));
    let max = max.with_target(Target::AtMost(SINGLE_CRON_JOB_SKEW_MAX_MS));
    render(&[ResultColumn { name: "punctual", results: Some(skews) }], &[p50, max])
}

/// Renders the times of Pods. They are upper bounds, because histograms have no exact values.
pub(super) fn pod_table(pods: &PodStartResults) -> String {
    let figure = |name: &str, select: fn(&PodStartResults) -> &Histogram, percent: f64| {
        Figure::new(format!("{name}, at most"), "ms", move |pods: &PodStartResults| {
            Some(select(pods).percentile(percent)? * 1e3)
        })
    };
    let figures = [
        figure("Pod created after Job p99", |pods| &pods.creation, 99.0),
        figure("Pod start p50", |pods| &pods.start, 50.0),
        figure("Pod start p99", |pods| &pods.start, 99.0),
    ];
    render(&[ResultColumn { name: "punctual", results: Some(pods) }], &figures)
}
