//! The controllers side by side, and whether the targets are met.

use std::fmt::Write;

use super::{Measured, Who};
use crate::bench::{
    burst::many::Results,
    table::{mebibytes, milliseconds},
};

/// A figure, and how much of each of the others' is allowed.
struct Figure {
    name: &'static str,
    unit: &'static str,
    read: fn(&Results) -> Option<f64>,
    /// Of the tuned one's.
    of_tuned: Option<f64>,
    /// Of the one's that is as it comes.
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
    Figure::new("memory, the most", "MiB", |it| Some(mebibytes(it.peak))).at_most(0.25, 0.25),
];

impl Figure {
    const fn new(
        name: &'static str,
        unit: &'static str,
        read: fn(&Results) -> Option<f64>,
    ) -> Figure {
        Figure { name, unit, read, of_tuned: None, of_default: None }
    }

    const fn at_most(self, of_tuned: f64, of_default: f64) -> Figure {
        Figure { of_tuned: Some(of_tuned), of_default: Some(of_default), ..self }
    }

    fn of(&self, who: Who, measured: &Measured) -> Option<f64> {
        measured.iter().find(|(of, _)| *of == who).and_then(|(_, results)| (self.read)(results))
    }

    /// How ours relates to another's, and whether that is little enough.
    fn verdict(&self, other: Who, limit: Option<f64>, measured: &Measured) -> Option<String> {
        let ratio = self.of(Who::Ours, measured)? / self.of(other, measured)?;
        Some(match limit {
            None if ratio.is_nan() => String::new(),
            None => format!("{ratio:.3}"),
            Some(limit) if ratio <= limit => format!("{ratio:.3}, at most {limit}: met"),
            Some(limit) => format!("{ratio:.3}, at most {limit}: MISSED"),
        })
    }
}

/// All lines.
pub(super) fn table(count: usize, measured: &Measured) -> String {
    let mut text = format!("\n{count} CronJobs due in one minute, on one kube-apiserver\n");
    let names = Who::ALL.map(Who::name).map(str::to_owned);
    text.push_str(&line("", "", &names, "to tuned", "to defaults"));
    for figure in &FIGURES {
        let cells = Who::ALL.map(|who| match figure.of(who, measured) {
            Some(value) => format!("{value:.1}"),
            None => "-".to_owned(),
        });
        let tuned = figure.verdict(Who::Tuned, figure.of_tuned, measured).unwrap_or_default();
        let default = figure.verdict(Who::Default, figure.of_default, measured).unwrap_or_default();
        text.push_str(&line(figure.name, figure.unit, &cells, &tuned, &default));
    }
    text
}

fn line(name: &str, unit: &str, cells: &[String; 3], tuned: &str, default: &str) -> String {
    let [ours, manager, as_it_comes] = cells;
    let mut text = String::new();
    // Writing into a String cannot fail.
    let _written = write!(
        text,
        "{name:<28} {ours:>10} {manager:>12} {as_it_comes:>14} {unit:<4} {tuned:<26} {default}"
    );
    format!("{}\n", text.trim_end())
}
