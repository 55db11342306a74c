//! The recorded facts, through the library.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod recorded;

use punctual_schedule::{Schedule, Zones};
use recorded::Slots;

#[test]
fn slots_are_as_recorded() {
    let zones = Zones::bundled();
    for Slots { expr, tz, after, next } in recorded::slots() {
        let schedule = Schedule::parse(&expr, &zones.get(&tz).unwrap()).unwrap();
        let mut slots = schedule.after(after.parse().unwrap());
        for wanted in next {
            let found = slots.next().map(|slot| slot.to_string()).unwrap_or_default();
            assert_eq!(found, wanted, "{expr} in {tz} after {after}");
        }
    }
}

#[test]
fn texts_are_accepted_and_refused_as_recorded() {
    let utc = Zones::bundled().utc();
    for text in recorded::texts() {
        let error = Schedule::parse(&text.expr, &utc).err().map(|error| error.to_string());
        text.check(error.as_deref());
    }
}
