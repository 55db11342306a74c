//! Compares next, latest and count with a check of every minute around every transition of every
//! zone, for random expressions.

#![cfg(feature = "bundled-tzdata")]
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
use oracle::{Expression, instant, rng::TestRng};
use punctual_schedule::{Schedule, Zone, Zones};

/// Compares the library with the expected slots at the start and the end of every minute.
fn compare(schedule: &Schedule, slots: &[i64], window: Range<i64>) {
    let start = instant(window.start);
    for minute in window.clone() {
        let passed = slots.partition_point(|slot| *slot <= minute);
        let context = || format!("{schedule} in {:?} at {}", schedule.zone(), instant(minute));
        for at in [instant(minute), Timestamp::new(minute * 60 + 59, 999_999_999).unwrap()] {
            match (schedule.next_after(at), slots.get(passed)) {
                (found, Some(slot)) => assert_eq!(found, Some(instant(*slot)), "{}", context()),
                (found, None) => assert!(found >= Some(instant(window.end)) || found.is_none()),
            }
            match (schedule.latest_at_or_before(at), passed.checked_sub(1)) {
                (found, Some(last)) => {
                    assert_eq!(found, Some(instant(slots[last])), "{}", context());
                }
                (found, None) => assert!(found < Some(start), "{}", context()),
            }
        }
        // The window's first minute is not in `(start, minute]`.
        let counted = slots[..passed].iter().filter(|slot| **slot > window.start).count();
        assert_eq!(schedule.count_in(start, instant(minute)), counted as u64, "{}", context());
        let is_slot = slots.binary_search(&minute).is_ok();
        assert_eq!(schedule.matches(instant(minute)), is_slot, "{}", context());
    }
}

/// Compares two random expressions around an instant. Returns the number of compared minutes.
fn compare_around(zone: &Zone, at: Timestamp, hours: i64, rng: &mut TestRng) -> u64 {
    let middle = at.as_second().div_euclid(60);
    let window = middle - hours * 60..middle + hours * 60;
    for _ in 0..2 {
        let near = oracle::civil(zone.time_zone(), middle - 90 + rng.below(180) as i64);
        let expression = Expression::random(rng, near);
        let schedule = Schedule::parse(&expression.text(), zone).unwrap();
        let slots = oracle::slots(&expression, zone.time_zone(), window.clone());
        compare(&schedule, &slots, window.clone());
    }
    2 * (window.end - window.start) as u64
}

fn year_start(year: i16) -> Timestamp {
    jiff::civil::date(year, 1, 1).to_zoned(TimeZone::UTC).unwrap().timestamp()
}

/// Runs a check for all zones on two threads. Each zone has its own random numbers.
fn in_all_zones(check: impl Fn(&Zone, &mut TestRng) -> u64 + Sync) {
    let zones = Zones::bundled();
    let names = zones.names();
    assert!(names.len() > 500, "{} zones", names.len());
    let (some, others) = names.split_at(names.len() / 2);
    let run = |names: &[String]| -> u64 {
        let zone_of = |name: &String| zones.get(name).unwrap();
        let rng_of = |name: &String| {
            TestRng(name.bytes().fold(7, |seed: u64, b| seed.wrapping_mul(31) + u64::from(b)))
        };
        names.iter().map(|name| check(&zone_of(name), &mut rng_of(name))).sum()
    };
    let minutes: u64 = std::thread::scope(|scope| {
        let other = scope.spawn(|| run(others));
        run(some) + other.join().unwrap()
    });
    println!("{} zones, {minutes} minutes compared", names.len());
}

#[test]
fn slots_around_transitions_from_2020_to_2041_match_brute_force() {
    in_all_zones(|zone, rng| {
        let transitions = zone.time_zone().following(year_start(2020)).map(|t| t.timestamp());
        let transitions: Vec<_> = transitions.take_while(|at| *at < year_start(2041)).collect();
        // This covers zones without transitions.
        let somewhere = year_start(2020 + rng.below(20) as i16);
        transitions.iter().chain([&somewhere]).map(|at| compare_around(zone, *at, 30, rng)).sum()
    });
}

#[test]
fn slots_around_transitions_before_2020_match_brute_force() {
    in_all_zones(|zone, rng| {
        let transitions = zone.time_zone().following(year_start(1840)).map(|t| t.timestamp());
        let transitions = transitions.take_while(|at| *at < year_start(2020));
        transitions.map(|at| compare_around(zone, at, 3, rng)).sum()
    });
}

/// The offset table repeats after 2100, so its edges need a check.
#[test]
fn slots_at_the_edges_of_the_offset_table_match_brute_force() {
    in_all_zones(|zone, rng| {
        let years = [2037, 2038, 2088, 2099, 2100, 2101, 2499, 2500, 2501, 2899, 2900, 9990];
        let mut minutes = 0;
        for year in years {
            minutes += compare_around(zone, year_start(year), 40, rng);
            let transitions = zone.time_zone().following(year_start(year)).map(|t| t.timestamp());
            minutes += transitions.take(2).map(|at| compare_around(zone, at, 5, rng)).sum::<u64>();
        }
        minutes
    });
}

#[test]
fn counts_over_years_equal_the_sum_of_daily_counts() {
    in_all_zones(|zone, rng| {
        let mut days = 0;
        for (from, until) in [(1970, 1980), (2015, 2027), (2095, 2103), (2497, 2503)] {
            let expression = Expression::random(rng, oracle::civil(zone.time_zone(), 0));
            let schedule = Schedule::parse(&expression.text(), zone).unwrap();
            let start = year_start(from);
            let end = year_start(until);
            let mut counted = 0;
            let mut at = start;
            while at < end {
                let next = Timestamp::from_second(at.as_second() + 86_400).unwrap();
                counted += schedule.count_in(at, next);
                assert_eq!(schedule.count_in(start, next), counted, "{schedule} in {zone:?}");
                at = next;
                days += 1;
            }
        }
        days
    });
}
