//! Bars over time: how long runs took, and how late they started.

use maud::{Markup, html};

use super::coordinate;

const HEIGHT: f64 = 132.0;
const TOP: f64 = 12.0;
const BASE: f64 = 112.0;
const LEFT: f64 = 52.0;
const WIDTH: f64 = 940.0;
const BAR_MAX: f64 = 14.0;

/// One bar.
#[derive(Clone, Debug)]
pub(crate) struct ChartBar {
    pub(crate) value: f64,
    pub(crate) is_failure: bool,
    pub(crate) title: String,
    pub(crate) href: String,
}

/// A line across the chart.
#[derive(Clone, Debug)]
pub(crate) struct Threshold {
    pub(crate) value: f64,
    pub(crate) label: String,
}

/// Bars, oldest first.
pub(crate) struct BarChart<'a> {
    pub(crate) label: &'a str,
    pub(crate) bars: &'a [ChartBar],
    /// Formats a value of the axis.
    pub(crate) format: &'a dyn Fn(f64) -> String,
    pub(crate) median: Option<Threshold>,
}

/// Draws bars. A failed one has a mark above it.
pub(crate) fn bar_chart(chart: &BarChart<'_>) -> Markup {
    let highest = chart.bars.iter().map(|bar| bar.value).fold(0.0, f64::max);
    let top = nice_ceiling(highest * 1.1);
    let scale = |value: f64| (BASE - TOP) * (value / top).clamp(0.0, 1.0);
    let step = (WIDTH - LEFT - 4.0) / (chart.bars.len().max(20)) as f64;
    let width = (step * 0.72).min(BAR_MAX);
    let axis = [0.0, top / 2.0, top];
    html! {
        svg.chart width=(coordinate(WIDTH)) height=(coordinate(HEIGHT)) viewBox={ "0 0 " (coordinate(WIDTH)) " " (coordinate(HEIGHT)) }
            role="group" aria-label=(chart.label) {
            @for value in axis {
                line.grid x1=(coordinate(LEFT)) x2=(coordinate(WIDTH)) y1=(coordinate(BASE - scale(value))) y2=(coordinate(BASE - scale(value))) {}
                text.axis-label x=(coordinate(LEFT - 8.0)) y=(coordinate(BASE - scale(value) + 4.0)) text-anchor="end" { ((chart.format)(value)) }
            }
            @for (index, bar) in chart.bars.iter().enumerate() {
                @let x = LEFT + 4.0 + index as f64 * step;
                @let height = scale(bar.value).max(1.5);
                a href=(bar.href) aria-label=(bar.title) {
                    title { (bar.title) }
                    rect.hit x=(coordinate(x)) y=(coordinate(TOP)) width=(coordinate(step)) height=(coordinate(BASE - TOP)) {}
                    rect class=(if bar.is_failure { "b-fail" } else { "b-ok" }) x=(coordinate(x)) y=(coordinate(BASE - height))
                        width=(coordinate(width)) height=(coordinate(height)) rx="2" {}
                    @if bar.is_failure {
                        path.b-mark d={ "M" (coordinate(x + width / 2.0 - 3.0)) " " (coordinate(BASE - height - 9.0)) "l6 6m0 -6l-6 6" } {}
                    }
                }
            }
            @if let Some(median) = &chart.median {
                line.median x1=(coordinate(LEFT)) x2=(coordinate(WIDTH)) y1=(coordinate(BASE - scale(median.value))) y2=(coordinate(BASE - scale(median.value))) {}
                text.axis-label.median-label x=(coordinate(WIDTH)) y=(coordinate(BASE - scale(median.value) - 4.0)) text-anchor="end" { (median.label) }
            }
        }
    }
}

/// Draws a row of small bars.
pub(crate) fn sparkline(values: &[(f64, bool)]) -> Markup {
    let highest = values.iter().map(|(value, _)| *value).fold(0.0, f64::max).max(1e-9);
    html! {
        svg.spark width="84" height="20" viewBox="0 0 84 20" aria-hidden="true" {
            @for (index, (value, is_failure)) in values.iter().enumerate() {
                @let height = (value / highest * 18.0).max(2.0);
                rect class=(if *is_failure { "b-fail" } else { "b-ok" }) x=(coordinate(index as f64 * 6.0))
                    y=(coordinate(20.0 - height)) width="4.5" height=(coordinate(height)) rx="1" {}
            }
        }
    }
}

/// Returns a round value that is not smaller: 1, 2, 3 or 6 times a power of ten, or of the units of time.
fn nice_ceiling(value: f64) -> f64 {
    const STEPS: [f64; 22] = [
        1.0, 2.0, 4.0, 6.0, 10.0, 20.0, 30.0, 60.0, 120.0, 240.0, 360.0, 600.0, 1200.0, 1800.0,
        3600.0, 7200.0, 14_400.0, 21_600.0, 43_200.0, 86_400.0, 172_800.0, 604_800.0,
    ];
    STEPS.into_iter().find(|step| *step >= value).unwrap_or(value.max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_round_values() {
        for (value, wanted) in [(0.0, 1.0), (3.2, 4.0), (61.0, 120.0), (5_000.0, 7_200.0)] {
            assert!((nice_ceiling(value) - wanted).abs() < 1e-9, "{value}");
        }
    }
}
