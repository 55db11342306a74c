//! One candidate, step by step.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use jiff::Timestamp;
use punctual_lease::{Action, Config, ConfigError, Elector, Mono, Read, Record, Written};

fn secs(seconds: u64) -> Mono {
    Duration::from_secs(seconds)
}

/// The wall clock, which has nothing to do with the monotonic one.
fn wall(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

fn elector() -> Elector {
    Elector::new(Config::default(), "me").unwrap()
}

fn record(holder: &str, lease_seconds: i32, renewed: i64, transitions: i32) -> Record {
    let (acquire_time, renew_time) = (Some(wall(0)), Some(wall(renewed)));
    Record { holder: holder.into(), lease_seconds, acquire_time, renew_time, transitions }
}

fn present(record: &Record, version: &str) -> Read {
    Read::Present(record.clone(), version.into())
}

fn written(version: &str) -> Written {
    Written::Done(version.into())
}

/// A candidate that read, at a time, what it is told.
fn having_read(read: Read, now: Mono) -> Elector {
    let mut elector = elector();
    assert_eq!(elector.poll(now, wall(0), 0), Action::Get);
    elector.on_observed(read, now);
    elector
}

/// A leader by a write that began at 100 and was answered at 101.
fn leader() -> Elector {
    let mut elector = having_read(Read::Absent, secs(100));
    assert_eq!(elector.poll(secs(100), wall(0), 0), Action::Create(record("me", 15, 0, 0)));
    assert!(!elector.is_leader(secs(101)), "not before the answer");
    elector.on_write(written("1"), secs(101));
    elector
}

#[test]
fn durations_must_fit_each_other() {
    let cases = [
        ((15_000, 10_000, 2_000), Ok(())),
        ((11_000, 10_000, 8_000), Ok(())),
        ((15_500, 10_000, 2_000), Err(ConfigError::LeaseDurationNotWholeSeconds)),
        ((3_000_000_000_000, 10_000, 2_000), Err(ConfigError::LeaseDurationNotWholeSeconds)),
        ((10_000, 10_000, 2_000), Err(ConfigError::LeaseDurationNotAboveRenewDeadline)),
        ((15_000, 12_000, 10_000), Err(ConfigError::RenewDeadlineNotAboveRetryPeriod)),
        ((15_000, 10_000, 0), Err(ConfigError::RetryPeriodZero)),
    ];
    for ((lease, renew, retry), expected) in cases {
        let [lease_duration, renew_deadline, retry_period] =
            [lease, renew, retry].map(Duration::from_millis);
        let config = Config { lease_duration, renew_deadline, retry_period };
        assert_eq!(config.validate(), expected, "{lease} {renew} {retry}");
    }
    assert_eq!(Elector::new(Config::default(), "").unwrap_err(), ConfigError::IdentityEmpty);
}

#[test]
fn leadership_ends_a_deadline_after_the_start_of_the_last_renewal() {
    let mut leader = leader();
    assert_eq!(leader.leads_until(), Some(secs(110)));
    assert!(leader.is_leader(secs(109)) && !leader.is_leader(secs(110)));
    assert_eq!(leader.poll(secs(101), wall(1), 0), Action::Sleep(secs(102)));
    let renewal = Action::Update(record("me", 15, 2, 0), "1".into());
    assert_eq!(leader.poll(secs(102), wall(2), 0), renewal);
    assert_eq!(leader.poll(secs(109), wall(2), 0), Action::Sleep(secs(110)), "to notice the end");
    leader.on_write(written("2"), secs(109));
    assert_eq!(leader.leads_until(), Some(secs(112)));
}

#[test]
fn a_stopped_process_that_wakes_does_not_lead() {
    let mut leader = leader();
    leader.poll(secs(102), wall(2), 0);
    assert!(!leader.is_leader(secs(500)));
    leader.on_write(written("2"), secs(500));
    assert!(!leader.is_leader(secs(500)), "an old answer proves nothing about now");
    let renewal = Action::Update(record("me", 15, 400, 0), "2".into());
    assert_eq!(leader.poll(secs(500), wall(400), 0), renewal);
    leader.on_write(Written::Conflict, secs(500));
    assert_eq!(leader.poll(secs(500), wall(400), 0), Action::Get);
    leader.on_observed(present(&record("other", 15, 300, 1), "9"), secs(500));
    assert!(!leader.is_leader(secs(500)));
    assert_eq!(leader.poll(secs(500), wall(400), 0), Action::Sleep(secs(502)));
}

#[test]
fn another_in_the_lease_ends_leadership_at_once() {
    let mut leader = leader();
    leader.poll(secs(102), wall(2), 0);
    leader.on_write(Written::Conflict, secs(103));
    assert!(leader.is_leader(secs(103)), "a conflict may be anything");
    leader.poll(secs(103), wall(3), 0);
    leader.on_observed(present(&record("other", 15, 3, 1), "2"), secs(103));
    assert!(!leader.is_leader(secs(103)));
}

#[test]
fn a_lost_answer_is_neither_success_nor_failure() {
    let mut leader = leader();
    leader.poll(secs(102), wall(2), 0);
    leader.on_write(Written::Unknown, secs(107));
    assert_eq!(leader.leads_until(), Some(secs(110)));
    assert_eq!(leader.poll(secs(107), wall(7), 0), Action::Get);
    leader.on_observed(present(&record("me", 15, 2, 0), "2"), secs(107));
    assert_eq!(leader.leads_until(), Some(secs(110)), "our name alone does not prolong it");
    let renewal = Action::Update(record("me", 15, 7, 0), "2".into());
    assert_eq!(leader.poll(secs(107), wall(7), 0), renewal);
    leader.on_write(written("3"), secs(108));
    assert_eq!(leader.leads_until(), Some(secs(117)));
}

#[test]
fn a_server_that_always_refuses_is_not_asked_without_a_pause() {
    let mut leader = leader();
    let held = record("me", 15, 2, 0);
    leader.poll(secs(102), wall(2), 0);
    leader.on_write(Written::Conflict, secs(102));
    assert_eq!(leader.poll(secs(102), wall(2), 0), Action::Get);
    leader.on_observed(present(&held, "1"), secs(102));
    assert!(matches!(leader.poll(secs(102), wall(2), 0), Action::Update(..)));
    leader.on_write(Written::Conflict, secs(102));
    assert_eq!(leader.poll(secs(102), wall(2), 0), Action::Sleep(secs(104)));
    assert_eq!(leader.poll(secs(104), wall(4), 0), Action::Get);
}

#[test]
fn a_lease_expires_by_when_it_was_seen_to_change() {
    let held = record("other", 15, -100_000, 6);
    let mut standby = having_read(present(&held, "5"), secs(100));
    for (now, until) in [(100, 102), (102, 104), (113, 115)] {
        assert_eq!(standby.poll(secs(now), wall(0), 0), Action::Sleep(secs(until)));
        assert_eq!(standby.poll(secs(until), wall(0), 0), Action::Get);
        standby.on_observed(present(&held, "5"), secs(if until == 104 { 113 } else { until }));
    }
    let takeover = Record { acquire_time: Some(wall(20)), ..record("me", 15, 20, 7) };
    assert_eq!(standby.poll(secs(115), wall(20), 0), Action::Update(takeover, "5".into()));
    standby.on_write(written("6"), secs(116));
    assert!(standby.is_leader(secs(116)));
}

#[test]
fn any_change_begins_the_life_of_a_lease_anew() {
    let held = record("other", 15, 0, 0);
    let changes = [(held.clone(), "6"), (record("other", 15, 1, 0), "5")];
    for (changed, version) in changes {
        let mut standby = having_read(present(&held, "5"), secs(100));
        standby.poll(secs(100), wall(0), 0);
        assert_eq!(standby.poll(secs(114), wall(0), 0), Action::Get);
        standby.on_observed(present(&changed, version), secs(114));
        standby.poll(secs(114), wall(0), 0);
        assert_eq!(standby.poll(secs(128), wall(0), 0), Action::Get);
        standby.on_observed(present(&changed, version), secs(128));
        assert_eq!(standby.poll(secs(128), wall(0), 0), Action::Sleep(secs(129)));
    }
}

#[test]
fn the_duration_in_the_lease_counts_not_our_own() {
    for (lease_seconds, takes_at) in [(60, 160), (5, 105), (0, 115), (-3, 115)] {
        let held = record("other", lease_seconds, 0, 0);
        let mut standby = having_read(present(&held, "5"), secs(100));
        standby.poll(secs(100), wall(0), 0);
        standby.poll(secs(takes_at - 1), wall(0), 0);
        standby.on_observed(present(&held, "5"), secs(takes_at - 1));
        assert_eq!(standby.poll(secs(takes_at - 1), wall(0), 0), Action::Sleep(secs(takes_at)));
        assert_eq!(standby.poll(secs(takes_at), wall(0), 0), Action::Get);
        standby.on_observed(present(&held, "5"), secs(takes_at));
        assert!(matches!(standby.poll(secs(takes_at), wall(0), 0), Action::Update(..)));
    }
}

#[test]
fn a_deleted_lease_is_not_taken_in_its_holders_time() {
    let mut standby = having_read(present(&record("other", 15, 0, 4), "5"), secs(100));
    standby.poll(secs(100), wall(0), 0);
    assert_eq!(standby.poll(secs(102), wall(0), 0), Action::Get);
    standby.on_observed(Read::Absent, secs(102));
    assert_eq!(standby.poll(secs(102), wall(0), 0), Action::Sleep(secs(104)));
    assert_eq!(standby.poll(secs(115), wall(0), 0), Action::Get);
    standby.on_observed(Read::Absent, secs(115));
    assert_eq!(standby.poll(secs(115), wall(0), 0), Action::Create(record("me", 15, 0, 5)));
}

#[test]
fn a_leader_whose_lease_was_deleted_leads_again_only_with_a_new_one() {
    let mut leader = leader();
    leader.poll(secs(102), wall(2), 0);
    leader.on_write(Written::Conflict, secs(102));
    leader.poll(secs(102), wall(2), 0);
    leader.on_observed(Read::Absent, secs(102));
    assert!(!leader.is_leader(secs(102)));
    assert_eq!(leader.poll(secs(102), wall(2), 0), Action::Create(record("me", 15, 2, 0)));
    leader.on_write(written("7"), secs(103));
    assert!(leader.is_leader(secs(103)));
}

#[test]
fn a_released_lease_is_free_at_once() {
    let mut leader = leader();
    leader.release();
    assert!(!leader.is_leader(secs(101)));
    let empty = Record { acquire_time: Some(wall(9)), ..record("", 1, 9, 0) };
    let given_back = Action::Update(empty.clone(), "1".into());
    assert_eq!(leader.poll(secs(101), wall(9), 0), given_back);
    leader.on_write(Written::Unknown, secs(102));
    assert_eq!(leader.poll(secs(102), wall(9), 0), Action::Get);
    leader.on_observed(present(&record("me", 15, 0, 0), "1"), secs(102));
    assert_eq!(leader.poll(secs(102), wall(9), 0), given_back, "tried until it is certain");
    leader.on_write(written("2"), secs(102));
    assert_eq!(leader.poll(secs(102), wall(9), 0), Action::Released);
    assert!(!leader.is_leader(secs(102)));

    let mut successor = having_read(present(&empty, "2"), secs(0));
    let taken = Record { acquire_time: Some(wall(9)), ..record("me", 15, 9, 1) };
    assert_eq!(successor.poll(secs(0), wall(9), 0), Action::Update(taken, "2".into()));
}

#[test]
fn a_release_waits_for_the_answer_that_is_owed() {
    let mut leader = leader();
    leader.poll(secs(102), wall(2), 0);
    leader.release();
    leader.release();
    assert!(matches!(leader.poll(secs(102), wall(2), 0), Action::Sleep(_)));
    leader.on_write(written("2"), secs(103));
    assert!(!leader.is_leader(secs(103)));
    let Action::Update(given_back, version) = leader.poll(secs(103), wall(2), 0) else {
        panic!("not given back");
    };
    assert_eq!((given_back.holder.as_str(), version.as_str()), ("", "2"));
}

#[test]
fn who_does_not_hold_the_lease_does_not_touch_it_on_release() {
    let mut standby = having_read(present(&record("other", 15, 0, 0), "5"), secs(100));
    standby.release();
    assert_eq!(standby.poll(secs(100), wall(0), 0), Action::Get, "it may have become ours");
    standby.on_observed(present(&record("other", 15, 0, 0), "5"), secs(100));
    assert_eq!(standby.poll(secs(100), wall(0), 0), Action::Released);

    let mut taker = having_read(Read::Absent, secs(100));
    taker.release();
    assert_eq!(taker.poll(secs(100), wall(0), 0), Action::Released);
}

#[test]
fn answers_that_nobody_asked_for_change_nothing() {
    let mut leader = leader();
    leader.on_observed(present(&record("other", 15, 0, 0), "0"), secs(101));
    leader.on_write(Written::Conflict, secs(101));
    leader.on_write(written("77"), secs(109));
    assert_eq!(leader.leads_until(), Some(secs(110)));
    assert!(matches!(leader.poll(secs(102), wall(0), 0), Action::Update(_, v) if v == "1"));
}

#[test]
fn the_dice_lengthen_a_rest_by_up_to_a_fifth() {
    for (dice, millis) in [(0, 2000), (1 << 31, 2200), (u32::MAX, 2399)] {
        let mut standby = having_read(Read::Failed, secs(100));
        let Action::Sleep(until) = standby.poll(secs(100), wall(0), dice) else {
            panic!("no rest");
        };
        assert_eq!((until - secs(100)).as_millis(), millis);
        assert_eq!(standby.poll(secs(100), wall(0), 7), Action::Sleep(until), "thrown once");
    }
}
