//! Charts as SVG, written by hand. Colours come from classes, and each kind of slot has a shape of its own.

mod bars;
mod cell;
mod heat_map;
mod strip;
mod timeline;

pub(crate) use self::bars::{BarChart, ChartBar, Threshold, bar_chart, sparkline};
pub(crate) use self::cell::legend;
pub(crate) use self::heat_map::{heat_map, minute_chart};
pub(crate) use self::strip::{mini_strip, slot_strip};
pub(crate) use self::timeline::{TimeMark, TimeSpan, slot_times, ticks, timeline};

/// Formats a coordinate with at most two decimals.
fn coordinate(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
