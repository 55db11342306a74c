//! A table with our values, those of the peers, their ratios and the targets.

use std::time::Duration;

use punctual_e2e::load::latency::Latencies;

/// A value that is measured on every program of a comparison.
pub(super) struct Figure<R> {
    name: String,
    unit: &'static str,
    read: ReadFigure<R>,
    target: Option<Target>,
}

/// Reads a value from the results of a program; `None` if it was not measured.
type ReadFigure<R> = Box<dyn Fn(&R) -> Option<f64>>;

/// What our value must be.
pub(super) enum Target {
    AtMost(f64),
    /// At most this ratio to each peer.
    RatioAtMost(&'static [f64]),
    /// At least this ratio to the peer.
    RatioAtLeast(f64),
}

/// The results of one program; `None` if it was not measured.
pub(super) struct ResultColumn<'a, R> {
    pub(super) name: &'a str,
    pub(super) results: Option<&'a R>,
}

impl<R> Figure<R> {
    pub(super) fn new(
        name: impl Into<String>,
        unit: &'static str,
        read: impl Fn(&R) -> Option<f64> + 'static,
    ) -> Self {
        Figure { name: name.into(), unit, read: Box::new(read), target: None }
    }

    /// A duration in milliseconds.
    pub(super) fn time(
        name: impl Into<String>,
        read: impl Fn(&R) -> Option<Duration> + 'static,
    ) -> Self {
        Figure::new(name, "ms", move |results| read(results).map(milliseconds))
    }

    /// A size in MiB.
    pub(super) fn memory(
        name: impl Into<String>,
        read: impl Fn(&R) -> Option<u64> + 'static,
    ) -> Self {
        Figure::new(name, "MiB", move |results| read(results).map(mebibytes))
    }

    /// The median, a high percentile and the maximum of durations.
    pub(super) fn latencies(
        name: &str,
        read: impl Fn(&R) -> Option<&Latencies> + Copy + 'static,
    ) -> [Self; 3] {
        let percentile = |percent| {
            Figure::time(format!("{name} p{percent}"), move |results| {
                Some(read(results)?.percentile(percent))
            })
        };
        let max = Figure::time(format!("{name} max"), move |results| Some(read(results)?.max()));
        [percentile(50), percentile(99), max]
    }

    pub(super) fn with_target(self, target: Target) -> Self {
        Figure { target: Some(target), ..self }
    }
}

pub(super) fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

pub(super) fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// Renders a header and all figures. Our column is the first.
pub(super) fn render<R>(columns: &[ResultColumn<'_, R>], figures: &[Figure<R>]) -> String {
    let mut text = format!("{:<34}", "");
    for (at, column) in columns.iter().enumerate() {
        text += &format!(" {:>14}{}", column.name, if at == 0 { "     " } else { "    ratio" });
    }
    text.push('\n');
    for figure in figures {
        let values: Vec<Option<f64>> =
            columns.iter().map(|column| column.results.and_then(&figure.read)).collect();
        text += figure.line(&values).trim_end();
        text.push('\n');
    }
    text
}

impl<R> Figure<R> {
    fn line(&self, values: &[Option<f64>]) -> String {
        let number = |value: Option<f64>| value.map_or("-".to_owned(), |it| format!("{it:.2}"));
        let ours = values.first().copied().flatten();
        let mut ratios = Vec::new();
        let mut line = format!("{:<34} {:>14} {:<4}", self.name, number(ours), self.unit);
        for peer in values.iter().skip(1) {
            let ratio = ours.zip(*peer).map(|(ours, peer)| ours / peer);
            line += &format!(" {:>14} {:>8}", number(*peer), number(ratio));
            ratios.push(ratio);
        }
        match &self.target {
            Some(target) => line + "   " + &target.describe(ours, &ratios),
            None => line,
        }
    }
}

impl Target {
    /// The target and whether it is met.
    fn describe(&self, ours: Option<f64>, ratios: &[Option<f64>]) -> String {
        let verdict = |is_met: Option<bool>| match is_met {
            Some(true) => "met",
            Some(false) => "MISSED",
            None => "not measured",
        };
        match self {
            Target::AtMost(max) => {
                format!("<= {max}: {}", verdict(ours.map(|value| value <= *max)))
            }
            Target::RatioAtLeast(min) => {
                let ratio = ratios.first().copied().flatten();
                format!(">= {min} x: {}", verdict(ratio.map(|ratio| ratio >= *min)))
            }
            Target::RatioAtMost(limits) => {
                let each = limits.iter().enumerate().map(|(at, max)| {
                    let ratio = ratios.get(at).copied().flatten();
                    format!("<= {max} x: {}", verdict(ratio.map(|ratio| ratio <= *max)))
                });
                each.collect::<Vec<_>>().join(", ")
            }
        }
    }
}
