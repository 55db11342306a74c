//! Property tests: what holds for every schedule, zone and instant.

#![cfg(feature = "bundled-tzdata")]
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use jiff::Timestamp;
use proptest::prelude::*;
use punctual_schedule::{Schedule, Zones};

/// Zones with unusual transitions: half hours, the date line, midnight, Ramadan, seconds, none.
const ZONES: [&str; 14] = [
    "UTC",
    "America/New_York",
    "Europe/Berlin",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "America/St_Johns",
    "Africa/Casablanca",
    "Africa/Cairo",
    "Asia/Gaza",
    "America/Sao_Paulo",
    "Antarctica/Troll",
    "Pacific/Chatham",
    "Africa/Monrovia",
    "America/Nuuk",
];

fn value(min: u32, max: u32) -> impl Strategy<Value = String> {
    let one = (min..=max).prop_map(|a| a.to_string());
    let range = (min..=max, min..=max).prop_map(|(a, b)| format!("{}-{}", a.min(b), a.max(b)));
    let step = (min..=max, 1..70_u32).prop_map(|(a, step)| format!("{a}/{step}"));
    let star = prop_oneof![Just("*".into()), (1..70_u32).prop_map(|step| format!("*/{step}"))];
    prop_oneof![3 => one, 1 => range, 1 => step, 2 => star]
}

fn field(min: u32, max: u32) -> impl Strategy<Value = String> {
    let list = prop::collection::vec(value(min, max), 1..3).prop_map(|items| items.join(","));
    prop_oneof![2 => Just("*".to_string()), 3 => list]
}

fn calendar() -> impl Strategy<Value = String> {
    (field(0, 59), field(0, 23), field(1, 31), field(1, 12), field(0, 6)).prop_map(
        |(minute, hour, day, month, weekday)| format!("{minute} {hour} {day} {month} {weekday}"),
    )
}

fn any_schedule() -> impl Strategy<Value = Schedule> {
    let text = prop_oneof![
        8 => calendar(),
        1 => (1..200_000_u32).prop_map(|secs| format!("@every {secs}s")),
        1 => (0..4_000_000_000_i64)
            .prop_map(|secs| format!("@at {}", Timestamp::from_second(secs).unwrap())),
    ];
    (text, prop::sample::select(&ZONES[..])).prop_map(|(text, zone)| {
        Schedule::parse(&text, &Zones::bundled().get(zone).unwrap()).unwrap()
    })
}

/// Mostly instants of 1875 to 2223, sometimes any instant of jiff, with fractions of seconds.
fn instant() -> impl Strategy<Value = Timestamp> {
    let usual = -3_000_000_000..8_000_000_000_i64;
    let all = Timestamp::MIN.as_second() + 1..Timestamp::MAX.as_second();
    (prop_oneof![6 => usual, 1 => all], prop_oneof![Just(0), 0..1_000_000_000_i32])
        .prop_map(|(secs, nanos)| Timestamp::from_second(secs).unwrap() + nanos_of(nanos))
}

fn nanos_of(nanos: i32) -> jiff::SignedDuration {
    jiff::SignedDuration::from_nanos(i64::from(nanos))
}

