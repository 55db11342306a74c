//! Starts one measuring process for each library, and one more under callgrind.
//!
//! callgrind counts only inside the measured loop and writes a part file each time the loop ends, so
//! the n-th part belongs to the n-th item that the process measured.

use std::{
    fs, io,
    num::NonZero,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use crate::{
    library::{LIBRARIES, Library},
    measure::{MEASURED, MeasureMode, Measurement},
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

/// Reports whether valgrind is installed.
pub(crate) fn has_valgrind() -> bool {
    let version = Command::new("valgrind").arg("--version").stdout(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

/// Measures the time of one library.
pub(crate) fn time(program: &Path, library: &Library) -> io::Result<TimedRun> {
    eprintln!("timing {}", library.name);
    run(Command::new(program), library, MeasureMode::Time, TIME_LIMIT)
}

/// Counts the instructions of all libraries, in the order of [`LIBRARIES`]; no items without valgrind.
/// Runs as many processes as there are processors, because other load does not change the counts.
pub(crate) fn count_all(program: &Path) -> io::Result<Vec<CountedRun>> {
    if !has_valgrind() {
        return Ok(LIBRARIES.iter().map(|_| CountedRun::new()).collect());
    }
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    let mut counted = Vec::new();
    for libraries in LIBRARIES.chunks(processors) {
        let runs = thread::scope(|scope| {
            let threads = libraries.iter().map(|library| scope.spawn(|| count(program, library)));
            let threads: Vec<_> = threads.collect();
            let panicked = |_| Err(io::Error::other("a thread that waits for callgrind panicked"));
            let runs = threads.into_iter().map(|thread| thread.join().unwrap_or_else(panicked));
            runs.collect::<io::Result<Vec<_>>>()
        });
        counted.extend(runs?);
    }
    Ok(counted)
}

fn count(program: &Path, library: &Library) -> io::Result<CountedRun> {
    eprintln!("counting the instructions of {}", library.name);
    let folder = format!("callgrind.out.{}.{}", library.name, std::process::id());
    let folder = program.with_file_name(folder);
    fs::create_dir_all(&folder)?;
    let counted = count_in(program, library, &folder.join("part"));
    fs::remove_dir_all(&folder)?;
    counted
}

fn count_in(program: &Path, library: &Library, parts: &Path) -> io::Result<CountedRun> {
    let mut command = Command::new("valgrind");
    // Uses the full symbol name: callgrind applies only one of two options with the same pattern.
    command
        .args(["--tool=callgrind", "--quiet"])
        .arg(format!("--toggle-collect={MEASURED}"))
        .arg(format!("--dump-after={MEASURED}"))
        .arg(format!("--callgrind-out-file={}", parts.display()))
        .arg(program);
    let TimedRun { lines, .. } = run(command, library, MeasureMode::Count, COUNT_LIMIT)?;
    let counted = (1..).zip(lines).map(|(number, line): (u32, _)| {
        let part = fs::read_to_string(parts.with_extension(number.to_string()));
        let missing = || io::Error::other(format!("callgrind did not count item {number}"));
        Ok((line, part.ok().and_then(|part| total(&part)).ok_or_else(missing)?))
    });
    counted.collect()
}

/// Returns the instruction count of a part file.
fn total(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("totals: "))?.trim().parse().ok()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_of_a_part_file_is_parsed() {
        let part = "version: 1\nevents: Ir\nsummary: 7\n\nfn=(1) f\n+3 7\n\ntotals: 1234\n";
        assert_eq!(total(part), Some(1234));
        assert_eq!(total("version: 1\nevents: Ir\n"), None);
    }
}
