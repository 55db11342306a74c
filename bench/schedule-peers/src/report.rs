//! Renders the report of a benchmark run.

use crate::{
    library,
    results::{BenchResults, CellFigures, CellResult, LibraryResults},
    table::ReportTable,
    targets::{self, BenchTarget},
    workload::{
        BenchSchedule, BenchZone, COUNT_INSTANTS, CountRange, INSTANTS, Operation, SCHEDULES,
    },
};

/// Renders the whole report; the targets come last.
pub(crate) fn render(results: &BenchResults, targets: &[BenchTarget]) -> String {
    let mut parts = vec![preface(results)];
    parts.extend(tables(results).iter().map(ReportTable::render));
    parts.push(checksums(results));
    parts.push(targets::list(targets));
    parts.join("\n")
}

fn preface(results: &BenchResults) -> String {
    let figures = if results.has_valgrind {
        "A cell is nanoseconds / instructions of one call. callgrind counts the instructions."
    } else {
        "A cell is nanoseconds of one call. valgrind is not installed, so instructions were not \
         counted."
    };
    format!(
        "{}\n\n{figures}\nAll libraries get the same {INSTANTS} random instants from 2020 to 2036 \
         ({COUNT_INSTANTS} for counts); zones are loaded and texts are parsed before.\n`*`: the share \
         of results that differ from ours. `-`: the library does not offer the operation.\n",
        library::versions()
    )
}

fn tables(results: &BenchResults) -> Vec<ReportTable> {
    let day = Operation::Count(CountRange::Day);
    let mut tables = Vec::new();
    for (operation, what) in [
        (Operation::Next, "next slot after t"),
        (Operation::Latest, "latest slot at or before t"),
        (day, "slots in (t - 1 day, t] (the other libraries have no count and iterate)"),
    ] {
        let zones = BenchZone::ALL.into_iter();
        tables.extend(zones.map(|zone| compare_libraries(results, operation, zone, what)));
    }
    tables.push(own_counts(results));
    tables.push(since_1970(results));
    tables
}

/// Builds the table of one operation in one zone with a column for each library.
fn compare_libraries(
    results: &BenchResults,
    operation: Operation,
    zone: BenchZone,
    what: &str,
) -> ReportTable {
    let offering = |column: &&LibraryResults| {
        column.cells(operation, zone).any(|(_, c)| c != CellResult::NotOffered)
    };
    let columns: Vec<&LibraryResults> = results.columns.iter().filter(offering).collect();
    let mut rows = Vec::new();
    for (at, expression) in SCHEDULES.iter().enumerate() {
        let cells = columns.iter().filter_map(|column| column.cells(operation, zone).nth(at));
        let mut row = vec![label(expression)];
        row.extend(cells.map(|(_, cell)| text(cell)));
        rows.push(row);
    }
    let mut last = vec![String::from("geomean")];
    last.extend(columns.iter().map(|column| mean(column, operation, zone)));
    rows.push(last);
    ReportTable { title: format!("{what}, {}", zone.name()), header: header(&columns), rows }
}

fn header(columns: &[&LibraryResults]) -> Vec<String> {
    let names = columns.iter().map(|column| column.library.name.to_owned());
    std::iter::once(String::from("schedule")).chain(names).collect()
}

/// Returns the geometric mean of a column, with a star if some results differ from ours.
fn mean(column: &LibraryResults, operation: Operation, zone: BenchZone) -> String {
    let cells = || column.cells(operation, zone).map(|(_, cell)| cell);
    let nanoseconds = targets::geomean(cells().map(CellResult::nanoseconds));
    let instructions = targets::geomean(cells().map(CellResult::instructions));
    let star = if cells().all(CellResult::is_correct) { "" } else { "*" };
    nanoseconds.map_or("-".into(), |nanoseconds| cost(nanoseconds, instructions) + star)
}

/// Builds the table of counts over long ranges, which only our library offers.
fn own_counts(results: &BenchResults) -> ReportTable {
    let spans = [
        (CountRange::Day, "(t - 1 day, t]"),
        (CountRange::Year, "(t - 1 year, t]"),
        (CountRange::Since1970, "(1970, t]"),
    ];
    let columns: Vec<(CountRange, BenchZone)> =
        BenchZone::ALL.iter().flat_map(|zone| spans.map(|(span, _)| (span, *zone))).collect();
    let names = BenchZone::ALL.iter().flat_map(|zone| {
        spans.map(|(_, name)| {
            format!("{name} {}", if *zone == BenchZone::Utc { "UTC" } else { "NY" })
        })
    });
    let rows = SCHEDULES.iter().enumerate().map(|(at, expression)| {
        let cells = columns.iter().filter_map(|(span, zone)| {
            results.ours().cells(Operation::Count(*span), *zone).nth(at)
        });
        let mut row = vec![label(expression)];
        row.extend(cells.map(|(_, cell)| text(cell)));
        row
    });
    ReportTable {
        title: "slots in a range (punctual-schedule only)".into(),
        header: std::iter::once(String::from("schedule")).chain(names).collect(),
        rows: rows.collect(),
    }
}

/// Builds the table of a scheduler that starts after decades.
fn since_1970(results: &BenchResults) -> ReportTable {
    let columns: Vec<&LibraryResults> = results.columns.iter().collect();
    let mut rows = Vec::new();
    for zone in BenchZone::ALL {
        for (operation, what) in targets::SINCE_1970 {
            let cells = columns.iter().filter_map(|column| column.cells(operation, zone).next());
            let mut row = vec![format!("{what}, {}", zone.name())];
            row.extend(cells.map(|(_, cell)| text(cell)));
            rows.push(row);
        }
    }
    let mut header = header(&columns);
    header[0] = "operation".into();
    ReportTable { title: "every minute, last run 1970-01-01".into(), header, rows }
}

fn checksums(results: &BenchResults) -> String {
    let of = |column: &LibraryResults| format!("{} {:016x}", column.library.name, column.checksum);
    let all: Vec<String> = results.columns.iter().map(of).collect();
    format!("Checksums of the results: {}.\n", all.join(", "))
}

fn label(expression: &BenchSchedule) -> String {
    format!("`{}`", expression.text)
}

fn text(cell: CellResult) -> String {
    let figures = match cell {
        CellResult::NotOffered => return "-".into(),
        CellResult::Missing(end) => return end.name().into(),
        CellResult::Measured(figures) => figures,
    };
    let CellFigures { nanoseconds, instructions, differing } = figures;
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
    use crate::process::ExitKind;

    #[test]
    fn a_cell_shows_figures_or_the_reason_for_their_absence() {
        let figures = CellFigures { nanoseconds: 30.4, instructions: Some(339.6), differing: 0.0 };
        assert_eq!(text(CellResult::Measured(figures)), "30/340");
        assert_eq!(text(CellResult::Measured(CellFigures { instructions: None, ..figures })), "30");
        assert_eq!(
            text(CellResult::Measured(CellFigures { differing: 0.972, ..figures })),
            "30/340* 97.2 %"
        );
        assert_eq!(text(CellResult::NotOffered), "-");
        assert_eq!(text(CellResult::Missing(ExitKind::TimedOut)), "timed out");
    }
}
