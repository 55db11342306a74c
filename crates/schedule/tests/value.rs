//! Tests of schedules and zones as values: text, equality, hashing, iteration, conversion.

#![cfg(feature = "bundled-tzdata")]
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::mutable_key_type,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash, Hasher},
};

use jiff::{
    Timestamp,
    tz::{TimeZone, TimeZoneDatabase, offset},
};
use punctual_schedule::{Schedule, Zone, ZoneError, Zones};

fn parse(text: &str) -> Schedule {
    text.parse().unwrap()
}

fn instant(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[test]
fn equal_slots_make_equal_schedules() {
    let groups: [&[&str]; 7] = [
        &[
            "0 0 * * *",
            "@daily",
            "@midnight",
            "TZ=UTC 0 0 1-31 * *",
            "0 0 1-31 * 5",
            "CRON_TZ= 0 0 ? * *",
        ],
        &["0 0 * * 0", "@weekly", "0 0 */1 * sun"],
        // February has no 30th, and a schedule without slots equals any other without slots.
        &["0 0 30 2 *", "0 0 31 2,4 *", ", * * * *", "5 * , * *"],
        &["0 0 29 2 *", "0 0 29-31 2 *"],
        &["@every 90m", "@every 1h30m", "@every 5400s"],
        &["@at 2026-01-01T00:00:00Z", "@at 2026-01-01T01:00:00+01:00", "@at 2026-01-01T00:00"],
        &["CRON_TZ=Europe/Berlin 0 0 * * *", "TZ=Europe/Berlin @daily"],
    ];
    for (at, group) in groups.iter().enumerate() {
        for text in *group {
            assert_eq!(parse(text), parse(group[0]), "{text}");
            assert_eq!(hash(parse(text)), hash(parse(group[0])), "{text}");
        }
        for other in &groups[at + 1..] {
            assert_ne!(parse(group[0]), parse(other[0]), "{} and {}", group[0], other[0]);
        }
    }
}

#[test]
fn different_days_make_different_schedules() {
    let texts =
        ["0 0 29 2 *", "0 0 28 2 *", "0 0 28,29 2 *", "0 0 13 * 5", "0 0 13 * *", "0 0 * * 5"];
    let schedules: HashSet<Schedule> = texts.iter().map(|text| parse(text)).collect();
    assert_eq!(schedules.len(), texts.len());
}

#[test]
fn display_parses_to_an_equal_schedule() {
    let texts = [
        "30 2 * * 1-5",
        " 30  2 * * 1-5 ",
        "@every 1h",
        "@at 2026-07-01T08:00",
        "@at 2026-07-01T08:00:00Z",
        "TZ=Asia/Tokyo 0 0 * * *",
        "CRON_TZ=  0 0 * * *",
        "TZ=Local @daily",
        "TZ=UTC @every 1h ",
    ];
    for zone in ["UTC", "Etc/UTC", "Europe/Berlin"] {
        let zone = Zones::bundled().get(zone).unwrap();
        for text in texts {
            let schedule = Schedule::parse(text, &zone).unwrap();
            assert_eq!(parse(&schedule.to_string()), schedule, "{text} in {zone}");
        }
    }
}

#[test]
fn display_names_the_zone_unless_it_is_utc() {
    assert_eq!(parse("0 0 * * *").to_string(), "0 0 * * *");
    assert_eq!(parse("TZ=UTC 0 0 * * *").to_string(), "0 0 * * *");
    assert_eq!(parse("TZ=Asia/Tokyo  0 0 * * *").to_string(), "CRON_TZ=Asia/Tokyo 0 0 * * *");
}

#[test]
fn matches_is_true_at_slots_only() {
    let schedule = parse("CRON_TZ=America/New_York 30 1 * * *");
    // 01:30 occurs twice on 2026-11-01.
    assert!(schedule.matches(instant("2026-11-01T05:30:00Z")));
    assert!(schedule.matches(instant("2026-11-01T06:30:00Z")));
    assert!(!schedule.matches(instant("2026-11-01T07:30:00Z")));
    assert!(!schedule.matches(instant("2026-11-01T05:30:00.000000001Z")));
    assert!(parse("@at 2026-01-01T00:00:05Z").matches(instant("2026-01-01T00:00:05Z")));
    assert!(!parse("@every 1m").matches(instant("2026-01-01T00:00:00Z")));
    assert!(!parse("0 0 30 2 *").matches(instant("2026-03-02T00:00:00Z")));
}

#[test]
fn between_yields_the_same_slots_from_both_ends() {
    let after = instant("2026-10-24T22:10:20.5Z");
    let until = instant("2026-10-26T03:00:00Z");
    let texts =
        ["*/7 * * * *", "30 2 * * *", "@every 1h7m", "@at 2026-10-25T00:00:00Z", "0 0 30 2 *"];
    for text in texts {
        let schedule = parse(&format!("CRON_TZ=Europe/Berlin {text}"));
        let slots: Vec<Timestamp> =
            schedule.after(after).take_while(|slot| *slot <= until).collect();
        let between = schedule.between(after, until);
        assert_eq!(between.clone().collect::<Vec<_>>(), slots, "{text}");
        let mut reversed: Vec<Timestamp> = between.clone().rev().collect();
        reversed.reverse();
        assert_eq!(reversed, slots, "{text}");
        assert_eq!(between.size_hint(), (slots.len(), Some(slots.len())), "{text}");
        assert_eq!(between.clone().count(), slots.len(), "{text}");
        assert_eq!(between.clone().last(), slots.last().copied(), "{text}");
        assert_eq!(alternate(between), slots, "{text}");
        assert_eq!(schedule.between(until, after).next(), None, "{text}");
        assert_eq!(schedule.between(until, after).next_back(), None, "{text}");
    }
}

/// Takes items from both ends in turn until both report the end, and returns them sorted.
fn alternate(mut slots: impl DoubleEndedIterator<Item = Timestamp>) -> Vec<Timestamp> {
    let mut taken = Vec::new();
    loop {
        let front = slots.next();
        let back = slots.next_back();
        taken.extend(front);
        taken.extend(back);
        if front.is_none() && back.is_none() {
            taken.sort();
            return taken;
        }
    }
}

#[test]
fn between_covers_the_whole_range_of_jiff() {
    let schedule = parse("* * * * *");
    let mut all = schedule.between(Timestamp::MIN, Timestamp::MAX);
    assert!(all.size_hint().0 > 1_000_000_000);
    assert!(all.next().is_some() && all.next_back().is_some());
}

#[test]
fn zones_convert_to_and_from_jiff() {
    let berlin: Zone = "Europe/Berlin".parse().unwrap();
    let time_zone = TimeZone::from(&berlin);
    assert_eq!(time_zone.iana_name(), Some("Europe/Berlin"));
    assert_eq!(Zone::try_from(time_zone), Ok(berlin));
    assert_eq!(Zone::try_from(TimeZone::UTC), Ok(Zones::bundled().utc()));
    assert_eq!(Zone::try_from(TimeZone::fixed(offset(1))), Err(ZoneError::Unnamed));
    assert_eq!(Zone::try_from(TimeZone::unknown()), Err(ZoneError::Unnamed));
}

#[test]
fn zones_of_two_databases_with_the_same_data_are_equal() {
    let other = Zones::new(TimeZoneDatabase::bundled(), "copy");
    for name in ["UTC", "Europe/Berlin", "Pacific/Apia"] {
        let zone = Zones::bundled().get(name).unwrap();
        assert_eq!(other.get(name).unwrap(), zone);
        assert_eq!(hash(other.get(name).unwrap()), hash(&zone));
    }
    // Both names have the same offsets, but the name is part of the value.
    assert_ne!(other.get("Etc/UTC").unwrap(), other.get("UTC").unwrap());
}

#[test]
fn a_converted_zone_keeps_the_offsets_of_its_source() {
    let tokyo = TimeZoneDatabase::bundled().get("Asia/Tokyo").unwrap();
    let empty = Zones::new(TimeZoneDatabase::none(), "none");
    let zone = empty.from_time_zone(tokyo).unwrap();
    assert_eq!(zone, Zones::bundled().get("Asia/Tokyo").unwrap());
    assert!(empty.get("Asia/Tokyo").is_err());
}

#[cfg(feature = "serde")]
#[test]
fn serde_uses_the_text() {
    let schedule = parse("CRON_TZ=Asia/Tokyo 0 9 * * 1-5");
    let json = serde_json::to_string(&schedule).unwrap();
    assert_eq!(json, "\"CRON_TZ=Asia/Tokyo 0 9 * * 1-5\"");
    assert_eq!(serde_json::from_str::<Schedule>(&json).unwrap(), schedule);
    let error = serde_json::from_str::<Schedule>("\"0 24 * * *\"").unwrap_err();
    assert!(error.to_string().starts_with("end of range (24) above maximum (23): 24"), "{error}");
}
