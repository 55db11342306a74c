//! Compares the oracle with the schedule library.

use punctual_schedule::{Schedule, Zones};

use super::*;

fn second(text: &str) -> UnixSeconds {
    text.parse::<Timestamp>().unwrap().as_second()
}

#[test]
fn the_oracle_agrees_with_the_library_in_every_kind_of_zone() {
    let start = second("2026-01-01T00:00:00Z");
    let end = second("2028-01-01T00:00:00Z");
    let zones = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"];
    let schedules = [
        "*/15 * * * *",
        "30 2 * * *",
        "0 0 * * *",
        "15,45 1-3 * * 0",
        "0 9-17/4 * * 1-5",
        "30 1 13 * 5",
        "59 23 28-31 * *",
        "0 12 29 2 *",
        "*/1 3 1 */3 *",
        "5/20 0 */10 * 1",
    ];
    for zone in zones {
        for text in schedules {
            let oracle = ScheduleOracle::parse(text, Some(zone), start..=end).unwrap();
            let schedule = Schedule::parse(text, &Zones::bundled().get(zone).unwrap()).unwrap();
            let wanted =
                schedule.after(Timestamp::from_second(start).unwrap()).map(Timestamp::as_second);
            let wanted: Vec<UnixSeconds> = wanted.take_while(|at| *at <= end).collect();
            assert!(oracle.slots(start, end) == wanted, "{text} in {zone}");
        }
    }
}

#[test]
fn the_oracle_skips_gaps_and_repeats_overlaps() {
    let range = second("2026-01-01T00:00:00Z")..=second("2027-01-01T00:00:00Z");
    let oracle = ScheduleOracle::parse("30 2 * * *", Some("Europe/Berlin"), range).unwrap();
    let slots = |day: &str| {
        let from = second(&format!("{day}T00:00:00Z"));
        oracle.slots(from - 3600, from + 20 * 3600).len()
    };
    assert_eq!((slots("2026-03-28"), slots("2026-03-29"), slots("2026-10-25")), (1, 0, 2));
}

#[test]
fn the_oracle_parses_intervals_and_instants() {
    let parse = |text| ScheduleOracle::parse(text, Some("Europe/Berlin"), 0..=0);
    assert!(matches!(parse("@every 90s"), Some(ScheduleOracle::Every(90))));
    assert!(matches!(parse("@every 1h1m1s"), Some(ScheduleOracle::Every(3661))));
    assert!(
        matches!(parse("@at 2026-03-01T10:00:00Z"), Some(ScheduleOracle::At(at)) if at == second("2026-03-01T10:00:00Z"))
    );
    assert!(
        matches!(parse("@at 2026-03-01T10:00:00"), Some(ScheduleOracle::At(at)) if at == second("2026-03-01T09:00:00Z"))
    );
    for text in [
        "",
        "* * * *",
        "* * * * * *",
        "60 * * * *",
        "5-1 * * * *",
        "*/0 * * * *",
        "@every x",
        "@at noon",
    ] {
        assert!(parse(text).is_none(), "{text}");
    }
}
