//! The tables of a run.

use crate::{
    results::{Cell, Column, Figures, Results},
    table::{Format, Table},
    targets::{self, Target},
    versions,
    workload::{COUNT_INSTANTS, EXPRESSIONS, Expression, INSTANTS, Question, Span, Zone},
};

/// The whole report, with the targets at its end.
pub(crate) fn render(results: &Results, targets: &[Target], format: Format) -> String {
    let mut parts = vec![preface(results)];
    parts.extend(tables(results, format).iter().map(|table| table.render(format)));
    parts.push(checksums(results));
    parts.push(targets::list(targets, format));
    parts.join("\n")
}

fn preface(results: &Results) -> String {
    let figures = if results.has_valgrind {
        "A cell is nanoseconds / instructions for each call (the latter by callgrind)."
    } else {
        "A cell is nanoseconds for each call. There is no valgrind here, so instructions were not \
         counted."
    };
    format!(
        "{}\n\n{figures}\nThe same {INSTANTS} random instants from 2020 to 2036 for all ({COUNT_INSTANTS} \
         for counts), the zone loaded and the text parsed before.\n`*`: this share of the answers is \
         not ours. `-`: the library does not answer this.\n",
        versions::line()
    )
}

fn tables(results: &Results, format: Format) -> Vec<Table> {
    let day = Question::Count(Span::Day);
    let mut tables = Vec::new();
    for (question, what) in [
        (Question::Next, "next slot after t"),
        (Question::Latest, "latest slot at or before t"),
        (day, "slots in (t - 1 day, t]; the peers have no count and iterate"),
    ] {
        let zones = Zone::ALL.into_iter();
        tables.extend(zones.map(|zone| beside_peers(results, question, zone, what, format)));
    }
    tables.push(own_counts(results, format));
    tables.push(since_1970(results));
    tables
}

/// A table of one question in one zone: the libraries beside each other.
fn beside_peers(
    results: &Results,
    question: Question,
    zone: Zone,
    what: &str,
    format: Format,
) -> Table {
    let offering =
        |column: &&Column| column.cells(question, zone).any(|(_, c)| c != Cell::NotOffered);
    let columns: Vec<&Column> = results.columns.iter().filter(offering).collect();
    let mut rows = Vec::new();
    for (at, expression) in EXPRESSIONS.iter().enumerate() {
        let cells = columns.iter().filter_map(|column| column.cells(question, zone).nth(at));
        let mut row = vec![label(expression, format)];
        row.extend(cells.map(|(_, cell)| text(cell)));
        rows.push(row);
    }
    let mut last = vec![String::from("geomean")];
    last.extend(columns.iter().map(|column| mean(column, question, zone)));
    rows.push(last);
    Table { title: format!("{what}, {}", zone.name()), header: header(&columns), rows }
}

fn header(columns: &[&Column]) -> Vec<String> {
    let names = columns.iter().map(|column| column.library.name().to_owned());
    std::iter::once(String::from("schedule")).chain(names).collect()
}

/// The geometric mean of a column, with a star if wrong answers are among what it is made of.
fn mean(column: &Column, question: Question, zone: Zone) -> String {
    let cells = || column.cells(question, zone).map(|(_, cell)| cell);
    let nanoseconds = targets::geomean(cells().map(Cell::nanoseconds));
    let instructions = targets::geomean(cells().map(Cell::instructions));
    let star = if cells().all(Cell::is_correct) { "" } else { "*" };
    nanoseconds.map_or("-".into(), |nanoseconds| cost(nanoseconds, instructions) + star)
}

/// What only we can count.
fn own_counts(results: &Results, format: Format) -> Table {
    let spans = [
        (Span::Day, "(t - 1 day, t]"),
        (Span::Year, "(t - 1 year, t]"),
        (Span::Since1970, "(1970, t]"),
    ];
    let columns: Vec<(Span, Zone)> =
        Zone::ALL.iter().flat_map(|zone| spans.map(|(span, _)| (span, *zone))).collect();
    let names = Zone::ALL.iter().flat_map(|zone| {
        spans.map(|(_, name)| format!("{name} {}", if *zone == Zone::Utc { "UTC" } else { "NY" }))
    });
    let rows = EXPRESSIONS.iter().enumerate().map(|(at, expression)| {
        let cells = columns
            .iter()
            .filter_map(|(span, zone)| results.ours().cells(Question::Count(*span), *zone).nth(at));
        let mut row = vec![label(expression, format)];
        row.extend(cells.map(|(_, cell)| text(cell)));
        row
    });
    Table {
        title: "count of slots by punctual alone".into(),
        header: std::iter::once(String::from("schedule")).chain(names).collect(),
        rows: rows.collect(),
    }
}

/// The case of a controller that wakes up after decades.
fn since_1970(results: &Results) -> Table {
    let columns: Vec<&Column> = results.columns.iter().collect();
    let mut rows = Vec::new();
    for zone in Zone::ALL {
        for (question, what) in targets::SINCE_1970 {
            let cells = columns.iter().filter_map(|column| column.cells(question, zone).next());
            let mut row = vec![format!("{what}, {}", zone.name())];
            row.extend(cells.map(|(_, cell)| text(cell)));
            rows.push(row);
        }
    }
    let mut header = header(&columns);
    header[0] = "question".into();
    Table { title: "every minute, last run 1970-01-01".into(), header, rows }
}

fn checksums(results: &Results) -> String {
    let of = |column: &Column| format!("{} {:016x}", column.library.name(), column.checksum);
    let all: Vec<String> = results.columns.iter().map(of).collect();
    format!("Checksums of the answers: {}.\n", all.join(", "))
}

fn label(expression: &Expression, format: Format) -> String {
    match format {
        Format::Plain => expression.text.into(),
        Format::Markdown => format!("`{}`", expression.text),
    }
}

fn text(cell: Cell) -> String {
    let figures = match cell {
        Cell::NotOffered => return "-".into(),
        Cell::Missing(end) => return end.name().into(),
        Cell::Measured(figures) => figures,
    };
    let Figures { nanoseconds, instructions, differing } = figures;
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
    use crate::bounded::End;

    #[test]
    fn a_cell_says_what_is_known() {
        let figures = Figures { nanoseconds: 30.4, instructions: Some(339.6), differing: 0.0 };
        assert_eq!(text(Cell::Measured(figures)), "30/340");
        assert_eq!(text(Cell::Measured(Figures { instructions: None, ..figures })), "30");
        assert_eq!(text(Cell::Measured(Figures { differing: 0.972, ..figures })), "30/340* 97.2 %");
        assert_eq!(text(Cell::NotOffered), "-");
        assert_eq!(text(Cell::Missing(End::TimedOut)), "timed out");
    }
}
