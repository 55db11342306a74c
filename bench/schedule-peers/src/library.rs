//! The libraries, each behind the same narrow door.
//!
//! What a library does once for a schedule (parsing, loading the zone) belongs into `prepare`; what
//! it does at each call, from Unix seconds to Unix seconds, into the question that comes out of it.

mod cron;
mod croner;
mod cronexpr;
mod instant;
mod jiff_cron;
mod punctual;
mod saffron;

use crate::workload::Row;

/// A question ready to be asked at a Unix second. Every library pays for the same virtual call.
pub(crate) type Ask = Box<dyn Fn(i64) -> i64>;

/// The answer for "there is no such slot".
const NEVER: i64 = i64::MIN;

/// `cron` can go round in circles where the clocks go back; no true count of a day is above this.
const STEPS_MAX: usize = 2 * 1440;

pub(crate) trait Library: Sync {
    fn name(&self) -> &'static str;

    /// The package it is from, as Cargo knows it.
    fn package(&self) -> &'static str {
        self.name()
    }

    /// The question of a row, or None if the library does not answer such questions.
    fn prepare(&self, row: &Row) -> Option<Ask>;
}

/// Ours.
pub(crate) const OURS: &dyn Library = &punctual::Punctual;

/// All libraries, ours first, which is also their order in the tables.
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

/// Counts as the users of a library must that has no count: slot by slot.
fn count_until(until: i64, slots: impl Iterator<Item = i64>) -> i64 {
    slots.take(STEPS_MAX).take_while(|slot| *slot <= until).count() as i64
}
