//! The slots of a CronJob in a row: past, now, and to come.

use maud::{Markup, html};
use punctual_schedule::Zone;

use super::cell::{Frame, cell};
use super::coordinate;
use crate::model::SlotCell;
use crate::ui::slot_title;

/// The strip of a list row.
const MINI_HEIGHT: f64 = 22.0;
const MINI_CELL: f64 = 6.0;
const MINI_STEP: f64 = 8.0;
/// The space around the line of the present.
const NOW_GAP: f64 = 7.0;

/// The strip of a page.
const STEP: f64 = 11.0;
const WIDTH: f64 = 8.0;
const TOP: f64 = 26.0;
const HEIGHT: f64 = 34.0;
/// The space before the first slot, so that labels at the edge are not cut.
const MARGIN: f64 = 12.0;
/// The least distance of two dates below the strip.
const DATE_DISTANCE: f64 = 74.0;

/// Draws the slots in a row of a list. `past` has at most `count` cells, and is aligned with the present.
pub(crate) fn mini_strip(past: &[SlotCell], upcoming: &[SlotCell], count: usize) -> Markup {
    let missing = count.saturating_sub(past.len());
    let past_width = count as f64 * MINI_STEP;
    let width = past_width + NOW_GAP + upcoming.len() as f64 * MINI_STEP;
    let label = summary(past);
    let frame = |x: f64| Frame { x, y: 2.0, width: MINI_CELL, height: MINI_HEIGHT - 4.0 };
    html! {
        svg.strip width=(coordinate(width)) height=(coordinate(MINI_HEIGHT))
            viewBox={ "0 0 " (coordinate(width)) " " (coordinate(MINI_HEIGHT)) } role="img" aria-label=(label) {
            @for (index, slot) in past.iter().enumerate() {
                (cell(slot.kind, frame((index + missing) as f64 * MINI_STEP)))
            }
            line.now x1=(coordinate(past_width + 2.0)) x2=(coordinate(past_width + 2.0)) y1="0" y2=(coordinate(MINI_HEIGHT)) {}
            @for (index, slot) in upcoming.iter().enumerate() {
                (cell(slot.kind, frame(past_width + NOW_GAP + index as f64 * MINI_STEP)))
            }
        }
    }
}

/// Says in words what a strip shows.
fn summary(past: &[SlotCell]) -> String {
    if past.is_empty() {
        return "no slot yet".to_owned();
    }
    let mut parts = Vec::new();
    for kind in crate::model::CellKind::ALL {
        let count = past.iter().filter(|slot| slot.kind == kind).count();
        if count > 0 {
            parts.push(format!("{count} {}", kind.label()));
        }
    }
    format!("last {} slots: {}", past.len(), parts.join(", "))
}

/// Draws the slots of a CronJob. Each is a link to its page.
pub(crate) fn slot_strip(
    past: &[SlotCell],
    upcoming: &[SlotCell],
    zone: &Zone,
    path: &str,
) -> Markup {
    let past_width = MARGIN + past.len() as f64 * STEP;
    let width = (past_width + NOW_GAP + 8.0 + upcoming.len() as f64 * STEP).max(300.0);
    let now_x = past_width + 3.5;
    let later = |index: usize| past_width + NOW_GAP + 4.0 + index as f64 * STEP;
    let past_dates = dates(past, zone, |index| MARGIN + index as f64 * STEP);
    html! {
        svg.strip width=(coordinate(width)) height="84" viewBox={ "0 0 " (coordinate(width)) " 84" } role="group"
            aria-label=(summary(past)) {
            @for (index, slot) in past.iter().enumerate() {
                (linked_cell(slot, zone, path, MARGIN + index as f64 * STEP))
            }
            line.now x1=(coordinate(now_x)) x2=(coordinate(now_x)) y1="14" y2="68" {}
            text.axis-label.now-label x=(coordinate(now_x)) y="10" text-anchor="middle" { "now" }
            @for (index, slot) in upcoming.iter().enumerate() {
                (linked_cell(slot, zone, path, later(index)))
                @if slot.dst.is_some() {
                    path.dst d={ "M" (coordinate(later(index) + 4.0)) " 12l5 9h-10z" } {
                        title { (slot.dst.as_deref().unwrap_or_default()) }
                    }
                }
            }
            @for (x, date) in past_dates {
                text.axis-label x=(coordinate(x)) y="78" { (date) }
            }
        }
    }
}

fn linked_cell(slot: &SlotCell, zone: &Zone, path: &str, x: f64) -> Markup {
    let title = slot_title(slot, zone);
    html! {
        a href={ (path) "/slots/" (slot.slot) } aria-label=(title) {
            title { (title) }
            rect.hit x=(coordinate(x - 1.5)) y=(coordinate(TOP - 4.0)) width=(coordinate(STEP)) height=(coordinate(HEIGHT + 8.0)) {}
            (cell(slot.kind, Frame { x, y: TOP, width: WIDTH, height: HEIGHT }))
        }
    }
}

/// Returns dates below the strip that do not overlap: where the day changes.
fn dates(cells: &[SlotCell], zone: &Zone, x: impl Fn(usize) -> f64) -> Vec<(f64, String)> {
    let mut found: Vec<(f64, String)> = Vec::new();
    let mut last_day = None;
    for (index, slot) in cells.iter().enumerate() {
        let local = zone.at(slot.slot);
        let is_new_day = last_day != Some(local.date());
        last_day = Some(local.date());
        let x = x(index);
        let has_space = found.last().is_none_or(|(before, _)| x - before >= DATE_DISTANCE);
        if is_new_day && has_space {
            found.push((x, local.strftime("%-d %b").to_string()));
        } else if has_space {
            found.push((x, local.strftime("%H:%M").to_string()));
        }
    }
    found.retain(|(at, _)| *at + 40.0 <= cells.len() as f64 * STEP + 20.0);
    found
}
