//! A table with our value, the peer's, their ratio and the target.

use std::{fmt::Write, time::Duration};

/// One row.
pub(super) struct ComparisonRow {
    name: String,
    ours: Option<f64>,
    peer: Option<f64>,
    unit: &'static str,
    /// The text of the target, and whether it is met; `None` if it was not measured.
    target: Option<(String, Option<bool>)>,
}

impl ComparisonRow {
    pub(super) fn new(
        name: impl Into<String>,
        ours: Option<f64>,
        peer: Option<f64>,
        unit: &'static str,
    ) -> Self {
        ComparisonRow { name: name.into(), ours, peer, unit, target: None }
    }

    pub(super) fn ratio(&self) -> Option<f64> {
        Some(self.ours? / self.peer?)
    }

    pub(super) fn with_target(mut self, target: String, is_met: Option<bool>) -> Self {
        self.target = Some((target, is_met));
        self
    }
}

pub(super) fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

pub(super) fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// Renders a header and all rows.
pub(super) fn render(rows: &[ComparisonRow]) -> String {
    let head = ["", "punctual", "kube-apiserver", "", "ratio", "target"];
    let mut text = format_line(&head.map(str::to_owned));
    for row in rows {
        let number =
            |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.2}"));
        let target = row.target.as_ref().map(|(target, is_met)| {
            let result = match is_met {
                Some(true) => "met",
                Some(false) => "MISSED",
                None => "not measured",
            };
            format!("{target}: {result}")
        });
        text.push_str(&format_line(&[
            row.name.clone(),
            number(row.ours),
            number(row.peer),
            row.unit.to_owned(),
            number(row.ratio()),
            target.unwrap_or_default(),
        ]));
    }
    text
}

fn format_line(cells: &[String; 6]) -> String {
    let [name, ours, peer, unit, ratio, target] = cells;
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = write!(text, "{name:<34} {ours:>10} {peer:>15} {unit:<4} {ratio:>8}   {target}");
    format!("{}\n", text.trim_end())
}
