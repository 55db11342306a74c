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

use std::ops::{Range, RangeInclusive};

use jiff::{Timestamp, civil::DateTime, tz::TimeZone};
use punctual_schedule::{Schedule, Zone, Zones};
use punctual_testing::{TestRng, oracle::ScheduleOracle};

/// Generates an expression that often matches near the given civil time.
fn random_expression(rng: &TestRng, near: DateTime) -> String {
    let weekday = near.weekday().to_sunday_zero_offset() as u64;
    let fields = [
        random_field(rng, 0..=59, near.minute() as u64),
        random_field(rng, 0..=23, near.hour() as u64),
        random_day_field(rng, 1..=31, near.day() as u64),
        random_day_field(rng, 1..=12, near.month() as u64),
        random_day_field(rng, 0..=6, weekday),
    ];
    fields.join(" ")
}

/// Generates mostly stars, so that most random schedules have slots.
fn random_day_field(rng: &TestRng, bounds: RangeInclusive<u64>, near: u64) -> String {
    if rng.below(3) > 0 { "*".to_owned() } else { random_field(rng, bounds, near) }
}

fn random_field(rng: &TestRng, bounds: RangeInclusive<u64>, near: u64) -> String {
    let count = 1 + rng.below(3).saturating_sub(1);
    let items: Vec<String> = (0..count).map(|_| random_item(rng, bounds.clone(), near)).collect();
    items.join(",")
}

fn random_item(rng: &TestRng, bounds: RangeInclusive<u64>, near: u64) -> String {
    let (min, max) = bounds.into_inner();
    let value = if rng.below(2) == 0 { near } else { min + rng.below(max - min + 1) };
    let last = value + rng.below(max - value + 1);
    let step = rng.pick_or_default(&[1, 2, 3, 5, 7, 15, 20, 61]);
    match rng.below(6) {
        0 => "*".to_owned(),
        1 => format!("*/{step}"),
        2 => format!("{value}/{step}"),
        3 => format!("{value}-{last}"),
        4 => format!("{value}-{last}/{step}"),
        _ => value.to_string(),
    }
}

/// Returns the matching Unix minutes of a window by checking each of them.
fn find_slots(expression: &str, zone: &TimeZone, window: Range<i64>) -> Vec<i64> {
    let range = window.start * 60..=window.end * 60;
    let oracle = ScheduleOracle::parse_in_zone(expression, zone.clone(), range).unwrap();
    window.filter(|minute| oracle.has(minute * 60)).collect()
}

/// Returns the civil time of a zone at a Unix minute.
fn civil(zone: &TimeZone, minute: i64) -> DateTime {
    zone.to_datetime(instant(minute))
}

fn instant(minute: i64) -> Timestamp {
    Timestamp::from_second(minute * 60).unwrap()
}

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
fn compare_around(zone: &Zone, at: Timestamp, hours: i64, rng: &TestRng) -> u64 {
    let middle = at.as_second().div_euclid(60);
    let window = middle - hours * 60..middle + hours * 60;
    for _ in 0..2 {
        let near = civil(zone.time_zone(), middle - 90 + rng.below(180) as i64);
        let expression = random_expression(rng, near);
        let schedule = Schedule::parse(&expression, zone).unwrap();
        let slots = find_slots(&expression, zone.time_zone(), window.clone());
        compare(&schedule, &slots, window.clone());
    }
    2 * (window.end - window.start) as u64
}

fn year_start(year: i16) -> Timestamp {
    jiff::civil::date(year, 1, 1).to_zoned(TimeZone::UTC).unwrap().timestamp()
}

/// Runs a check for all zones on two threads. Each zone has its own random numbers.
fn in_all_zones(check: impl Fn(&Zone, &TestRng) -> u64 + Sync) {
    let zones = Zones::bundled();
    let names = zones.names();
    assert!(names.len() > 500, "{} zones", names.len());
    let (some, others) = names.split_at(names.len() / 2);
    let run = |names: &[String]| -> u64 {
        let zone_of = |name: &String| zones.get(name).unwrap();
        let rng_of = |name: &String| {
            TestRng::new(name.bytes().fold(7, |seed: u64, b| seed.wrapping_mul(31) + u64::from(b)))
        };
        names.iter().map(|name| check(&zone_of(name), &rng_of(name))).sum()
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
            let expression = random_expression(rng, civil(zone.time_zone(), 0));
            let schedule = Schedule::parse(&expression, zone).unwrap();
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
