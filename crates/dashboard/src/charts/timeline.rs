//! Lanes of runs over time, and the times of one slot.

use jiff::{SignedDuration, Timestamp};
use maud::{Markup, html};
use punctual_schedule::Zone;

use super::coordinate;
use crate::model::{Bar, BarKind, CellKind, Lane, TimelineRange};

/// The width of a lane in units. The page stretches it.
const WIDTH: f64 = 1000.0;
const LANE_HEIGHT: f64 = 24.0;
/// The least width of a bar, so that it can be seen.
const BAR_MIN: f64 = 2.4;

/// A label of the time axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tick {
    /// The place from 0 to 1.
    pub(crate) at: f64,
    pub(crate) label: String,
}

/// Returns the labels of the axis, at whole hours or days of the zone.
pub(crate) fn ticks(range: TimelineRange, zone: &Zone) -> Vec<Tick> {
    let hours = range.until.duration_since(range.from).as_hours().max(1);
    let step = match hours {
        0..=3 => 30,
        4..=8 => 60,
        9..=14 => 120,
        15..=36 => 240,
        37..=80 => 720,
        _ => 1440,
    };
    let mut found = Vec::new();
    let start = zone.at(range.from).start_of_day().map_or(range.from, |day| day.timestamp());
    for index in 0..400 {
        let Ok(at) = start.checked_add(SignedDuration::from_mins(step * index)) else { break };
        if at > range.until {
            break;
        }
        if at < range.from {
            continue;
        }
        let local = zone.at(at);
        let is_midnight = local.hour() == 0 && local.minute() == 0;
        let format = if is_midnight { "%a %-d %b" } else { "%H:%M" };
        found.push(Tick { at: range.fraction(at), label: local.strftime(format).to_string() });
    }
    found
}

/// Draws the runs of a lane.
pub(crate) fn timeline(lane: &Lane, range: TimelineRange, zone: &Zone) -> Markup {
    let now = range.fraction(range.now) * WIDTH;
    html! {
        svg.lane viewBox={ "0 0 1000 " (coordinate(LANE_HEIGHT)) } preserveAspectRatio="none" role="img"
            aria-label={ (lane.bars.len()) " bars, " (lane.expected) " runs expected" } {
            @for bar in &lane.bars {
                (lane_bar(bar, range, zone))
            }
            line.now x1=(coordinate(now)) x2=(coordinate(now)) y1="0" y2=(coordinate(LANE_HEIGHT)) {}
        }
    }
}

fn lane_bar(bar: &Bar, range: TimelineRange, zone: &Zone) -> Markup {
    let x = range.fraction(bar.start) * WIDTH;
    let width = (range.fraction(bar.end) * WIDTH - x).max(BAR_MIN);
    let time = |at: Timestamp| zone.at(at).strftime("%a %H:%M:%S").to_string();
    let title = if bar.end > bar.start {
        format!("{} to {}: {}", time(bar.start), time(bar.end), bar.text)
    } else {
        format!("{}: {}", time(bar.start), bar.text)
    };
    let rect = |class: &'static str, y: f64, height: f64| {
        html! { rect class=(class) x=(coordinate(x)) y=(coordinate(y)) width=(coordinate(width)) height=(coordinate(height)) {} }
    };
    html! {
        g {
            title { (title) }
            @match bar.kind {
                BarKind::Past(CellKind::Succeeded) => { (rect("c-ok", 5.0, 14.0)) }
                // Split, so that it differs from a success without colour.
                BarKind::Past(CellKind::Failed) => { (rect("c-fail", 2.0, 8.0)) (rect("c-fail", 14.0, 8.0)) }
                BarKind::Past(CellKind::Missed) => { (rect("c-miss-back", 5.0, 14.0)) (rect("c-miss", 5.0, 14.0)) }
                BarKind::Past(CellKind::Skipped) => { (rect("c-skip", 14.0, 5.0)) }
                BarKind::Past(CellKind::Running) => { (rect("c-run-back", 5.0, 14.0)) (rect("c-run", 12.0, 7.0)) }
                BarKind::Past(_) => { (rect("c-ended", 5.0, 14.0)) }
                BarKind::Expected => { (rect("c-expected", 6.0, 12.0)) }
            }
        }
    }
}

/// An instant of the diagram of a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TimeMark {
    pub(crate) at: Timestamp,
    pub(crate) label: String,
}

/// A span of the diagram of a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TimeSpan {
    pub(crate) from: Timestamp,
    pub(crate) until: Timestamp,
    pub(crate) label: String,
    pub(crate) class: &'static str,
}

/// Draws the times of one slot: spans in rows of their own, and marks above them.
pub(crate) fn slot_times(marks: &[TimeMark], spans: &[TimeSpan], zone: &Zone) -> Markup {
    let instants = marks.iter().map(|mark| mark.at);
    let instants = instants.chain(spans.iter().flat_map(|span| [span.from, span.until]));
    let instants: Vec<Timestamp> = instants.collect();
    let (Some(first), Some(last)) = (instants.iter().min(), instants.iter().max()) else {
        return html! {};
    };
    let length = last.duration_since(*first).as_secs_f64().max(1.0);
    let x = |at: Timestamp| 24.0 + at.duration_since(*first).as_secs_f64() / length * 700.0;
    let marks_height = marks.len() as f64 * 18.0;
    let height = marks_height + spans.len() as f64 * 30.0 + 22.0;
    html! {
        svg.chart width="900" height=(coordinate(height)) viewBox={ "0 0 900 " (coordinate(height)) } role="img"
            aria-label="times of this slot" {
            @for (index, mark) in marks.iter().enumerate() {
                @let y = 14.0 + index as f64 * 18.0;
                line.mark x1=(coordinate(x(mark.at))) x2=(coordinate(x(mark.at))) y1=(coordinate(y - 8.0)) y2=(coordinate(height - 12.0)) {}
                text.axis-label x=(coordinate(x(mark.at) + 6.0)) y=(coordinate(y + 1.0)) {
                    (zone.at(mark.at).strftime("%H:%M:%S").to_string()) " " (mark.label)
                }
            }
            @for (index, span) in spans.iter().enumerate() {
                @let y = marks_height + 10.0 + index as f64 * 30.0;
                @let width = (x(span.until) - x(span.from)).max(2.0);
                rect class=(span.class) x=(coordinate(x(span.from))) y=(coordinate(y)) width=(coordinate(width)) height="12" rx="3" {}
                text.axis-label x=(coordinate(x(span.from) + 2.0)) y=(coordinate(y + 24.0)) { (span.label) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use punctual_schedule::Zones;

    use super::*;

    #[test]
    fn ticks_are_at_whole_hours_of_the_zone() {
        let now: Timestamp = "2026-11-19T03:12:00Z".parse().unwrap();
        let range =
            TimelineRange { from: now, until: "2026-11-19T15:12:00Z".parse().unwrap(), now };
        let labels: Vec<String> = ticks(range, &Zones::bundled().get("Asia/Kolkata").unwrap())
            .into_iter()
            .map(|tick| tick.label)
            .collect();
        assert_eq!(labels, ["10:00", "12:00", "14:00", "16:00", "18:00", "20:00"]);
    }
}
