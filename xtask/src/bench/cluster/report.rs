//! The table of the controllers, and whether the targets are met.

use std::fmt::Write;

use super::{ControllerResults, MeasuredController};
use crate::bench::{
    burst::run::BurstResults,
    table::{mebibytes, milliseconds},
};

/// A measured value, and the largest allowed ratio of ours to the others.
struct Figure {
    name: &'static str,
    unit: &'static str,
    read: fn(&BurstResults) -> Option<f64>,
    /// The limit relative to the tuned kube-controller-manager.
    of_tuned: Option<f64>,
    /// The limit relative to kube-controller-manager with its defaults.
    of_default: Option<f64>,
}

const FIGURES: [Figure; 10] = [
    Figure::new("skew p50", "ms", |it| Some(milliseconds(it.skews.percentile(50)))),
    Figure::new("skew p99", "ms", |it| Some(milliseconds(it.skews.percentile(99))))
        .at_most(0.5, 0.05),
    Figure::new("skew max", "ms", |it| Some(milliseconds(it.skews.max()))),
    Figure::new("Jobs a second", "/s", |it| Some(it.per_second())),
    Figure::new("statuses written after", "ms", |it| it.recorded.map(milliseconds)),
    Figure::new("statuses not written", "", |it| Some(it.unrecorded as f64)),
    Figure::new("no more writes after", "ms", |it| Some(milliseconds(it.quiet))),
    Figure::new("processor time", "ms", |it| Some(milliseconds(it.processor))).at_most(0.5, 0.5),
    Figure::new("memory after", "MiB", |it| Some(mebibytes(it.memory))).at_most(0.25, 0.25),
    Figure::new("peak memory", "MiB", |it| Some(mebibytes(it.peak))).at_most(0.25, 0.25),
];

impl Figure {
    const fn new(
        name: &'static str,
        unit: &'static str,
        read: fn(&BurstResults) -> Option<f64>,
    ) -> Figure {
        Figure { name, unit, read, of_tuned: None, of_default: None }
    }

    const fn at_most(self, of_tuned: f64, of_default: f64) -> Figure {
        Figure { of_tuned: Some(of_tuned), of_default: Some(of_default), ..self }
    }

    fn value(&self, which: MeasuredController, results: &ControllerResults) -> Option<f64> {
        let found = results.iter().find(|(controller, _)| *controller == which);
        found.and_then(|(_, results)| (self.read)(results))
    }

    /// The ratio of our value to another's, and whether it is within the limit.
    fn ratio(
        &self,
        other: MeasuredController,
        limit: Option<f64>,
        results: &ControllerResults,
    ) -> Option<String> {
        let ours = self.value(MeasuredController::Ours, results)?;
        let ratio = ours / self.value(other, results)?;
        Some(match limit {
            None if ratio.is_nan() => String::new(),
            None => format!("{ratio:.3}"),
            Some(limit) if ratio <= limit => format!("{ratio:.3}, at most {limit}: met"),
            Some(limit) => format!("{ratio:.3}, at most {limit}: MISSED"),
        })
    }
}

/// Renders all rows.
pub(super) fn table(count: usize, results: &ControllerResults) -> String {
    let mut text = format!("\n{count} CronJobs due in one minute, on one kube-apiserver\n");
    let names = MeasuredController::ALL.map(MeasuredController::name).map(str::to_owned);
    text.push_str(&line("", "", &names, "to tuned", "to defaults"));
    for figure in &FIGURES {
        let cells = MeasuredController::ALL.map(|which| match figure.value(which, results) {
            Some(value) => format!("{value:.1}"),
            None => "-".to_owned(),
        });
        let tuned =
            figure.ratio(MeasuredController::Tuned, figure.of_tuned, results).unwrap_or_default();
        let default = figure
            .ratio(MeasuredController::Default, figure.of_default, results)
            .unwrap_or_default();
        text.push_str(&line(figure.name, figure.unit, &cells, &tuned, &default));
    }
    text
}

fn line(name: &str, unit: &str, cells: &[String; 3], tuned: &str, default: &str) -> String {
    let [ours, manager, manager_default] = cells;
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = write!(
        text,
        "{name:<28} {ours:>10} {manager:>12} {manager_default:>14} {unit:<4} {tuned:<26} {default}"
    );
    format!("{}\n", text.trim_end())
}
