//! Turns the difference between two frames into the bytes that change the screen of a terminal.

use std::fmt::Write as _;

use ratatui_core::buffer::{Buffer, Cell};
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier};

/// Remembers what the screen shows.
#[derive(Debug)]
pub(super) struct Painter {
    shown: Buffer,
    use_color: bool,
    /// Whether the screen must be cleared, because it may show something else.
    is_stale: bool,
}

/// The attributes in which cells are written.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Attributes {
    foreground: Color,
    modifier: Modifier,
}

impl Painter {
    pub(super) fn new(use_color: bool) -> Painter {
        Painter { shown: Buffer::empty(Rect::ZERO), use_color, is_stale: true }
    }

    /// Paints everything again with the next frame.
    pub(super) fn invalidate(&mut self) {
        self.is_stale = true;
    }

    /// Returns the bytes that make the screen show a frame. Empty if nothing changes.
    pub(super) fn paint(&mut self, frame: Buffer) -> String {
        let mut out = String::new();
        if self.is_stale || self.shown.area != frame.area {
            out.push_str("\x1b[0m\x1b[2J");
            self.shown = Buffer::empty(frame.area);
            self.is_stale = false;
        }
        let mut attributes = None;
        let mut next = None;
        for (x, y, cell) in self.shown.diff(&frame) {
            if next != Some((x, y)) {
                let _ = write!(out, "\x1b[{};{}H", y + 1, x + 1);
            }
            let wanted = self.attributes(cell);
            if attributes != Some(wanted) {
                wanted.write(&mut out);
                attributes = Some(wanted);
            }
            out.push_str(cell.symbol());
            // A character may be two columns wide, so its neighbour is always addressed.
            next = if cell.symbol().is_ascii() { Some((x + 1, y)) } else { None };
        }
        if attributes.is_some() {
            out.push_str("\x1b[0m");
        }
        self.shown = frame;
        out
    }

    fn attributes(&self, cell: &Cell) -> Attributes {
        let foreground = if self.use_color { cell.fg } else { Color::Reset };
        // Without colors only the cursor is marked, which a user must see.
        let modifier =
            if self.use_color { cell.modifier } else { cell.modifier & Modifier::REVERSED };
        Attributes { foreground, modifier }
    }
}

impl Attributes {
    fn write(self, out: &mut String) {
        out.push_str("\x1b[0");
        for (modifier, code) in [
            (Modifier::BOLD, 1),
            (Modifier::DIM, 2),
            (Modifier::UNDERLINED, 4),
            (Modifier::REVERSED, 7),
        ] {
            if self.modifier.contains(modifier) {
                let _ = write!(out, ";{code}");
            }
        }
        let color = match self.foreground {
            Color::Red => Some(31),
            Color::Green => Some(32),
            Color::Yellow => Some(33),
            Color::Cyan => Some(36),
            _ => None,
        };
        if let Some(color) = color {
            let _ = write!(out, ";{color}");
        }
        out.push('m');
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZero;

    use ratatui_core::style::Style;

    use super::*;

    fn frame(lines: &[&str], columns: u16, rows: u16) -> Buffer {
        let mut buffer = Buffer::empty(Rect::new(0, 0, columns, rows));
        for (y, line) in (0..).zip(lines) {
            buffer.set_string(0, y, line, Style::new().fg(Color::Red));
        }
        buffer
    }

    /// Returns what a terminal shows.
    fn shown(parser: &vt100::Parser) -> Vec<String> {
        parser.screen().rows(0, 10).map(|row| row.trim_end().to_owned()).collect()
    }

    #[test]
    fn a_terminal_shows_the_latest_frame_whatever_the_earlier_ones_were() {
        let mut painter = Painter::new(true);
        let mut parser = vt100::Parser::new(NonZero::new(3).unwrap(), NonZero::new(10).unwrap(), 0);
        for lines in
            [["abc", "漢字x", ""], ["ab", "漢y", "0123456789"], ["", "", ""], ["é漢", "1", "2"]]
        {
            parser.process(painter.paint(frame(&lines, 10, 3)).as_bytes());
            assert_eq!(shown(&parser), lines);
        }
        assert_eq!(painter.paint(frame(&["é漢", "1", "2"], 10, 3)), "", "nothing changed");
        painter.invalidate();
        assert!(painter.paint(frame(&["é漢", "1", "2"], 10, 3)).starts_with("\x1b[0m\x1b[2J"));
    }

    #[test]
    fn colors_are_optional() {
        let colored = Painter::new(true).paint(frame(&["x"], 2, 1));
        assert!(colored.contains(";31m"), "{colored:?}");
        let plain = Painter::new(false).paint(frame(&["x"], 2, 1));
        assert!(!plain.contains("31"), "{plain:?}");
    }
}
