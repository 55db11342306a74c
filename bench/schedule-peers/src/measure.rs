//! The measuring process: runs the workload with one library and prints the results.
//!
//! It prints a line for each item at once, so that the lines of a killed process still count.
//! [`Measurement`] writes and parses that line.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use crate::{
    library::{self, Library, Query},
    workload::{WorkItem, instants, work_items},
};

/// An item is repeated for this long; the fastest pass counts.
const TIMED_FOR: Duration = Duration::from_millis(40);

/// What a process measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MeasureMode {
    /// Nanoseconds, and how many results differ from ours.
    Time,
    /// Instructions: runs each item exactly once under callgrind.
    Count,
}

impl MeasureMode {
    pub(crate) fn name(self) -> &'static str {
        match self {
            MeasureMode::Time => "time",
            MeasureMode::Count => "count",
        }
    }

    pub(crate) fn by_name(name: &str) -> Option<MeasureMode> {
        [MeasureMode::Time, MeasureMode::Count].into_iter().find(|mode| mode.name() == name)
    }
}

/// The result of one item.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Measurement {
    /// The number of the item.
    pub(crate) item: usize,
    /// A checksum of all results, which must be equal in both modes.
    pub(crate) checksum: u64,
    /// Nanoseconds for each call; zero if not measured.
    pub(crate) nanoseconds: f64,
    /// The number of results that differ from ours.
    pub(crate) differing: usize,
}

impl Measurement {
    fn print(self) {
        let Measurement { item, checksum, nanoseconds, differing } = self;
        println!("{item} {checksum} {nanoseconds} {differing}");
    }

    pub(crate) fn parse(text: &str) -> Option<Measurement> {
        let mut words = text.split(' ');
        Some(Measurement {
            item: words.next()?.parse().ok()?,
            checksum: words.next()?.parse().ok()?,
            nanoseconds: words.next()?.parse().ok()?,
            differing: words.next()?.parse().ok()?,
        })
    }
}

/// Measures every item that a library offers.
pub(crate) fn measure(library: &Library, mode: MeasureMode) {
    let instants = instants();
    for (number, item) in work_items().iter().enumerate() {
        let Some(query) = (library.prepare)(item) else { continue };
        let asked = &instants[..item.calls()];
        match mode {
            MeasureMode::Time => timed(number, item, &query, asked).print(),
            MeasureMode::Count => {
                let checksum = measured_loop(&query, asked);
                Measurement { item: number, checksum, nanoseconds: 0.0, differing: 0 }.print();
            }
        }
    }
}

fn timed(number: usize, item: &WorkItem, query: &Query, instants: &[i64]) -> Measurement {
    let ours = (library::ours().prepare)(item).expect("punctual-schedule offers every operation");
    let differing = instants.iter().filter(|t| query(**t) != ours(**t)).count();
    let (checksum, fastest) = fastest_pass(query, instants);
    let nanoseconds = fastest.as_nanos() as f64 / instants.len() as f64;
    Measurement { item: number, checksum, nanoseconds, differing }
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn fastest_pass(query: &Query, instants: &[i64]) -> (u64, Duration) {
    let mut fastest = Duration::MAX;
    let begin = Instant::now();
    loop {
        let pass = Instant::now();
        let checksum = black_box(measured_loop(query, instants));
        fastest = fastest.min(pass.elapsed());
        if begin.elapsed() > TIMED_FOR {
            return (checksum, fastest);
        }
    }
}

/// The measured code. callgrind finds it by the name [`MEASURED`].
#[inline(never)]
fn measured_loop(query: &Query, instants: &[i64]) -> u64 {
    let mut checksum = 0_u64;
    for t in instants {
        checksum = checksum.rotate_left(5) ^ query(black_box(*t)) as u64;
    }
    checksum
}

/// The symbol name of [`measured_loop`].
pub(crate) const MEASURED: &str = concat!(module_path!(), "::measured_loop");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measurement_line_is_parsed() {
        let line = Measurement { item: 7, checksum: u64::MAX, nanoseconds: 31.5, differing: 3 };
        assert_eq!(Measurement::parse("7 18446744073709551615 31.5 3"), Some(line));
        assert_eq!(Measurement::parse("7 18446744073709551615 31."), None);
    }
}
