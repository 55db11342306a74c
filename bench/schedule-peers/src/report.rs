//! Renders the report of a benchmark run: a table for each operation and zone.

use crate::{
    library::{self, LIBRARIES},
    limits::{self, LimitResult},
    results::{CellFigures, CellResult, ItemResults},
    workload::{BenchZone, COUNT_INSTANTS, INSTANTS, Operation},
};

/// Renders the whole report; the limits come last.
pub(crate) fn render(results: &[ItemResults], limits: &[LimitResult]) -> String {
    let mut parts = vec![preface()];
    for operation in Operation::ALL {
        for zone in BenchZone::ALL {
            let rows = results.iter().filter(|row| row.is_of(operation, zone));
            let title = format!("{}, {}", operation.name(), zone.name());
            parts.push(table(&title, &rows.collect::<Vec<_>>()));
        }
    }
    parts.push(limits::list(limits));
    parts.join("\n")
}

fn preface() -> String {
    format!(
        "{}\n\nA cell is nanoseconds / instructions of one call. callgrind counts the instructions, if \
         valgrind is installed.\nAll libraries get the same {INSTANTS} random instants from 2020 to 2036 \
         ({COUNT_INSTANTS} for counts); zones are loaded and texts are parsed before.\n`*`: the share \
         of results that differ from ours. The other libraries have no count and iterate over a day.\n",
        library::versions()
    )
}

/// Renders a row for each schedule, with a column for each library that offers the operation.
fn table(title: &str, rows: &[&ItemResults]) -> String {
    let is_offered = |at: &usize| rows.iter().any(|row| row.cells[*at] != Err("-"));
    let columns: Vec<usize> = (0..LIBRARIES.len()).filter(is_offered).collect();
    let line = |first: &str, text: &dyn Fn(usize) -> String| {
        let cells: String = columns.iter().map(|at| format!(" {} |", text(*at))).collect();
        format!("| {first} |{cells}\n")
    };
    let mut lines = format!("**{title}**\n\n");
    lines += &line("schedule", &|at| LIBRARIES[at].name.to_owned());
    lines += &format!("|---|{}\n", "--:|".repeat(columns.len()));
    for row in rows {
        lines += &line(&format!("`{}`", row.item.expression.text), &|at| text(row.cells[at]));
    }
    let mean = |at: usize| mean(&rows.iter().map(|row| row.cells[at]).collect::<Vec<_>>());
    lines + &line("geomean", &mean)
}

/// Returns the geometric mean of a column, with a star if some results differ from ours.
fn mean(cells: &[CellResult]) -> String {
    let figures = || cells.iter().map(|cell| cell.ok());
    let nanoseconds = limits::geomean(figures().map(|cell| Some(cell?.nanoseconds)));
    let instructions = limits::geomean(figures().map(|cell| cell?.instructions));
    let is_correct = figures().all(|cell| cell.is_some_and(|cell| cell.differing == 0.0));
    let star = if is_correct { "" } else { "*" };
    nanoseconds.map_or("-".into(), |nanoseconds| cost(nanoseconds, instructions) + star)
}

fn text(cell: CellResult) -> String {
    let CellFigures { nanoseconds, instructions, differing } = match cell {
        Ok(figures) => figures,
        Err(word) => return word.into(),
    };
    let cost = cost(nanoseconds, instructions);
    if differing > 0.0 { format!("{cost}* {:.1} %", differing * 100.0) } else { cost }
}

fn cost(nanoseconds: f64, instructions: Option<f64>) -> String {
    match instructions {
        Some(instructions) => format!("{nanoseconds:.0}/{instructions:.0}"),
        None => format!("{nanoseconds:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::work_items;

    #[test]
    fn a_table_has_the_libraries_that_offer_the_operation() {
        let figures = CellFigures { nanoseconds: 30.4, instructions: Some(339.6), differing: 0.0 };
        let wrong = CellFigures { differing: 0.972, instructions: None, ..figures };
        let mut cells = vec![Err("-"); LIBRARIES.len()];
        cells[0] = Ok(figures);
        cells[1] = Ok(wrong);
        cells[2] = Err("timed out");
        let row = ItemResults { item: work_items()[0], cells };
        let expected = "**next**\n\n\
            | schedule | punctual | saffron | cron |\n\
            |---|--:|--:|--:|\n\
            | `* * * * *` | 30/340 | 30* 97.2 % | timed out |\n\
            | geomean | 30/340 | 30* | - |\n";
        assert_eq!(table("next", &[&row]), expected);
    }
}
