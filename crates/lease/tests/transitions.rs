//! Tests of a single elector, step by step.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use jiff::Timestamp;
use punctual_lease::{
    ConfigError, ElectionConfig, Elector, ElectorAction, LeaseReadResult, LeaseRecord,
    LeaseWriteResult, MonotonicTime,
};

fn secs(seconds: u64) -> MonotonicTime {
    Duration::from_secs(seconds)
}

/// Returns a wall-clock time, which is independent of the monotonic time.
fn wall(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

fn elector() -> Elector {
    Elector::new(ElectionConfig::default(), "me").unwrap()
}

fn record(holder: &str, lease_seconds: i32, renewed: i64, transitions: i32) -> LeaseRecord {
    LeaseRecord {
        holder: holder.into(),
        lease_seconds,
        acquire_time: Some(wall(0)),
        renew_time: Some(wall(renewed)),
        transitions,
    }
}

fn present(record: &LeaseRecord, version: &str) -> LeaseReadResult {
    LeaseReadResult::Present(record.clone(), version.into())
}

fn written(version: &str) -> LeaseWriteResult {
    LeaseWriteResult::Done(version.into())
}

/// Returns an elector that has received the given result of its first read.
fn elector_after_read(read: LeaseReadResult, now: MonotonicTime) -> Elector {
    let mut elector = elector();
    assert_eq!(elector.poll(now, wall(0), 0), ElectorAction::Get);
    elector.on_observed(read, now);
    elector
}

/// Returns a leader whose write started at 100 and was acknowledged at 101.
fn leader() -> Elector {
    let mut elector = elector_after_read(LeaseReadResult::Absent, secs(100));
    assert_eq!(elector.poll(secs(100), wall(0), 0), ElectorAction::Create(record("me", 15, 0, 0)));
    assert!(!elector.is_leader(secs(101)), "the write is not acknowledged");
    elector.on_write(written("1"), secs(101));
    elector
}

#[test]
fn invalid_durations_are_rejected() {
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
        let config = ElectionConfig { lease_duration, renew_deadline, retry_period };
        assert_eq!(config.validate(), expected, "{lease} {renew} {retry}");
    }
    assert_eq!(
        Elector::new(ElectionConfig::default(), "").unwrap_err(),
        ConfigError::IdentityEmpty
    );
}

#[test]
fn leadership_ends_a_deadline_after_the_start_of_the_last_renewal() {
    let mut leader = leader();
    assert_eq!(leader.leads_until(), Some(secs(110)));
    assert!(leader.is_leader(secs(109)) && !leader.is_leader(secs(110)));
    assert_eq!(leader.poll(secs(101), wall(1), 0), ElectorAction::Sleep(secs(102)));
    let renewal = ElectorAction::Update(record("me", 15, 2, 0), "1".into());
    assert_eq!(leader.poll(secs(102), wall(2), 0), renewal);
    assert_eq!(
        leader.poll(secs(109), wall(2), 0),
        ElectorAction::Sleep(secs(110)),
        "the sleep ends with the term"
    );
    leader.on_write(written("2"), secs(109));
    assert_eq!(leader.leads_until(), Some(secs(112)));
}

#[test]
fn a_resumed_process_does_not_lead() {
    let mut leader = leader();
    leader.poll(secs(102), wall(2), 0);
    assert!(!leader.is_leader(secs(500)));
    leader.on_write(written("2"), secs(500));
    assert!(!leader.is_leader(secs(500)), "an old result does not extend the term");
    let renewal = ElectorAction::Update(record("me", 15, 400, 0), "2".into());
    assert_eq!(leader.poll(secs(500), wall(400), 0), renewal);
    leader.on_write(LeaseWriteResult::Conflict, secs(500));
    assert_eq!(leader.poll(secs(500), wall(400), 0), ElectorAction::Get);
    leader.on_observed(present(&record("other", 15, 300, 1), "9"), secs(500));
    assert!(!leader.is_leader(secs(500)));
    assert_eq!(leader.poll(secs(500), wall(400), 0), ElectorAction::Sleep(secs(502)));
}

#[test]
fn another_holder_in_the_lease_ends_leadership_at_once() {
    let mut leader = leader();
    leader.poll(secs(102), wall(2), 0);
    leader.on_write(LeaseWriteResult::Conflict, secs(103));
    assert!(leader.is_leader(secs(103)), "a conflict does not prove another holder");
    leader.poll(secs(103), wall(3), 0);
    leader.on_observed(present(&record("other", 15, 3, 1), "2"), secs(103));
    assert!(!leader.is_leader(secs(103)));
}

