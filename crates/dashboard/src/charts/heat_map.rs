//! The load by hour of the week and by minute of the hour.

use maud::{Markup, html};

use super::coordinate;
use crate::model::LoadMap;

const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
/// How many shades there are. The number of starts is written into the cell, too.
const LEVELS: u32 = 5;
const LEFT: f64 = 44.0;
const CELL_WIDTH: f64 = 37.0;
const CELL_HEIGHT: f64 = 28.0;
const TOP: f64 = 20.0;

/// Draws a cell for each hour of the week.
pub(crate) fn heat_map(map: &LoadMap) -> Markup {
    let counts = map.starts.iter().flatten().copied().filter(|count| *count > 0);
    let scale =
        Scale { lowest: counts.clone().min().unwrap_or(0), highest: counts.max().unwrap_or(0) };
    let width = LEFT + 24.0 * CELL_WIDTH;
    let height = TOP + 7.0 * CELL_HEIGHT;
    html! {
        svg.chart width=(coordinate(width)) height=(coordinate(height)) viewBox={ "0 0 " (coordinate(width)) " " (coordinate(height)) }
            role="img" aria-label="starts by hour of the week" {
            @for hour in 0..24 {
                text.axis-label x=(coordinate(LEFT + f64::from(hour) * CELL_WIDTH + CELL_WIDTH / 2.0)) y="12" text-anchor="middle" { (format!("{hour:02}")) }
            }
            @for (day, name) in DAYS.iter().enumerate() {
                text.axis-label x="0" y=(coordinate(TOP + day as f64 * CELL_HEIGHT + 18.0)) { (name) }
                @for hour in 0..24 {
                    (hour_cell(map, day, hour, scale))
                }
            }
        }
    }
}

fn hour_cell(map: &LoadMap, day: usize, hour: usize, scale: Scale) -> Markup {
    let starts = map.starts.get(day * 24 + hour).copied().flatten();
    let peak = map.peaks.get(day * 24 + hour).copied().flatten().unwrap_or(0);
    let x = LEFT + hour as f64 * CELL_WIDTH;
    let y = TOP + day as f64 * CELL_HEIGHT;
    let day = DAYS.get(day).copied().unwrap_or_default();
    let title = match starts {
        Some(starts) => {
            format!("{day} {hour:02}:00: {starts} starts, at most {peak} at the same time")
        }
        None => format!("{day} {hour:02}:00: not predicted"),
    };
    let level = starts.map_or(0, |starts| scale.level(starts));
    html! {
        g {
            title { (title) }
            rect class={ "heat heat-" (level) } x=(coordinate(x + 1.0)) y=(coordinate(y + 1.0))
                width=(coordinate(CELL_WIDTH - 2.0)) height=(coordinate(CELL_HEIGHT - 2.0)) rx="4" {}
            @if let Some(starts) = starts.filter(|starts| *starts > 0) {
                text class={ "heat-label heat-label-" (level) } x=(coordinate(x + CELL_WIDTH / 2.0)) y=(coordinate(y + 18.0)) text-anchor="middle" { (short_count(starts)) }
            }
        }
    }
}

/// The range of counts that shades stand for.
#[derive(Clone, Copy)]
struct Scale {
    /// The smallest count that is not zero.
    lowest: u32,
    highest: u32,
}

impl Scale {
    /// Returns the shade of a count, from 0 for none to [`LEVELS`].
    fn level(self, count: u32) -> u32 {
        let range = self.highest.saturating_sub(self.lowest);
        match count {
            0 => 0,
            // Hours that hardly differ look the same.
            _ if range <= self.highest / 20 => 2,
            _ => {
                let above = u64::from(count.saturating_sub(self.lowest));
                let level = 1 + above * u64::from(LEVELS - 1) / u64::from(range);
                u32::try_from(level).unwrap_or(LEVELS)
            }
        }
    }
}

fn short_count(count: u32) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..10_000 => format!("{:.1}k", f64::from(count) / 1_000.0),
        _ => format!("{}k", count / 1_000),
    }
}

/// Draws a bar for each minute of the hour.
pub(crate) fn minute_chart(minutes: &[u32]) -> Markup {
    let highest = minutes.iter().copied().max().unwrap_or(0).max(1);
    let step = 15.0;
    let width = LEFT + 60.0 * step;
    html! {
        svg.chart width=(coordinate(width)) height="110" viewBox={ "0 0 " (coordinate(width)) " 110" } role="img"
            aria-label="starts by minute of the hour" {
            text.axis-label x="0" y="20" { (short_count(highest)) }
            line.grid x1=(coordinate(LEFT)) x2=(coordinate(width)) y1="88" y2="88" {}
            @for (minute, starts) in minutes.iter().enumerate() {
                @let x = LEFT + minute as f64 * step;
                @let bar = f64::from(*starts) / f64::from(highest) * 74.0;
                g {
                    title { "minute " (format!("{minute:02}")) ": " (starts) " starts" }
                    rect.hit x=(coordinate(x)) y="10" width=(coordinate(step)) height="80" {}
                    @if *starts == 0 {
                        circle.free cx=(coordinate(x + 6.0)) cy="84" r="2" {}
                    } @else {
                        rect.b-ok x=(coordinate(x)) y=(coordinate(88.0 - bar.max(1.5))) width="12" height=(coordinate(bar.max(1.5))) rx="2" {}
                    }
                }
                @if minute % 5 == 0 {
                    text.axis-label x=(coordinate(x + 6.0)) y="104" text-anchor="middle" { (format!(":{minute:02}")) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shades_begin_with_one_start_and_end_with_the_most() {
        let scale = Scale { lowest: 1, highest: 101 };
        assert_eq!([0, 1, 25, 26, 101].map(|count| scale.level(count)), [0, 1, 1, 2, 5]);
        let even = Scale { lowest: 100, highest: 102 };
        assert_eq!([0, 100, 102].map(|count| even.level(count)), [0, 2, 2]);
        assert_eq!(short_count(1_240), "1.2k");
    }
}
