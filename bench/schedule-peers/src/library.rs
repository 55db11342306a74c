//! A common interface to the libraries.
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

pub(crate) trait Library: Sync {
    fn name(&self) -> &'static str;

    /// The name of its Cargo package.
    fn package(&self) -> &'static str {
        self.name()
    }

    /// Returns the query of a work item, or None if the library does not offer the operation.
    fn prepare(&self, item: &WorkItem) -> Option<Query>;
}

/// The library of this project.
pub(crate) const OURS: &dyn Library = &punctual::Punctual;

/// All libraries in the order of the tables, ours first.
pub(crate) const LIBRARIES: [&dyn Library; 7] = [
    OURS,
    &saffron::Saffron,
    &cron::CronCrate,
    &jiff_cron::JiffCron,
    &croner::CronerChrono,
    &croner::CronerJiff,
    &cronexpr::Cronexpr,
];

pub(crate) fn by_name(name: &str) -> Option<&'static dyn Library> {
    LIBRARIES.into_iter().find(|library| library.name() == name)
}

/// Counts slots one by one, for libraries without a count.
fn count_until(until: i64, slots: impl Iterator<Item = i64>) -> i64 {
    slots.take(STEPS_MAX).take_while(|slot| *slot <= until).count() as i64
}
