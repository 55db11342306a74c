//! What `punctual-schedule` costs beside other cron libraries.
//!
//! `cargo bench -p punctual-schedule` builds and runs this. It starts itself once for each library,
//! and once more under callgrind, so that a library that hangs or panics harms only its own column.
//! Our answers are the reference for the others; that they are right is shown by the tests of the
//! library, minute by minute.

mod bounded;
mod callgrind;
mod library;
mod measure;
mod report;
mod results;
mod runs;
mod table;
mod targets;
mod versions;
mod workload;

use std::{env, io, process::ExitCode};

use crate::{measure::Mode, table::Format};

const USAGE: &str = "usage: schedule-peers [--markdown]";

fn main() -> io::Result<ExitCode> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => report(Format::Plain),
        ["--markdown"] => report(Format::Markdown),
        [runs::MEASURE, mode, library] => measure(mode, library),
        _ => Err(io::Error::other(USAGE)),
    }
}

fn report(format: Format) -> io::Result<ExitCode> {
    let results = results::collect()?;
    let targets = targets::all(&results);
    print!("{}", report::render(&results, &targets, format));
    let missed = targets::any_missed(&targets, results.has_valgrind);
    Ok(if missed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn measure(mode: &str, library: &str) -> io::Result<ExitCode> {
    let (Some(mode), Some(library)) = (Mode::by_name(mode), library::by_name(library)) else {
        return Err(io::Error::other(USAGE));
    };
    measure::measure(library, mode);
    Ok(ExitCode::SUCCESS)
}
