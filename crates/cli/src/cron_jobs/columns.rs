//! A table that fits the terminal: long cells are cut in the middle.

use crate::{output, terminal};

/// No column becomes narrower than this.
const WIDTH_MIN: usize = 10;
/// The space between columns.
const GAP: usize = 2;

/// A column of a table.
#[derive(Clone, Debug)]
pub(super) struct TerminalColumn {
    pub(super) title: String,
    /// Whether long cells may be cut to make the table fit.
    pub(super) can_shrink: bool,
}

impl TerminalColumn {
    pub(super) fn fixed(title: &str) -> TerminalColumn {
        TerminalColumn { title: title.to_owned(), can_shrink: false }
    }

    pub(super) fn flexible(title: &str) -> TerminalColumn {
        TerminalColumn { title: title.to_owned(), can_shrink: true }
    }
}

/// Returns how wide a table may be: the terminal, or unlimited if the output goes elsewhere.
pub(super) fn width_limit() -> Option<usize> {
    terminal::is_stdout_terminal().then(|| terminal::size().columns)
}

/// Computes the widths of the columns, for a table that may have rows added later.
pub(super) fn widths(
    columns: &[TerminalColumn],
    rows: &[Vec<String>],
    limit: Option<usize>,
) -> Vec<usize> {
    let cell_width =
        |row: &Vec<String>, column: usize| row.get(column).map_or(0, |it| text_width(it));
    let mut widths: Vec<usize> = columns
        .iter()
        .enumerate()
        .map(|(at, column)| {
            let cells = rows.iter().map(|row| cell_width(row, at)).max().unwrap_or_default();
            cells.max(text_width(&column.title))
        })
        .collect();
    let Some(limit) = limit else { return widths };
    let total =
        |widths: &[usize]| widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
    while total(&widths) > limit {
        let shrinkable = widths.iter_mut().zip(columns).filter(|(width, column)| {
            column.can_shrink && **width > WIDTH_MIN.max(text_width(&column.title))
        });
        let Some((widest, _)) = shrinkable.max_by_key(|(width, _)| **width) else { break };
        *widest -= 1;
    }
    widths
}

/// Formats one line. The last cell is not padded.
pub(super) fn line(cells: &[String], widths: &[usize]) -> String {
    let cells = cells.iter().zip(widths).map(|(cell, width)| {
        let cell = output::cut_middle(&output::one_line(cell), *width);
        format!("{cell:width$}")
    });
    let line = cells.collect::<Vec<_>>().join("  ");
    format!("{}\n", line.trim_end())
}

/// Formats a line that is added to a table. A cell that is wider than the rows before is cut only if the table must fit
/// a terminal, and the last one never.
pub(super) fn added_line(cells: &[String], widths: &[usize], limit: Option<usize>) -> String {
    let last = cells.len().saturating_sub(1);
    let widths = widths.iter().zip(cells).enumerate().map(|(at, (width, cell))| {
        let needed = text_width(&output::one_line(cell));
        if limit.is_none() || at == last { needed.max(*width) } else { *width }
    });
    line(cells, &widths.collect::<Vec<_>>())
}

/// Formats a table with its header.
pub(super) fn table(
    columns: &[TerminalColumn],
    rows: &[Vec<String>],
    limit: Option<usize>,
) -> String {
    let widths = widths(columns, rows, limit);
    let header: Vec<String> = columns.iter().map(|column| column.title.clone()).collect();
    let mut text = line(&header, &widths);
    text.extend(rows.iter().map(|row| line(row, &widths)));
    text
}

fn text_width(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cells: [&str; 2]) -> Vec<String> {
        cells.map(String::from).to_vec()
    }

    #[test]
    fn a_table_that_is_too_wide_is_cut_in_the_middle_of_its_flexible_columns() {
        let columns = [TerminalColumn::flexible("NAME"), TerminalColumn::fixed("STATE")];
        let rows = [row(["a-very-long-name-of-a-cronjob", "Suspended"])];
        let text = table(&columns, &rows, Some(25));
        assert!(text.ends_with("\na-very-…ronjob  Suspended\n"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 25), "{text}");
        assert!(table(&columns, &rows, None).contains("a-very-long-name-of-a-cronjob"));
    }

    #[test]
    fn an_added_line_is_cut_only_in_a_terminal_and_never_in_its_last_cell() {
        let cells = row(["much-longer-than-before", "Suspended: holiday"]);
        let added = |limit| added_line(&cells, &[10, 5], limit);
        assert_eq!(added(None), "much-longer-than-before  Suspended: holiday\n");
        assert_eq!(added(Some(40)), "much-…fore  Suspended: holiday\n");
    }

    #[test]
    fn cut_texts_keep_both_ends() {
        assert_eq!(output::cut_middle("abcdefghij", 5), "ab…ij");
        assert_eq!(output::cut_middle("abcdefghij", 10), "abcdefghij");
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(line(&["a\u{1b}[2J\n".to_owned()], &[20]), "a\\u{1b}[2J\\n\n");
    }
}
