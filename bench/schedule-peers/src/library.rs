//! The libraries and a common interface to them.
//!
//! `prepare` does the work of each schedule (parsing, loading the zone). The query that it returns
//! does the work of each call, from Unix seconds to Unix seconds.

mod convert;
mod cron;
mod croner;
mod cronexpr;
mod jiff_cron;
mod punctual;
mod saffron;

use crate::workload::WorkItem;

/// A prepared operation on a Unix second. Every library pays for the same virtual call.
pub(crate) type Query = Box<dyn Fn(i64) -> i64>;

/// The result if there is no slot.
const NEVER: i64 = i64::MIN;

/// Limits the iteration: `cron` can loop where the clocks are set back. No day has more slots.
const STEPS_MAX: usize = 2 * 1440;

/// A library to measure.
pub(crate) struct Library {
    pub(crate) name: &'static str,
    /// The name of its Cargo package.
    package: &'static str,
    /// Returns the query of a work item, or None if the library does not offer the operation.
    pub(crate) prepare: fn(&WorkItem) -> Option<Query>,
}

/// All libraries in the order of the tables, ours first.
pub(crate) static LIBRARIES: [Library; 7] = [
    Library { name: "punctual", package: "punctual-schedule", prepare: punctual::prepare },
    Library { name: "saffron", package: "saffron", prepare: saffron::prepare },
    Library { name: "cron", package: "cron", prepare: cron::prepare },
    Library { name: "jiff-cron", package: "jiff-cron", prepare: jiff_cron::prepare },
    Library { name: "croner", package: "croner", prepare: croner::prepare_chrono },
    Library { name: "croner-jiff", package: "croner", prepare: croner::prepare_jiff },
    Library { name: "cronexpr", package: "cronexpr", prepare: cronexpr::prepare },
];

/// The lock file of this program, for the versions.
const LOCK: &str = include_str!("../Cargo.lock");

pub(crate) fn ours() -> &'static Library {
    &LIBRARIES[0]
}

pub(crate) fn by_name(name: &str) -> Option<&'static Library> {
    LIBRARIES.iter().find(|library| library.name == name)
}

/// Lists all libraries with their versions.
pub(crate) fn versions() -> String {
    let named = LIBRARIES.iter().map(|library| {
        format!("{} {}", library.name, version_in(LOCK, library.package).unwrap_or("?"))
    });
    named.collect::<Vec<_>>().join(", ")
}

fn version_in<'l>(lock: &'l str, package: &str) -> Option<&'l str> {
    let name = format!("name = \"{package}\"");
    let mut lines = lock.lines().skip_while(|line| *line != name);
    lines.nth(1)?.strip_prefix("version = \"")?.strip_suffix('"')
}

/// Counts slots one by one, for libraries without a count.
fn count_until(until: i64, slots: impl Iterator<Item = i64>) -> i64 {
    slots.take(STEPS_MAX).take_while(|slot| *slot <= until).count() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_file_has_every_library() {
        for library in &LIBRARIES {
            assert!(version_in(LOCK, library.package).is_some(), "{}", library.name);
        }
        assert_eq!(version_in(LOCK, "croner"), Some("4.0.2"));
    }
}
