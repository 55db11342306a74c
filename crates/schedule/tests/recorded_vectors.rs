//! Compares slots and parse results with the vectors recorded from robfig/cron and from a check of
//! every minute.

#![cfg(feature = "bundled-tzdata")]
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod recorded;

use punctual_schedule::{Schedule, Zones};
use recorded::RecordedSlots;

#[test]
fn slots_equal_the_recorded_slots() {
    let zones = Zones::bundled();
    for RecordedSlots { expr, tz, after, next } in recorded::read_slots() {
        let schedule = Schedule::parse(&expr, &zones.get(&tz).unwrap()).unwrap();
        let mut slots = schedule.after(after.parse().unwrap());
        for expected in next {
            let found = slots.next().map(|slot| slot.to_string()).unwrap_or_default();
            assert_eq!(found, expected, "{expr} in {tz} after {after}");
        }
    }
}

#[test]
fn parse_results_equal_the_recorded_results() {
    let utc = Zones::bundled().utc();
    for result in recorded::read_parse_results() {
        let error = Schedule::parse(&result.expr, &utc).err().map(|error| error.to_string());
        result.compare(error.as_deref());
    }
}
