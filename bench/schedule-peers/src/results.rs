//! The results of a benchmark run: a column for each library, a cell for each item.

use std::{env, io};

use crate::{
    callgrind,
    library::{self, LIBRARIES, Library},
    process::ExitKind,
    run::{self, CountedRun, TimedRun},
    workload::{BenchSchedule, BenchZone, Operation, WorkItem, work_items},
};

/// The result of one library for one item.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum CellResult {
    /// The library does not offer the operation.
    NotOffered,
    /// The process ended before this item.
    Missing(ExitKind),
    Measured(CellFigures),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CellFigures {
    pub(crate) nanoseconds: f64,
    /// None without valgrind.
    pub(crate) instructions: Option<f64>,
    /// The share of results that differ from ours.
    pub(crate) differing: f64,
}

impl CellResult {
    pub(crate) fn figures(self) -> Option<CellFigures> {
        match self {
            CellResult::Measured(figures) => Some(figures),
            CellResult::NotOffered | CellResult::Missing(_) => None,
        }
    }

    /// All results equal ours.
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

/// The results of one library.
pub(crate) struct LibraryResults {
    pub(crate) library: &'static Library,
    pub(crate) checksum: u64,
    cells: Vec<(WorkItem, CellResult)>,
}

impl LibraryResults {
    /// Returns the cells of an operation in a zone, in the order of the schedules.
    pub(crate) fn cells(
        &self,
        operation: Operation,
        zone: BenchZone,
    ) -> impl Iterator<Item = (&'static BenchSchedule, CellResult)> {
        self.cells
            .iter()
            .filter(move |(item, _)| item.operation == operation && item.zone == zone)
            .map(|(item, cell)| (item.expression, *cell))
    }

    pub(crate) fn is_ours(&self) -> bool {
        self.library.name == library::ours().name
    }
}

/// The results of all libraries.
pub(crate) struct BenchResults {
    /// Ours first.
    pub(crate) columns: Vec<LibraryResults>,
    pub(crate) has_valgrind: bool,
}

impl BenchResults {
    pub(crate) fn ours(&self) -> &LibraryResults {
        &self.columns[0]
    }
}

/// Measures all libraries.
pub(crate) fn collect() -> io::Result<BenchResults> {
    let program = env::current_exe()?;
    let has_valgrind = callgrind::is_available();
    let timed = LIBRARIES.iter().map(|library| run::time(&program, library));
    let timed: Vec<TimedRun> = timed.collect::<io::Result<_>>()?;
    let counted = if has_valgrind {
        run::count_all(&program)?
    } else {
        LIBRARIES.iter().map(|_| CountedRun::new()).collect()
    };
    let columns = LIBRARIES.iter().zip(timed.iter().zip(&counted));
    let columns = columns.map(|(library, (timed, counted))| column(library, timed, counted));
    Ok(BenchResults { columns: columns.collect::<io::Result<_>>()?, has_valgrind })
}

fn column(
    library: &'static Library,
    timed: &TimedRun,
    counted: &CountedRun,
) -> io::Result<LibraryResults> {
    let mut cells = Vec::new();
    for (number, item) in work_items().into_iter().enumerate() {
        let cell = if (library.prepare)(&item).is_none() {
            CellResult::NotOffered
        } else {
            measured_cell(library, number, item.calls(), timed, counted)?
        };
        cells.push((item, cell));
    }
    let checksum = timed.lines.iter().fold(0_u64, |sum, line| sum.rotate_left(7) ^ line.checksum);
    Ok(LibraryResults { library, checksum, cells })
}

/// Combines the two measurements of the item with the given number.
fn measured_cell(
    library: &Library,
    number: usize,
    calls: usize,
    timed: &TimedRun,
    counted: &CountedRun,
) -> io::Result<CellResult> {
    let Some(line) = timed.lines.iter().find(|line| line.item == number) else {
        return Ok(CellResult::Missing(timed.end));
    };
    let counted = counted.iter().find(|(counted, _)| counted.item == number);
    if counted.is_some_and(|(counted, _)| counted.checksum != line.checksum) {
        let text = format!("{}, item {number}: the checksums of two runs differ", library.name);
        return Err(io::Error::other(text));
    }
    let calls = calls as f64;
    Ok(CellResult::Measured(CellFigures {
        nanoseconds: line.nanoseconds,
        instructions: counted.map(|(_, instructions)| *instructions as f64 / calls),
        differing: line.differing as f64 / calls,
    }))
}
