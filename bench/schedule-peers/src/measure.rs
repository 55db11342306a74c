//! The measured side: a process that asks one library everything and prints what came of it.
//!
//! A line for each row, as soon as it is known, so that a process that must be ended has not run
//! in vain. [`Line`] is that line, and both sides use it.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use crate::{
    library::{Ask, Library, OURS},
    workload::{Row, instants, rows},
};

/// Rows are repeated until this much time has passed; the fastest pass counts.
const TIMED_FOR: Duration = Duration::from_millis(40);

/// How to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// For nanoseconds, and to compare the answers with ours.
    Time,
    /// For callgrind: each row exactly once.
    Count,
}

impl Mode {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Mode::Time => "time",
            Mode::Count => "count",
        }
    }

    pub(crate) fn by_name(name: &str) -> Option<Mode> {
        [Mode::Time, Mode::Count].into_iter().find(|mode| mode.name() == name)
    }
}

/// What a process has to say about one row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Line {
    /// The number of the row.
    pub(crate) row: usize,
    /// All answers in one number: the loop has worked, and in both modes on the same.
    pub(crate) checksum: u64,
    /// Nanoseconds for each call; zero if nobody looked.
    pub(crate) nanoseconds: f64,
    /// How many answers differ from ours.
    pub(crate) differing: usize,
}

impl Line {
    fn print(self) {
        let Line { row, checksum, nanoseconds, differing } = self;
        println!("{row} {checksum} {nanoseconds} {differing}");
    }

    pub(crate) fn parse(text: &str) -> Option<Line> {
        let mut words = text.split(' ');
        Some(Line {
            row: words.next()?.parse().ok()?,
            checksum: words.next()?.parse().ok()?,
            nanoseconds: words.next()?.parse().ok()?,
            differing: words.next()?.parse().ok()?,
        })
    }
}

/// Asks a library every row that it can answer.
pub(crate) fn measure(library: &dyn Library, mode: Mode) {
    let instants = instants();
    for (number, row) in rows().iter().enumerate() {
        let Some(ask) = library.prepare(row) else { continue };
        let asked = &instants[..row.calls()];
        match mode {
            Mode::Time => timed(number, row, &ask, asked).print(),
            Mode::Count => {
                let checksum = measured_loop(&ask, asked);
                Line { row: number, checksum, nanoseconds: 0.0, differing: 0 }.print();
            }
        }
    }
}

fn timed(number: usize, row: &Row, ask: &Ask, instants: &[i64]) -> Line {
    let ours = OURS.prepare(row).expect("our library answers every question");
    let differing = instants.iter().filter(|t| ask(**t) != ours(**t)).count();
    let (checksum, fastest) = fastest_pass(ask, instants);
    let nanoseconds = fastest.as_nanos() as f64 / instants.len() as f64;
    Line { row: number, checksum, nanoseconds, differing }
}

#[expect(clippy::disallowed_methods, reason = "a benchmark is about what the clock says")]
fn fastest_pass(ask: &Ask, instants: &[i64]) -> (u64, Duration) {
    let mut fastest = Duration::MAX;
    let begin = Instant::now();
    loop {
        let pass = Instant::now();
        let checksum = black_box(measured_loop(ask, instants));
        fastest = fastest.min(pass.elapsed());
        if begin.elapsed() > TIMED_FOR {
            return (checksum, fastest);
        }
    }
}

/// What is measured, and nothing else. Callgrind knows it by [`MEASURED`].
#[inline(never)]
fn measured_loop(ask: &Ask, instants: &[i64]) -> u64 {
    let mut checksum = 0_u64;
    for t in instants {
        checksum = checksum.rotate_left(5) ^ ask(black_box(*t)) as u64;
    }
    checksum
}

/// The symbol of [`measured_loop`].
pub(crate) const MEASURED: &str = concat!(module_path!(), "::measured_loop");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_it_is_written() {
        let line = Line { row: 7, checksum: u64::MAX, nanoseconds: 31.5, differing: 3 };
        assert_eq!(Line::parse("7 18446744073709551615 31.5 3"), Some(line));
        assert_eq!(Line::parse("7 18446744073709551615 31."), None);
    }
}