#[test]
fn an_unknown_write_result_is_neither_success_nor_failure() {
    let mut leader = leader();
    leader.poll(secs(102), wall(2), 0);
    leader.on_write(LeaseWriteResult::Unknown, secs(107));
    assert_eq!(leader.leads_until(), Some(secs(110)));
    assert_eq!(leader.poll(secs(107), wall(7), 0), ElectorAction::Get);
    leader.on_observed(present(&record("me", 15, 2, 0), "2"), secs(107));
    assert_eq!(
        leader.leads_until(),
        Some(secs(110)),
        "our name in the Lease does not extend the term"
    );
    let renewal = ElectorAction::Update(record("me", 15, 7, 0), "2".into());
    assert_eq!(leader.poll(secs(107), wall(7), 0), renewal);
    leader.on_write(written("3"), secs(108));
    assert_eq!(leader.leads_until(), Some(secs(117)));
}

#[test]
fn repeated_conflicts_are_retried_after_a_wait() {
    let mut leader = leader();
    let held = record("me", 15, 2, 0);
    leader.poll(secs(102), wall(2), 0);
    leader.on_write(LeaseWriteResult::Conflict, secs(102));
    assert_eq!(leader.poll(secs(102), wall(2), 0), ElectorAction::Get);
    leader.on_observed(present(&held, "1"), secs(102));
    assert!(matches!(leader.poll(secs(102), wall(2), 0), ElectorAction::Update(..)));
    leader.on_write(LeaseWriteResult::Conflict, secs(102));
    assert_eq!(leader.poll(secs(102), wall(2), 0), ElectorAction::Sleep(secs(104)));
    assert_eq!(leader.poll(secs(104), wall(4), 0), ElectorAction::Get);
}

#[test]
fn a_lease_expires_its_duration_after_the_last_observed_change() {
    let held = record("other", 15, -100_000, 6);
    let mut standby = elector_after_read(present(&held, "5"), secs(100));
    for (now, until) in [(100, 102), (102, 104), (113, 115)] {
        assert_eq!(standby.poll(secs(now), wall(0), 0), ElectorAction::Sleep(secs(until)));
        assert_eq!(standby.poll(secs(until), wall(0), 0), ElectorAction::Get);
        standby.on_observed(present(&held, "5"), secs(if until == 104 { 113 } else { until }));
    }
    let takeover = LeaseRecord { acquire_time: Some(wall(20)), ..record("me", 15, 20, 7) };
    assert_eq!(standby.poll(secs(115), wall(20), 0), ElectorAction::Update(takeover, "5".into()));
    standby.on_write(written("6"), secs(116));
    assert!(standby.is_leader(secs(116)));
}

#[test]
fn any_change_restarts_the_duration_of_a_lease() {
    let held = record("other", 15, 0, 0);
    let changes = [(held.clone(), "6"), (record("other", 15, 1, 0), "5")];
    for (changed, version) in changes {
        let mut standby = elector_after_read(present(&held, "5"), secs(100));
        standby.poll(secs(100), wall(0), 0);
        assert_eq!(standby.poll(secs(114), wall(0), 0), ElectorAction::Get);
        standby.on_observed(present(&changed, version), secs(114));
        standby.poll(secs(114), wall(0), 0);
        assert_eq!(standby.poll(secs(128), wall(0), 0), ElectorAction::Get);
        standby.on_observed(present(&changed, version), secs(128));
        assert_eq!(standby.poll(secs(128), wall(0), 0), ElectorAction::Sleep(secs(129)));
    }
}

#[test]
fn the_duration_in_the_lease_takes_precedence_over_ours() {
    for (lease_seconds, takes_at) in [(60, 160), (5, 105), (0, 115), (-3, 115)] {
        let held = record("other", lease_seconds, 0, 0);
        let mut standby = elector_after_read(present(&held, "5"), secs(100));
        standby.poll(secs(100), wall(0), 0);
        standby.poll(secs(takes_at - 1), wall(0), 0);
        standby.on_observed(present(&held, "5"), secs(takes_at - 1));
        assert_eq!(
            standby.poll(secs(takes_at - 1), wall(0), 0),
            ElectorAction::Sleep(secs(takes_at))
        );
        assert_eq!(standby.poll(secs(takes_at), wall(0), 0), ElectorAction::Get);
        standby.on_observed(present(&held, "5"), secs(takes_at));
        assert!(matches!(standby.poll(secs(takes_at), wall(0), 0), ElectorAction::Update(..)));
    }
}

#[test]
fn a_deleted_lease_is_not_taken_during_its_holders_term() {
    let mut standby = elector_after_read(present(&record("other", 15, 0, 4), "5"), secs(100));
    standby.poll(secs(100), wall(0), 0);
    assert_eq!(standby.poll(secs(102), wall(0), 0), ElectorAction::Get);
    standby.on_observed(LeaseReadResult::Absent, secs(102));
    assert_eq!(standby.poll(secs(102), wall(0), 0), ElectorAction::Sleep(secs(104)));
    assert_eq!(standby.poll(secs(115), wall(0), 0), ElectorAction::Get);
    standby.on_observed(LeaseReadResult::Absent, secs(115));
    assert_eq!(standby.poll(secs(115), wall(0), 0), ElectorAction::Create(record("me", 15, 0, 5)));
}

