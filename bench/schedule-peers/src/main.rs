//! Benchmarks `punctual-schedule` and other cron libraries.
//!
//! `cargo bench -p punctual-schedule` builds and runs this program. It starts itself once for each
//! library, and once more under callgrind, so that a library that hangs or panics affects only its
//! own column. The results of `punctual-schedule` are the reference; its own tests verify them minute
//! by minute.

mod library;
mod limits;
mod measure;
mod process;
mod report;
mod results;
mod run;
mod workload;

use std::{env, io, process::ExitCode};

use crate::measure::MeasureMode;

const USAGE: &str = "usage: schedule-peers";

fn main() -> io::Result<ExitCode> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => report(),
        [run::MEASURE, mode, library] => measure(mode, library),
        _ => Err(io::Error::other(USAGE)),
    }
}

fn report() -> io::Result<ExitCode> {
    let results = results::collect()?;
    let limits = limits::check_all(&results);
    print!("{}", report::render(&results, &limits));
    let is_exceeded = limits::is_any_exceeded(&limits, run::has_valgrind());
    Ok(if is_exceeded { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn measure(mode: &str, library: &str) -> io::Result<ExitCode> {
    let (Some(mode), Some(library)) = (MeasureMode::by_name(mode), library::by_name(library))
    else {
        return Err(io::Error::other(USAGE));
    };
    measure::measure(library, mode);
    Ok(ExitCode::SUCCESS)
}
