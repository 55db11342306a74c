//! A page of text: the details of a CronJob, a log, the messages of the daemon, the help.

use std::collections::VecDeque;

use super::keys::Key;

/// How many lines a page keeps. The oldest are dropped.
const LINES_MAX: usize = 10_000;

/// Lines of text and the part of them that is shown. Long lines are continued in the next row.
#[derive(Debug)]
pub(super) struct TextPage {
    pub(super) title: String,
    lines: VecDeque<String>,
    /// The first line that is shown, while the end is not followed.
    top: usize,
    /// Whether lines are added, so that the end can be followed.
    is_tail: bool,
    /// Whether the last lines are shown.
    is_following: bool,
    shown: ShownPart,
}

/// What was shown last.
#[derive(Clone, Copy, Debug, Default)]
struct ShownPart {
    rows: usize,
    /// The first line of the last screenful.
    last_top: usize,
    /// The line after the last one.
    end: usize,
}

impl TextPage {
    /// A text that is read from its beginning.
    pub(super) fn text(title: &str, text: &str) -> TextPage {
        let mut page = TextPage {
            title: title.to_owned(),
            lines: VecDeque::new(),
            top: 0,
            is_tail: false,
            is_following: false,
            shown: ShownPart::default(),
        };
        page.replace_text(text);
        page
    }

    /// Lines of which the last are shown, as they arrive.
    pub(super) fn tail(title: &str) -> TextPage {
        TextPage { is_tail: true, is_following: true, ..TextPage::text(title, "") }
    }

    /// Adds a line, which must be clean.
    pub(super) fn push(&mut self, line: String) {
        if self.lines.len() >= LINES_MAX {
            self.lines.pop_front();
            self.top = self.top.saturating_sub(1);
        }
        self.lines.push_back(line);
    }

    /// Replaces the text and keeps the position.
    pub(super) fn replace_text(&mut self, text: &str) {
        self.lines = text.lines().take(LINES_MAX).map(super::clean_text::clean_line).collect();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Moves the page by lines. Returns whether the key means a movement.
    pub(super) fn handle_key(&mut self, key: Key) -> bool {
        let ShownPart { rows, last_top, end } = self.shown;
        let page = end.saturating_sub(self.top).clamp(2, rows.max(2)) - 1;
        let top = match key {
            Key::Up | Key::Char('k') => self.top.saturating_sub(1),
            Key::Down | Key::Char('j') => self.top + 1,
            Key::PageUp | Key::Control('b') => self.top.saturating_sub(rows.max(2) - 1),
            Key::PageDown | Key::Control('f') | Key::Char(' ') => self.top + page,
            Key::Home | Key::Char('g') => 0,
            Key::End | Key::Char('G') => last_top,
            _ => return false,
        };
        // A page of which the end is shown follows what is added, as `tail -f` does.
        self.is_following = self.is_tail && top >= last_top && key != Key::Up;
        self.top = top.min(last_top);
        true
    }

    /// Returns the rows to show. Only wraps lines that are shown.
    pub(super) fn rows(&mut self, columns: usize, rows: usize) -> Vec<String> {
        let mut last: VecDeque<String> = VecDeque::new();
        let mut last_top = self.lines.len();
        for line in self.lines.iter().rev() {
            let wrapped = wrap(line, columns);
            if last.len() + wrapped.len() > rows && !last.is_empty() {
                break;
            }
            last_top -= 1;
            wrapped.into_iter().rev().for_each(|row| last.push_front(row));
            if last.len() >= rows {
                break;
            }
        }
        let is_at_end = self.is_following || self.top >= last_top;
        self.shown = ShownPart { rows, last_top, end: self.lines.len() };
        if is_at_end {
            self.top = last_top;
            return last.into_iter().take(rows).collect();
        }
        let mut shown = Vec::new();
        self.shown.end = self.top;
        for line in self.lines.iter().skip(self.top) {
            shown.extend(wrap(line, columns));
            if shown.len() > rows {
                break;
            }
            self.shown.end += 1;
        }
        shown.truncate(rows);
        shown
    }

    /// Returns which lines are shown, such as `11-30 of 200`.
    pub(super) fn position(&self) -> String {
        let total = self.lines.len();
        if self.top == 0 && self.shown.end >= total {
            return String::new();
        }
        format!("{}-{} of {total}", self.top + 1, self.shown.end)
    }
}

/// Breaks a line at spaces, and indents its continuation as the line.
pub(super) fn wrap(line: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let indent = line.chars().take_while(|letter| *letter == ' ').count();
    let indent = if indent * 2 > columns { 0 } else { indent };
    let mut rows = Vec::new();
    let mut row: Vec<char> = Vec::new();
    let mut row_start = indent;
    for letter in line.chars() {
        row.push(letter);
        if row.len() > columns {
            let space = row.iter().rposition(|letter| *letter == ' ').filter(|at| *at > row_start);
            let rest = match space {
                Some(at) => {
                    let rest = row.split_off(at + 1);
                    row.pop();
                    rest
                }
                None => row.split_off(columns),
            };
            rows.push(row.iter().collect());
            row = std::iter::repeat_n(' ', indent).chain(rest).collect();
            row_start = indent;
        }
    }
    rows.push(row.into_iter().collect());
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_wrapped_at_spaces_with_their_indentation() {
        assert_eq!(wrap("  one two three", 9), ["  one two", "  three"]);
        assert_eq!(wrap("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrap("", 4), [""]);
        for columns in 0..30 {
            for row in wrap("  some words, averyveryverylongword, and others", columns) {
                assert!(row.chars().count() <= columns.max(1), "{columns}: {row:?}");
            }
        }
    }

    #[test]
    fn a_tail_follows_its_end_until_it_is_scrolled() {
        let mut page = TextPage::tail("log");
        (0..10).for_each(|number| page.push(number.to_string()));
        assert_eq!(page.rows(10, 3), ["7", "8", "9"]);
        page.handle_key(Key::Up);
        page.push("10".into());
        assert_eq!(page.rows(10, 3), ["6", "7", "8"]);
        assert_eq!(page.position(), "7-9 of 11");
        page.handle_key(Key::Down);
        assert_eq!(page.rows(10, 3), ["7", "8", "9"]);
        page.handle_key(Key::Down);
        page.push("11".into());
        assert_eq!(page.rows(10, 3), ["9", "10", "11"]);
    }

    #[test]
    fn every_line_of_a_text_can_be_reached_at_every_size() {
        let lines: Vec<String> = (0..30).map(|at| format!("{at:02} {}", "x".repeat(at))).collect();
        for (columns, rows) in [(1, 1), (3, 2), (10, 3), (10, 50), (80, 1), (0, 0)] {
            let mut page = TextPage::text("text", &lines.join("\n"));
            page.rows(columns, rows);
            for _ in 0..lines.len() {
                page.handle_key(Key::Down);
                assert!(page.rows(columns, rows).len() <= rows);
            }
            let start = page.top;
            page.handle_key(Key::Down);
            page.rows(columns, rows);
            assert_eq!(page.top, start, "the last screenful is the end");
            page.handle_key(Key::Home);
            let first = page.rows(10, 1).remove(0);
            assert_eq!(first.trim_end(), "00");
        }
    }

    #[test]
    fn the_oldest_lines_are_dropped() {
        let mut page = TextPage::tail("log");
        (0..LINES_MAX + 5).for_each(|number| page.push(number.to_string()));
        page.rows(10, 3);
        page.handle_key(Key::Home);
        assert_eq!(page.rows(10, 1), ["5"]);
    }
}
