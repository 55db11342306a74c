//! Formats the results of the cluster benchmark, and whether the targets are met.

use super::{ControllerResults, MeasuredController};
use crate::bench::{
    burst::{report::cost_figures, run::BurstResults},
    table::{Figure, ResultColumn, Target, render},
};

/// The largest allowed ratios to the tuned kube-controller-manager and to that with its defaults.
const SKEW_RATIOS: [f64; 2] = [0.5, 0.05];
const PROCESSOR_RATIOS: [f64; 2] = [0.5, 0.5];
const MEMORY_RATIOS: [f64; 2] = [0.25, 0.25];

/// Renders all rows.
pub(super) fn table(count: usize, results: &ControllerResults) -> String {
    let columns = MeasuredController::ALL.map(|which| {
        let found = results.iter().find(|(controller, _)| *controller == which);
        ResultColumn { name: which.name(), results: found.map(|(_, results)| results) }
    });
    let title = format!("\n{count} CronJobs due in one minute, on one kube-apiserver\n");
    title + &render(&columns, &figures())
}

fn figures() -> Vec<Figure<BurstResults>> {
    let [p50, p99, max] = Figure::latencies("skew", |it: &BurstResults| Some(&it.skews));
    let mut figures = vec![p50, p99.with_target(Target::RatioAtMost(&SKEW_RATIOS)), max];
    figures.extend(cost_figures("Jobs a second"));
    let processor = figures.pop().map(|it| it.with_target(Target::RatioAtMost(&PROCESSOR_RATIOS)));
    figures.extend(processor);
    for (name, read) in [
        ("memory after", (|it: &BurstResults| Some(it.memory)) as fn(&BurstResults) -> Option<u64>),
        ("peak memory", |it| Some(it.peak)),
    ] {
        let memory = Figure::memory(name, read);
        figures.push(memory.with_target(Target::RatioAtMost(&MEMORY_RATIOS)));
    }
    figures
}
