//! Lays out the columns of a table so that it fits the screen.

use std::ops::Range;

use crate::output::cut_middle;

/// The space between columns.
const GAP: usize = 2;
/// Names keep at least this many columns, or two fifths of the screen, before other columns are left out.
const NAME_WIDTH_MIN: usize = 12;

/// A column. The first one of a table has names.
#[derive(Clone, Debug)]
pub(super) struct ViewColumn {
    pub(super) title: String,
    /// Columns with a higher number are left out first.
    pub(super) rank: u8,
    /// The cells may be cut to this width; `None` for cells that are useless if they are cut.
    pub(super) width_min: Option<usize>,
}

impl ViewColumn {
    pub(super) fn new(title: impl Into<String>, rank: u8) -> ViewColumn {
        ViewColumn { title: title.into(), rank, width_min: None }
    }

    pub(super) fn shrinking_to(self, width_min: usize) -> ViewColumn {
        ViewColumn { width_min: Some(width_min), ..self }
    }
}

/// A row of cells, as many as there are columns.
pub(super) type Cells = Vec<String>;

/// A table that fits a width.
#[derive(Debug)]
pub(super) struct FittedTable {
    pub(super) header: String,
    /// One text for each row.
    pub(super) rows: Vec<String>,
    /// Where each column is, in the order of the columns; `None` if it is left out.
    pub(super) ranges: Vec<Option<Range<usize>>>,
}

/// Chooses the columns and their widths for these rows.
pub(super) fn fit(columns: &[ViewColumn], rows: &[Cells], width: usize) -> FittedTable {
    let widths = widths(columns, rows, width);
    let titles: Cells = columns.iter().map(|column| column.title.clone()).collect();
    let mut start = 0;
    let mut ranges = Vec::new();
    for width in &widths {
        let range = width.map(|width| start..start + width);
        start = range.as_ref().map_or(start, |range| range.end + GAP);
        ranges.push(range);
    }
    FittedTable {
        header: line(&titles, &widths),
        rows: rows.iter().map(|row| line(row, &widths)).collect(),
        ranges,
    }
}

fn widths(columns: &[ViewColumn], rows: &[Cells], width: usize) -> Vec<Option<usize>> {
    let wanted = columns.iter().enumerate().map(|(at, column)| {
        let cells = rows.iter().filter_map(|row| row.get(at));
        let longest = cells.map(|cell| cell.chars().count()).max().unwrap_or_default();
        longest.max(column.title.chars().count())
    });
    let wanted: Vec<usize> = wanted.collect();
    let name_wanted = wanted.first().copied().unwrap_or_default();
    let name_min = name_wanted.min(NAME_WIDTH_MIN.max(width * 2 / 5));
    let mut by_rank: Vec<(u8, usize)> =
        columns.iter().enumerate().skip(1).map(|(at, column)| (column.rank, at)).collect();
    by_rank.sort_unstable();
    let mut widths: Vec<Option<usize>> = vec![None; columns.len()];
    let mut left = width.saturating_sub(name_min);
    for (_, at) in by_rank {
        let wanted = wanted.get(at).copied().unwrap_or_default();
        let width_min = columns.get(at).and_then(|column| column.width_min);
        let width_min = width_min.map_or(wanted, |width_min| width_min.min(wanted));
        let Some(available) = left.checked_sub(width_min + GAP) else { break };
        let chosen = wanted.min(width_min + available);
        left -= chosen + GAP;
        if let Some(width) = widths.get_mut(at) {
            *width = Some(chosen);
        }
    }
    if let Some(name) = widths.first_mut() {
        *name = Some(name_wanted.min(name_min.min(width) + left));
    }
    widths
}

fn line(cells: &[String], widths: &[Option<usize>]) -> String {
    let shown = cells.iter().zip(widths).filter_map(|(cell, width)| Some((cell, (*width)?)));
    let cells = shown.map(|(cell, width)| match width {
        0 => String::new(),
        width => format!("{:width$}", cut_middle(cell, width)),
    });
    cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Vec<ViewColumn> {
        vec![
            ViewColumn::new("NAME", 0),
            ViewColumn::new("STATE", 1),
            ViewColumn::new("SCHEDULE", 2),
        ]
    }

    fn row(cells: [&str; 3]) -> Cells {
        cells.map(str::to_owned).to_vec()
    }

    #[test]
    fn names_are_cut_in_the_middle_and_only_when_needed() {
        let rows = [row(["default/a-rather-long-name", "ok", "* * * * *"])];
        let shown = |width| fit(&columns(), &rows, width).rows.remove(0);
        assert_eq!(shown(80), "default/a-rather-long-name  ok     * * * * *");
        assert_eq!(shown(40), "default/a-r…-long-name  ok     * * * * *");
        assert_eq!(shown(25), "default/a…ong-name  ok");
        assert_eq!(shown(10), "defau…name");
        assert_eq!(shown(1), "…");
    }

    #[test]
    fn every_width_is_kept() {
        let rows = [row(["default/a-rather-long-name", "failing 12", "0 9 * * 1-5 Asia/Tokyo"])];
        for width in 0..100 {
            let table = fit(&columns(), &rows, width);
            for line in table.rows.iter().chain([&table.header]) {
                assert!(line.chars().count() <= width.max(1), "{width}: {line:?}");
            }
        }
    }
}
