//! Starts one measuring process for each library.

use std::{
    io,
    iter::Rev,
    num::NonZero,
    ops::Range,
    path::Path,
    process::Command,
    sync::{Mutex, PoisonError},
    thread,
    time::Duration,
};

use crate::{
    callgrind::{self, PartFiles},
    library::{LIBRARIES, Library},
    measure::{MeasureMode, Measurement},
    process::{self, ExitKind},
};

/// The first argument of a measuring process.
pub(crate) const MEASURE: &str = "measure";

/// A process takes seconds, and under callgrind a minute on a busy machine.
const TIME_LIMIT: Duration = Duration::from_secs(60);
const COUNT_LIMIT: Duration = Duration::from_secs(240);

/// The measurements of a process and how it ended.
pub(crate) struct TimedRun {
    pub(crate) lines: Vec<Measurement>,
    pub(crate) end: ExitKind,
}

/// The items measured under callgrind with their instructions.
pub(crate) type CountedRun = Vec<(Measurement, u64)>;

/// Measures the time of one library.
pub(crate) fn time(program: &Path, library: &Library) -> io::Result<TimedRun> {
    eprintln!("timing {}", library.name);
    run(Command::new(program), library, MeasureMode::Time, TIME_LIMIT)
}

/// Counts the instructions of all libraries, in the order of [`LIBRARIES`]. Runs as many processes as
/// there are processors, because other load does not change instruction counts.
pub(crate) fn count_all(program: &Path) -> io::Result<Vec<CountedRun>> {
    // The slow libraries are last in the list, so start with them.
    let waiting = Mutex::new((0..LIBRARIES.len()).rev());
    let mut counted = thread::scope(|scope| {
        let workers: Vec<_> =
            (0..processors()).map(|_| scope.spawn(|| count_some(program, &waiting))).collect();
        let mut counted = Vec::new();
        for worker in workers {
            counted.extend(worker.join().unwrap_or_else(|_| Err(panicked()))?);
        }
        Ok::<_, io::Error>(counted)
    })?;
    counted.sort_by_key(|(at, _)| *at);
    Ok(counted.into_iter().map(|(_, counted)| counted).collect())
}

/// Counts one library after another until none is waiting.
fn count_some(
    program: &Path,
    waiting: &Mutex<Rev<Range<usize>>>,
) -> io::Result<Vec<(usize, CountedRun)>> {
    let take = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
    let mut done = Vec::new();
    while let Some(at) = take() {
        done.push((at, count(program, &LIBRARIES[at])?));
    }
    Ok(done)
}

fn processors() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

fn panicked() -> io::Error {
    io::Error::other("a thread that waits for callgrind panicked")
}

fn count(program: &Path, library: &Library) -> io::Result<CountedRun> {
    eprintln!("counting the instructions of {}", library.name);
    let folder = format!("callgrind.out.{}.{}", library.name, std::process::id());
    let parts = PartFiles::new(program.with_file_name(folder))?;
    let command = callgrind::command(program, &parts);
    let TimedRun { lines, .. } = run(command, library, MeasureMode::Count, COUNT_LIMIT)?;
    let instructions = parts.instructions()?;
    if instructions.len() < lines.len() {
        return Err(io::Error::other(format!(
            "callgrind wrote {} parts for {} items",
            instructions.len(),
            lines.len()
        )));
    }
    Ok(lines.into_iter().zip(instructions).collect())
}

fn run(
    mut command: Command,
    library: &Library,
    mode: MeasureMode,
    limit: Duration,
) -> io::Result<TimedRun> {
    command.args([MEASURE, mode.name(), library.name]);
    let (lines, end) = process::run(command, limit)?;
    if end != ExitKind::Finished {
        eprintln!("{}: {} after {} items", library.name, end.name(), lines.len());
    }
    Ok(TimedRun { lines: lines.iter().filter_map(|line| Measurement::parse(line)).collect(), end })
}
