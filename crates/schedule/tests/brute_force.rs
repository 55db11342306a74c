//! Every minute around every change of the clocks, in every zone of the database, with random
//! expressions: next, latest and count against the rule itself.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod oracle;

use std::ops::Range;

use jiff::{Timestamp, tz::TimeZone};
use oracle::{Expression, dice::Dice, instant};
use punctual_schedule::{Schedule, Zone, Zones};

/// Compares the library with the rule at every minute of a window, and in the middle of it.
fn compare(schedule: &Schedule, slots: &[i64], window: Range<i64>) {
    let start = instant(window.start);
    for minute in window.clone() {
        let passed = slots.partition_point(|slot| *slot <= minute);
        let explain = || format!("{schedule} in {:?} at {}", schedule.zone(), instant(minute));
        for at in [instant(minute), Timestamp::new(minute * 60 + 59, 999_999_999).unwrap()] {
            match (schedule.next_after(at), slots.get(passed)) {
                (found, Some(slot)) => assert_eq!(found, Some(instant(*slot)), "{}", explain()),
                (found, None) => assert!(found >= Some(instant(window.end)) || found.is_none()),
            }
            match (schedule.latest_at_or_before(at), passed.checked_sub(1)) {
                (found, Some(last)) => {
                    assert_eq!(found, Some(instant(slots[last])), "{}", explain());
                }
                (found, None) => assert!(found < Some(start), "{}", explain()),
            }
        }
        // The window's first minute is not in `(start, minute]`.
        let counted = slots[..passed].iter().filter(|slot| **slot > window.start).count();
        assert_eq!(schedule.count_in(start, instant(minute)), counted as u64, "{}", explain());
    }
}

/// Compares with a few random expressions around one instant. Gives the number of minutes.
fn compare_around(zone: &Zone, at: Timestamp, hours: i64, dice: &mut Dice) -> u64 {
    let middle = at.as_second().div_euclid(60);
    let window = middle - hours * 60..middle + hours * 60;
    for _ in 0..2 {
        let near = oracle::civil(zone.time_zone(), middle - 90 + dice.below(180) as i64);
        let expression = Expression::random(dice, near);
        let schedule = Schedule::parse(&expression.text(), zone).unwrap();
        let slots = oracle::slots(&expression, zone.time_zone(), window.clone());
        compare(&schedule, &slots, window.clone());
    }
    2 * (window.end - window.start) as u64
}

fn instant_of(year: i16) -> Timestamp {
    jiff::civil::date(year, 1, 1).to_zoned(TimeZone::UTC).unwrap().timestamp()
}

/// Runs over all zones, on two threads. Each zone is given its own dice.
fn in_all_zones(check: impl Fn(&Zone, &mut Dice) -> u64 + Sync) {
    let zones = Zones::bundled();
    let names = zones.names();
    assert!(names.len() > 500, "{} zones", names.len());
    let (some, others) = names.split_at(names.len() / 2);
    let run = |names: &[String]| -> u64 {
        let zone_of = |name: &String| zones.get(name).unwrap();
        let dice_of = |name: &String| {
            Dice(name.bytes().fold(7, |seed: u64, b| seed.wrapping_mul(31) + u64::from(b)))
        };
        names.iter().map(|name| check(&zone_of(name), &mut dice_of(name))).sum()
    };
    let minutes: u64 = std::thread::scope(|scope| {
        let other = scope.spawn(|| run(others));
        run(some) + other.join().unwrap()
    });
    println!("{} zones, {minutes} minutes compared", names.len());
}

#[test]
fn around_every_change_from_2020_to_2041() {
    in_all_zones(|zone, dice| {
        let changes = zone.time_zone().following(instant_of(2020)).map(|c| c.timestamp());
        let changes: Vec<_> = changes.take_while(|at| *at < instant_of(2041)).collect();
        // A zone without changes has its days too.
        let somewhere = instant_of(2020 + dice.below(20) as i16);
        changes.iter().chain([&somewhere]).map(|at| compare_around(zone, *at, 30, dice)).sum()
    });
}

#[test]
fn around_every_recorded_change_before_2020() {
    in_all_zones(|zone, dice| {
        let changes = zone.time_zone().following(instant_of(1840)).map(|c| c.timestamp());
        let changes = changes.take_while(|at| *at < instant_of(2020));
        changes.map(|at| compare_around(zone, at, 3, dice)).sum()
    });
}

/// The table of segments repeats beyond 2100. Its edges must not show.
#[test]
fn in_the_far_future_and_at_the_edges_of_the_table() {
    in_all_zones(|zone, dice| {
        let years = [2037, 2038, 2088, 2099, 2100, 2101, 2499, 2500, 2501, 2899, 2900, 9990];
        let mut minutes = 0;
        for year in years {
            minutes += compare_around(zone, instant_of(year), 40, dice);
            let changes = zone.time_zone().following(instant_of(year)).map(|c| c.timestamp());
            minutes += changes.take(2).map(|at| compare_around(zone, at, 5, dice)).sum::<u64>();
        }
        minutes
    });
}

/// Counts over years and centuries, against the sum of what each single day counts.
#[test]
fn counts_over_long_distances() {
    in_all_zones(|zone, dice| {
        let mut days = 0;
        for (from, until) in [(1970, 1980), (2015, 2027), (2095, 2103), (2497, 2503)] {
            let expression = Expression::random(dice, oracle::civil(zone.time_zone(), 0));
            let schedule = Schedule::parse(&expression.text(), zone).unwrap();
            let (start, end) = (instant_of(from), instant_of(until));
            let mut counted = 0;
            let mut at = start;
            while at < end {
                let next = Timestamp::from_second(at.as_second() + 86_400).unwrap();
                counted += schedule.count_in(at, next);
                assert_eq!(schedule.count_in(start, next), counted, "{schedule} in {zone:?}");
                (at, days) = (next, days + 1);
            }
        }
        days
    });
}