fn is_interval(schedule: &Schedule) -> bool {
    schedule.text().starts_with("@every")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn next_after_is_the_first_later_slot(schedule in any_schedule(), at in instant()) {
        let Some(next) = schedule.next_after(at) else { return Ok(()) };
        prop_assert!(next > at);
        // The result is a slot, and no slot lies between.
        prop_assert_eq!(schedule.latest_at_or_before(next), Some(next));
        prop_assert_eq!(schedule.latest_in(at, next), Some(next));
        prop_assert_eq!(schedule.count_in(at, next), 1);
        prop_assert_eq!(schedule.count_in(at, next - nanos_of(1)), 0);
    }

    #[test]
    fn latest_at_or_before_is_the_last_earlier_slot(schedule in any_schedule(), at in instant()) {
        let Some(latest) = schedule.latest_at_or_before(at) else { return Ok(()) };
        prop_assert!(latest <= at);
        if !is_interval(&schedule) && latest > Timestamp::MIN {
            prop_assert_eq!(schedule.next_after(latest - nanos_of(1)), Some(latest));
        }
        prop_assert!(schedule.next_after(latest).is_none_or(|next| next > at));
        prop_assert_eq!(schedule.count_in(latest, at), 0);
    }

    #[test]
    fn next_and_latest_are_monotone(schedule in any_schedule(), a in instant(), b in instant()) {
        let first = a.min(b);
        let second = a.max(b);
        let or_max = |slot: Option<Timestamp>| slot.unwrap_or(Timestamp::MAX);
        prop_assert!(or_max(schedule.next_after(first)) <= or_max(schedule.next_after(second)));
        prop_assert!(schedule.latest_at_or_before(first) <= schedule.latest_at_or_before(second));
    }

    #[test]
    fn count_equals_iteration(schedule in any_schedule(), at in instant(), steps in 1..50_usize) {
        let slots: Vec<Timestamp> = schedule.after(at).take(steps).collect();
        let Some(last) = slots.last() else { return Ok(()) };
        prop_assert_eq!(schedule.count_in(at, *last), slots.len() as u64);
        prop_assert_eq!(schedule.latest_in(at, *last), Some(*last));
        // Iterating backwards yields the same slots.
        let mut back: Vec<Timestamp> =
            schedule.before(*last).take_while(|slot| *slot > at).collect();
        back.reverse();
        prop_assert_eq!(&back[..], &slots[..slots.len() - 1]);
        let mut between: Vec<Timestamp> = schedule.between(at, *last).rev().collect();
        between.reverse();
        prop_assert_eq!(between, slots);
    }

    #[test]
    fn counts_add_up(schedule in any_schedule(), a in instant(), b in instant(), c in instant()) {
        // An interval counts from the start of each range.
        if is_interval(&schedule) {
            return Ok(());
        }
        let mut at = [a, b, c];
        at.sort();
        let [a, b, c] = at;
        let parts = schedule.count_in(a, b) + schedule.count_in(b, c);
        prop_assert_eq!(parts, schedule.count_in(a, c));
        prop_assert_eq!(schedule.count_in(c, a), 0);
    }

    #[test]
    fn a_calendar_schedule_has_slots_unless_it_is_never(schedule in any_schedule(), at in instant()) {
        let has_none = schedule.next_after(at).is_none() && schedule.latest_at_or_before(at).is_none();
        prop_assert!(!schedule.is_never() || has_none);
        // A later slot exists before the end of jiff's range.
        let is_in_range = at < Timestamp::from_second(200_000_000_000).unwrap();
        let is_calendar = !schedule.text().starts_with('@');
        if is_calendar && is_in_range && !schedule.is_never() {
            prop_assert!(schedule.next_after(at).is_some());
        }
    }

    #[test]
    fn display_parses_to_an_equal_schedule(schedule in any_schedule()) {
        prop_assert_eq!(&schedule.to_string().parse::<Schedule>().unwrap(), &schedule);
    }

    #[test]
    fn no_text_causes_a_panic(text in "\\PC*", at in instant()) {
        call_everything(&text, at);
    }

    #[test]
    fn no_text_of_cron_characters_causes_a_panic(
        text in "(CRON_TZ=UTC |TZ=|@every |@at |@)?[-0-9*/,?a-zA-Z+.:@ ]{0,40}", at in instant()
    ) {
        call_everything(&text, at);
    }
}

/// Calls every method if the text is valid.
fn call_everything(text: &str, at: Timestamp) {
    let zone = Zones::bundled().get("Australia/Lord_Howe").unwrap();
    let Ok(schedule) = Schedule::parse(text, &zone) else { return };
    let next = schedule.next_after(at);
    let _ = (schedule.latest_at_or_before(at), schedule.count_in(Timestamp::MIN, Timestamp::MAX));
    let _ = (schedule.describe(), schedule.lints(at), schedule.latest_in(at, Timestamp::MAX));
    let displayed = schedule.to_string().parse::<Schedule>();
    assert_eq!(displayed.as_ref(), Ok(&schedule), "{text:?}");
    assert!(next.is_none_or(|next| next > at));
}
