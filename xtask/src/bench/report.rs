//! The report of a benchmark: our figures, those of the peers, their ratios, and the limits.

use std::time::Duration;

use punctual_e2e::load::latency::Latencies;
use serde_json::{Value, json};

/// The figures of one program, in the order of their measurement.
#[derive(Default)]
pub(super) struct Figures(Vec<Figure>);

struct Figure {
    name: String,
    unit: &'static str,
    value: f64,
}

/// What our value must be.
pub(super) enum Limit {
    AtMost(f64),
    AtLeast(f64),
    /// At most this ratio to each peer.
    RatioAtMost(&'static [f64]),
    /// At least this ratio to the first peer.
    RatioAtLeast(f64),
}

impl Figures {
    pub(super) fn add(&mut self, name: impl Into<String>, unit: &'static str, value: f64) {
        self.0.push(Figure { name: name.into(), unit, value });
    }

    pub(super) fn add_time(&mut self, name: impl Into<String>, duration: Duration) {
        self.add(name, "ms", duration.as_secs_f64() * 1e3);
    }

    pub(super) fn add_memory(&mut self, name: impl Into<String>, bytes: u64) {
        self.add(name, "MiB", mebibytes(bytes));
    }

    /// Adds the median, a high percentile and the maximum of durations.
    pub(super) fn add_latencies(&mut self, name: &str, latencies: &Latencies) {
        for percent in [50, 99] {
            self.add_time(format!("{name} p{percent}"), latencies.percentile(percent));
        }
        self.add_time(format!("{name} max"), latencies.max());
    }

    pub(super) fn value(&self, name: &str) -> Option<f64> {
        self.0.iter().find(|figure| figure.name == name).map(|figure| figure.value)
    }
}

pub(super) fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// Renders a line for each figure and each limit. Our column is the first.
pub(super) fn render(columns: &[(&str, &Figures)], limits: &[(&str, Limit)]) -> String {
    let mut rows: Vec<(&str, &str)> = Vec::new();
    let figures = columns.iter().flat_map(|(_, figures)| &figures.0);
    let figures = figures.map(|figure| (figure.name.as_str(), figure.unit));
    for (name, unit) in figures.chain(limits.iter().map(|(name, _)| (*name, ""))) {
        if !rows.iter().any(|(known, _)| *known == name) {
            rows.push((name, unit));
        }
    }
    let mut text = format!("{:<34}", "");
    for (at, (name, _)) in columns.iter().enumerate() {
        text += &format!(" {name:>14}{}", if at == 0 { "     " } else { "    ratio" });
    }
    text.push('\n');
    for (name, unit) in rows {
        let values: Vec<Option<f64>> =
            columns.iter().map(|(_, figures)| figures.value(name)).collect();
        let limit = limits.iter().find(|(limited, _)| *limited == name).map(|(_, limit)| limit);
        text += render_line(name, unit, &values, limit).trim_end();
        text.push('\n');
    }
    text
}

/// The figures of each program by name, for other programs to read.
pub(super) fn to_json(columns: &[(&str, &Figures)]) -> Value {
    let figures = |figures: &Figures| {
        let figures = figures.0.iter();
        let figure = |figure: &Figure| {
            (figure.name.clone(), json!({"value": figure.value, "unit": figure.unit}))
        };
        Value::Object(figures.map(figure).collect())
    };
    let columns = columns.iter().map(|(name, column)| ((*name).to_owned(), figures(column)));
    Value::Object(columns.collect())
}

fn render_line(name: &str, unit: &str, values: &[Option<f64>], limit: Option<&Limit>) -> String {
    let number = |value: Option<f64>| value.map_or("-".to_owned(), |it| format!("{it:.2}"));
    let ours = values.first().copied().flatten();
    let mut ratios = Vec::new();
    let mut line = format!("{name:<34} {:>14} {unit:<4}", number(ours));
    for peer in values.iter().skip(1) {
        let ratio = ours.zip(*peer).map(|(ours, peer)| ours / peer);
        line += &format!(" {:>14} {:>8}", number(*peer), number(ratio));
        ratios.push(ratio);
    }
    match limit {
        Some(limit) => line + "   " + &limit.describe(ours, &ratios),
        None => line,
    }
}

impl Limit {
    /// The limit and whether it is kept.
    fn describe(&self, ours: Option<f64>, ratios: &[Option<f64>]) -> String {
        let verdict = |is_kept: Option<bool>| match is_kept {
            Some(true) => "met",
            Some(false) => "MISSED",
            None => "not measured",
        };
        let ratio = |at: usize| ratios.get(at).copied().flatten();
        match self {
            Limit::AtMost(max) => {
                format!("<= {max}: {}", verdict(ours.map(|value| value <= *max)))
            }
            Limit::AtLeast(min) => {
                format!(">= {min}: {}", verdict(ours.map(|value| value >= *min)))
            }
            Limit::RatioAtLeast(min) => {
                format!(">= {min} x: {}", verdict(ratio(0).map(|ratio| ratio >= *min)))
            }
            Limit::RatioAtMost(limits) => {
                let each = limits.iter().enumerate().map(|(at, max)| {
                    format!("<= {max} x: {}", verdict(ratio(at).map(|ratio| ratio <= *max)))
                });
                each.collect::<Vec<_>>().join(", ")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: [(&str, Limit); 4] = [
        ("creates", Limit::RatioAtLeast(5.0)),
        ("memory", Limit::RatioAtMost(&[0.1])),
        ("cold start", Limit::AtMost(100.0)),
        ("cold start, full", Limit::AtMost(3_000.0)),
    ];

    fn figures(creates: f64, mebibytes: u64) -> Figures {
        let mut figures = Figures::default();
        figures.add("creates", "/s", creates);
        figures.add_memory("memory", mebibytes << 20);
        figures.add_time("cold start", Duration::from_millis(100));
        figures
    }

    fn line(text: &str, name: &str) -> String {
        text.lines().find(|line| line.starts_with(name)).unwrap().to_owned()
    }

    #[test]
    fn limits_are_met_or_missed() {
        let ours = figures(1_000.0, 1);
        let theirs = figures(100.0, 5);
        let text = render(&[("ours", &ours), ("theirs", &theirs)], &LIMITS);
        assert!(line(&text, "creates").ends_with("10.00   >= 5 x: met"), "{text}");
        assert!(line(&text, "memory").ends_with("0.20   <= 0.1 x: MISSED"), "{text}");
        assert!(line(&text, "cold start  ").ends_with("<= 100: met"), "{text}");
        assert!(line(&text, "cold start, full").ends_with("<= 3000: not measured"), "{text}");
    }

    #[test]
    fn a_missing_program_has_dashes() {
        let theirs = figures(100.0, 5);
        let text = render(&[("ours", &Figures::default()), ("theirs", &theirs)], &LIMITS);
        let line = line(&text, "creates");
        assert!(line.contains(" - ") && line.ends_with("not measured"), "{text}");
    }
}