#[test]
fn a_leader_whose_lease_was_deleted_needs_a_new_lease() {
    let mut leader = leader();
    leader.poll(secs(102), wall(2), 0);
    leader.on_write(LeaseWriteResult::Conflict, secs(102));
    leader.poll(secs(102), wall(2), 0);
    leader.on_observed(LeaseReadResult::Absent, secs(102));
    assert!(!leader.is_leader(secs(102)));
    assert_eq!(leader.poll(secs(102), wall(2), 0), ElectorAction::Create(record("me", 15, 2, 0)));
    leader.on_write(written("7"), secs(103));
    assert!(leader.is_leader(secs(103)));
}

#[test]
fn a_released_lease_can_be_taken_at_once() {
    let mut leader = leader();
    leader.release();
    assert!(!leader.is_leader(secs(101)));
    let empty = LeaseRecord { acquire_time: Some(wall(9)), ..record("", 1, 9, 0) };
    let release = ElectorAction::Update(empty.clone(), "1".into());
    assert_eq!(leader.poll(secs(101), wall(9), 0), release);
    leader.on_write(LeaseWriteResult::Unknown, secs(102));
    assert_eq!(leader.poll(secs(102), wall(9), 0), ElectorAction::Get);
    leader.on_observed(present(&record("me", 15, 0, 0), "1"), secs(102));
    assert_eq!(
        leader.poll(secs(102), wall(9), 0),
        release,
        "the release is retried until acknowledged"
    );
    leader.on_write(written("2"), secs(102));
    assert_eq!(leader.poll(secs(102), wall(9), 0), ElectorAction::Released);
    assert!(!leader.is_leader(secs(102)));

    let mut successor = elector_after_read(present(&empty, "2"), secs(0));
    let taken = LeaseRecord { acquire_time: Some(wall(9)), ..record("me", 15, 9, 1) };
    assert_eq!(successor.poll(secs(0), wall(9), 0), ElectorAction::Update(taken, "2".into()));
}

#[test]
fn a_release_waits_for_the_write_in_flight() {
    let mut leader = leader();
    leader.poll(secs(102), wall(2), 0);
    leader.release();
    leader.release();
    assert!(matches!(leader.poll(secs(102), wall(2), 0), ElectorAction::Sleep(_)));
    leader.on_write(written("2"), secs(103));
    assert!(!leader.is_leader(secs(103)));
    let ElectorAction::Update(release, version) = leader.poll(secs(103), wall(2), 0) else {
        panic!("the Lease is not released");
    };
    assert_eq!((release.holder.as_str(), version.as_str()), ("", "2"));
}

#[test]
fn release_does_not_change_the_lease_of_another_holder() {
    let mut standby = elector_after_read(present(&record("other", 15, 0, 0), "5"), secs(100));
    standby.release();
    assert_eq!(
        standby.poll(secs(100), wall(0), 0),
        ElectorAction::Get,
        "a write may have succeeded"
    );
    standby.on_observed(present(&record("other", 15, 0, 0), "5"), secs(100));
    assert_eq!(standby.poll(secs(100), wall(0), 0), ElectorAction::Released);

    let mut taker = elector_after_read(LeaseReadResult::Absent, secs(100));
    taker.release();
    assert_eq!(taker.poll(secs(100), wall(0), 0), ElectorAction::Released);
}

#[test]
fn unexpected_results_are_ignored() {
    let mut leader = leader();
    leader.on_observed(present(&record("other", 15, 0, 0), "0"), secs(101));
    leader.on_write(LeaseWriteResult::Conflict, secs(101));
    leader.on_write(written("77"), secs(109));
    assert_eq!(leader.leads_until(), Some(secs(110)));
    assert!(matches!(leader.poll(secs(102), wall(0), 0), ElectorAction::Update(_, v) if v == "1"));
}

#[test]
fn the_jitter_extends_a_wait_by_up_to_a_fifth() {
    for (random, millis) in [(0, 2000), (1 << 31, 2200), (u32::MAX, 2399)] {
        let mut standby = elector_after_read(LeaseReadResult::Failed, secs(100));
        let ElectorAction::Sleep(until) = standby.poll(secs(100), wall(0), random) else {
            panic!("the elector does not sleep");
        };
        assert_eq!((until - secs(100)).as_millis(), millis);
        assert_eq!(
            standby.poll(secs(100), wall(0), 7),
            ElectorAction::Sleep(until),
            "the jitter is drawn once"
        );
    }
}
