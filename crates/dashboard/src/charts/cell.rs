//! The shape of one slot.

use maud::{Markup, html};

use super::coordinate;
use crate::model::CellKind;

/// A rectangle.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// Draws a slot: full for succeeded, crossed for failed, hatched for missed, a low block for skipped, half filled for
/// running, hollow for ended early, dashed for those to come.
pub(super) fn cell(kind: CellKind, frame: Frame) -> Markup {
    let Frame { x, y, width, height } = frame;
    match kind {
        CellKind::Succeeded => rect("c-ok", frame),
        CellKind::Failed => {
            let middle_x = x + width / 2.0;
            let middle_y = y + height / 2.0;
            let arm = (width / 2.0 - 0.9).min(height / 4.0);
            let cross = format!(
                "M{} {}l{a} {a}m0 -{a}l-{a} {a}",
                coordinate(middle_x - arm),
                coordinate(middle_y - arm),
                a = coordinate(arm * 2.0),
            );
            html! { (rect("c-fail", frame)) path class="c-cross" d=(cross) {} }
        }
        CellKind::Missed => html! {
            (rect("c-miss-back", frame))
            (rect("c-miss", frame))
        },
        CellKind::Skipped => {
            let height = (height / 3.0).max(3.0);
            rect("c-skip", Frame { y: y + frame.height - height, height, ..frame })
        }
        CellKind::Running => {
            let half = height / 2.0;
            html! {
                (rect("c-run-back", frame))
                (rect("c-run", Frame { y: y + half, height: half, ..frame }))
            }
        }
        CellKind::Ended => rect("c-ended", inset(frame)),
        CellKind::Upcoming => rect("c-next", inset(frame)),
    }
}

/// A line is drawn on both sides of the edge, so the frame must be smaller.
fn inset(frame: Frame) -> Frame {
    Frame {
        x: frame.x + 0.5,
        y: frame.y + 0.5,
        width: (frame.width - 1.0).max(1.0),
        height: (frame.height - 1.0).max(1.0),
    }
}

fn rect(class: &str, frame: Frame) -> Markup {
    html! {
        rect class=(class) x=(coordinate(frame.x)) y=(coordinate(frame.y)) width=(coordinate(frame.width))
            height=(coordinate(frame.height)) rx=(coordinate((frame.width / 4.0).min(2.0))) {}
    }
}

/// Explains the shapes.
pub(crate) fn legend(kinds: &[CellKind]) -> Markup {
    html! {
        ul.legend {
            @for kind in kinds {
                li {
                    svg width="9" height="18" viewBox="0 0 9 18" aria-hidden="true" {
                        (cell(*kind, Frame { x: 0.5, y: 1.0, width: 8.0, height: 16.0 }))
                    }
                    (kind.label())
                }
            }
        }
    }
}
