//! All figures of a run: a column for each library, a cell for each row.

use std::{env, io};

use crate::{
    bounded::End,
    callgrind,
    library::{LIBRARIES, Library, OURS},
    runs::{self, Counted, Timed},
    workload::{Expression, Question, Row, Zone, rows},
};

/// One library on one row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cell {
    /// The library does not answer such a question.
    NotOffered,
    /// The process ended before it came to this row.
    Missing(End),
    Measured(Figures),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Figures {
    pub(crate) nanoseconds: f64,
    /// None without valgrind.
    pub(crate) instructions: Option<f64>,
    /// The share of answers that differ from ours.
    pub(crate) differing: f64,
}

impl Cell {
    pub(crate) fn figures(self) -> Option<Figures> {
        match self {
            Cell::Measured(figures) => Some(figures),
            Cell::NotOffered | Cell::Missing(_) => None,
        }
    }

    /// Whether all answers were ours.
    pub(crate) fn is_correct(self) -> bool {
        self.figures().is_some_and(|figures| figures.differing == 0.0)
    }

    pub(crate) fn nanoseconds(self) -> Option<f64> {
        self.figures().map(|figures| figures.nanoseconds)
    }

    pub(crate) fn instructions(self) -> Option<f64> {
        self.figures()?.instructions
    }
}

/// The cells of one library.
pub(crate) struct Column {
    pub(crate) library: &'static dyn Library,
    pub(crate) checksum: u64,
    cells: Vec<(Row, Cell)>,
}

impl Column {
    /// The cells of a question in a zone, in the order of the schedules.
    pub(crate) fn cells(
        &self,
        question: Question,
        zone: Zone,
    ) -> impl Iterator<Item = (&'static Expression, Cell)> {
        self.cells
            .iter()
            .filter(move |(row, _)| row.question == question && row.zone == zone)
            .map(|(row, cell)| (row.expression, *cell))
    }

    pub(crate) fn is_ours(&self) -> bool {
        self.library.name() == OURS.name()
    }
}

/// Everything that was measured.
pub(crate) struct Results {
    /// Ours first.
    pub(crate) columns: Vec<Column>,
    pub(crate) has_valgrind: bool,
}

impl Results {
    pub(crate) fn ours(&self) -> &Column {
        &self.columns[0]
    }
}

/// Measures all libraries.
pub(crate) fn collect() -> io::Result<Results> {
    let program = env::current_exe()?;
    let has_valgrind = callgrind::is_available();
    let timed = LIBRARIES.iter().map(|library| runs::time(&program, *library));
    let timed: Vec<Timed> = timed.collect::<io::Result<_>>()?;
    let counted = if has_valgrind {
        runs::count_all(&program)?
    } else {
        LIBRARIES.iter().map(|_| Counted::new()).collect()
    };
    let columns = LIBRARIES.iter().zip(timed.iter().zip(&counted));
    let columns = columns.map(|(library, (timed, counted))| column(*library, timed, counted));
    Ok(Results { columns: columns.collect::<io::Result<_>>()?, has_valgrind })
}

fn column(library: &'static dyn Library, timed: &Timed, counted: &Counted) -> io::Result<Column> {
    let numbered = rows().into_iter().enumerate();
    let cells =
        numbered.map(|(number, row)| Ok((row, cell(library, (number, &row), timed, counted)?)));
    let checksum = timed.lines.iter().fold(0_u64, |sum, line| sum.rotate_left(7) ^ line.checksum);
    Ok(Column { library, checksum, cells: cells.collect::<io::Result<_>>()? })
}

fn cell(
    library: &dyn Library,
    (number, row): (usize, &Row),
    timed: &Timed,
    counted: &Counted,
) -> io::Result<Cell> {
    if library.prepare(row).is_none() {
        return Ok(Cell::NotOffered);
    }
    let Some(line) = timed.lines.iter().find(|line| line.row == number) else {
        return Ok(Cell::Missing(timed.end));
    };
    let counted = counted.iter().find(|(counted, _)| counted.row == number);
    if counted.is_some_and(|(counted, _)| counted.checksum != line.checksum) {
        let name = library.name();
        return Err(io::Error::other(format!("{name}, row {number}: two runs, two results")));
    }
    let calls = row.calls() as f64;
    Ok(Cell::Measured(Figures {
        nanoseconds: line.nanoseconds,
        instructions: counted.map(|(_, instructions)| *instructions as f64 / calls),
        differing: line.differing as f64 / calls,
    }))
}
