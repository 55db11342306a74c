//! Starting the processes that measure one library each.

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
    bounded::{self, End},
    callgrind::{self, Parts},
    library::{LIBRARIES, Library},
    measure::{Line, Mode},
};

/// The first word of the arguments of a measuring process.
pub(crate) const MEASURE: &str = "measure";

/// A run takes seconds, and under callgrind a minute on a busy machine.
const TIME_LIMIT: Duration = Duration::from_secs(60);
const COUNT_LIMIT: Duration = Duration::from_secs(240);

/// What a process said, and how it ended.
pub(crate) struct Timed {
    pub(crate) lines: Vec<Line>,
    pub(crate) end: End,
}

/// The rows that were measured under callgrind, with their instructions.
pub(crate) type Counted = Vec<(Line, u64)>;

/// One library for nanoseconds.
pub(crate) fn time(program: &Path, library: &dyn Library) -> io::Result<Timed> {
    eprintln!("timing {}", library.name());
    run(Command::new(program), library, Mode::Time, TIME_LIMIT)
}

/// All libraries for instructions, as many at once as there are processors: instructions do not
/// care who else is running. In the order of [`LIBRARIES`].
pub(crate) fn count_all(program: &Path) -> io::Result<Vec<Counted>> {
    // The slow ones are last in the list, and had better not begin last.
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

/// The work of one thread: one library after the other, until none is waiting.
fn count_some(
    program: &Path,
    waiting: &Mutex<Rev<Range<usize>>>,
) -> io::Result<Vec<(usize, Counted)>> {
    let take = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
    let mut done = Vec::new();
    while let Some(at) = take() {
        done.push((at, count(program, LIBRARIES[at])?));
    }
    Ok(done)
}

fn processors() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

fn panicked() -> io::Error {
    io::Error::other("a thread that waits for callgrind panicked")
}

fn count(program: &Path, library: &dyn Library) -> io::Result<Counted> {
    eprintln!("counting the instructions of {}", library.name());
    let folder = format!("callgrind.out.{}.{}", library.name(), std::process::id());
    let parts = Parts::new(program.with_file_name(folder))?;
    let command = callgrind::command(program, &parts);
    let Timed { lines, .. } = run(command, library, Mode::Count, COUNT_LIMIT)?;
    let instructions = parts.instructions()?;
    if instructions.len() < lines.len() {
        let (parts, rows) = (instructions.len(), lines.len());
        return Err(io::Error::other(format!("callgrind wrote {parts} parts for {rows} rows")));
    }
    Ok(lines.into_iter().zip(instructions).collect())
}

fn run(
    mut command: Command,
    library: &dyn Library,
    mode: Mode,
    limit: Duration,
) -> io::Result<Timed> {
    command.args([MEASURE, mode.name(), library.name()]);
    let (lines, end) = bounded::run(command, limit)?;
    if end != End::Finished {
        eprintln!("{}: {} after {} rows", library.name(), end.name(), lines.len());
    }
    Ok(Timed { lines: lines.iter().filter_map(|line| Line::parse(line)).collect(), end })
}
