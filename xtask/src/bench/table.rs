//! Ours, the peer's, their ratio, and whether the target is met.

use std::{fmt::Write, time::Duration};

/// One line.
pub(super) struct Row {
    name: String,
    ours: Option<f64>,
    peer: Option<f64>,
    unit: &'static str,
    /// What must hold, in words, and whether it does; `None` while it cannot be known.
    target: Option<(String, Option<bool>)>,
}

impl Row {
    pub(super) fn new(
        name: impl Into<String>,
        ours: Option<f64>,
        peer: Option<f64>,
        unit: &'static str,
    ) -> Self {
        Row { name: name.into(), ours, peer, unit, target: None }
    }

    pub(super) fn ratio(&self) -> Option<f64> {
        Some(self.ours? / self.peer?)
    }

    pub(super) fn with_target(mut self, words: String, is_met: Option<bool>) -> Self {
        self.target = Some((words, is_met));
        self
    }
}

pub(super) fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

pub(super) fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// All lines, below a head.
pub(super) fn render(rows: &[Row]) -> String {
    let head = ["", "punctual", "kube-apiserver", "", "ratio", "target"];
    let mut text = line(&head.map(str::to_owned));
    for row in rows {
        let number =
            |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.2}"));
        let target = row.target.as_ref().map(|(words, is_met)| {
            let verdict = match is_met {
                Some(true) => "met",
                Some(false) => "MISSED",
                None => "not measured",
            };
            format!("{words}: {verdict}")
        });
        text.push_str(&line(&[
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

fn line(cells: &[String; 6]) -> String {
    let [name, ours, peer, unit, ratio, target] = cells;
    let mut text = String::new();
    // Writing into a String cannot fail.
    let _written = write!(text, "{name:<34} {ours:>10} {peer:>15} {unit:<4} {ratio:>8}   {target}");
    format!("{}\n", text.trim_end())
}
