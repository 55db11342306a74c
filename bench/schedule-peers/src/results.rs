//! The results of a benchmark run: a row for each work item, a cell for each library.

use std::{env, io};

use crate::{
    library::{LIBRARIES, Library},
    run::{self, CountedRun, TimedRun},
    workload::{BenchZone, Operation, WorkItem, work_items},
};

/// The figures of one library for one item, or the word that the report shows in their place.
pub(crate) type CellResult = Result<CellFigures, &'static str>;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CellFigures {
    pub(crate) nanoseconds: f64,
    /// None without valgrind.
    pub(crate) instructions: Option<f64>,
    /// The share of results that differ from ours.
    pub(crate) differing: f64,
}

/// The results of all libraries for one item, in the order of [`LIBRARIES`], ours first.
pub(crate) struct ItemResults {
    pub(crate) item: WorkItem,
    pub(crate) cells: Vec<CellResult>,
}

impl ItemResults {
    pub(crate) fn is_of(&self, operation: Operation, zone: BenchZone) -> bool {
        self.item.operation == operation && self.item.zone == zone
    }

    pub(crate) fn ours(&self) -> Option<CellFigures> {
        self.cells.first()?.ok()
    }
}

/// Measures all libraries.
pub(crate) fn collect() -> io::Result<Vec<ItemResults>> {
    let program = env::current_exe()?;
    let timed = LIBRARIES.iter().map(|library| run::time(&program, library));
    let timed: Vec<TimedRun> = timed.collect::<io::Result<_>>()?;
    let counted = run::count_all(&program)?;
    let mut rows = Vec::new();
    for (number, item) in work_items().into_iter().enumerate() {
        let runs = LIBRARIES.iter().zip(timed.iter().zip(&counted));
        let cells = runs.map(|(library, (timed, counted))| {
            if (library.prepare)(&item).is_none() {
                return Ok(Err("-"));
            }
            measured_cell(library, number, item.calls() as f64, timed, counted)
        });
        rows.push(ItemResults { item, cells: cells.collect::<io::Result<_>>()? });
    }
    Ok(rows)
}

/// Combines the two measurements of the item with the given number.
fn measured_cell(
    library: &Library,
    number: usize,
    calls: f64,
    timed: &TimedRun,
    counted: &CountedRun,
) -> io::Result<CellResult> {
    let Some(line) = timed.lines.iter().find(|line| line.item == number) else {
        return Ok(Err(timed.end.name()));
    };
    let counted = counted.iter().find(|(counted, _)| counted.item == number);
    if counted.is_some_and(|(counted, _)| counted.checksum != line.checksum) {
        let text = format!("{}, item {number}: the checksums of two runs differ", library.name);
        return Err(io::Error::other(text));
    }
    Ok(Ok(CellFigures {
        nanoseconds: line.nanoseconds,
        instructions: counted.map(|(_, instructions)| *instructions as f64 / calls),
        differing: line.differing as f64 / calls,
    }))
}
