//! Tests of jitter: every slot (scheduled time) has a fixed offset that is never negative.

use std::collections::HashSet;

use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::fixture::{Fixture, at, fixture};

fn jittered(schedule: &str, percent: i32, uid: &str) -> Fixture {
    fixture(json!({"schedule": schedule, "jitter": percent})).metadata(json!({"uid": uid}))
}

fn offset(fixture: &Fixture, slot: Timestamp) -> SignedDuration {
    fixture.timetable().effective_time(slot).duration_since(slot)
}

#[test]
fn jitter_delays_the_start_and_keeps_the_name() {
    let fixture = jittered("0 * * * *", 50, "u1").last_scheduled("2026-03-01T10:00:00Z");
    let slot = at("2026-03-01T11:00:00Z");
    let effective = fixture.timetable().effective_time(slot);
    assert!(effective > slot);
    let before = effective - SignedDuration::from_secs(1);
    let waiting = fixture.reconcile_at(&before.to_string());
    assert_eq!(waiting.created, None);
    assert_eq!(waiting.settled.wake_at, Some(effective));
    let due = fixture.reconcile_at(&effective.to_string());
    assert_eq!(due.created, Some(crate::fixture::job_name("2026-03-01T11:00:00Z")));
    assert_eq!(due.last_slot().as_deref(), Some("2026-03-01T11:00:00Z"));
}

#[test]
fn a_past_slot_whose_effective_time_is_ahead_is_the_next_one() {
    let timetable = jittered("0 * * * *", 50, "u1").timetable();
    let slot = at("2026-03-01T11:00:00Z");
    let effective = timetable.effective_time(slot);
    let second = SignedDuration::from_secs(1);
    assert_eq!(timetable.next_effective_time(slot + second), Some(effective));
    assert_eq!(timetable.next_effective_time(slot - second), Some(effective));
    let after = timetable.effective_time(at("2026-03-01T12:00:00Z"));
    assert_eq!(timetable.next_effective_time(effective), Some(after));
}

#[test]
fn jitter_is_at_most_half_of_the_gap() {
    for requested in [50, 51, 500, i32::MAX] {
        let fixture = jittered("0 * * * *", requested, "u1");
        let slots =
            (0..1_000).map(|hour| at("2026-03-01T00:00:00Z") + SignedDuration::from_hours(hour));
        let largest = slots.map(|slot| offset(&fixture, slot)).max().unwrap();
        assert!(largest < SignedDuration::from_mins(30), "{requested}: {largest:?}");
        assert!(largest > SignedDuration::from_mins(29), "{requested}: {largest:?}");
    }
}

#[test]
fn zero_and_negative_jitter_have_no_effect() {
    for requested in [0, -5] {
        assert!(
            offset(&jittered("0 * * * *", requested, "u1"), at("2026-03-01T11:00:00Z")).is_zero()
        );
    }
}

#[test]
fn jitter_is_the_same_after_a_restart_and_spreads_cron_jobs_out() {
    let slot = at("2026-03-01T11:00:00Z");
    let offset_of = |uid: usize| offset(&jittered("0 * * * *", 50, &format!("uid-{uid}")), slot);
    let offsets: HashSet<_> = (0..1_000).map(offset_of).collect();
    assert!(offsets.len() > 990, "{} different offsets of 1,000", offsets.len());
    assert_eq!(offset_of(7), offset_of(7));
    let early =
        (0..1_000).map(offset_of).filter(|offset| *offset < SignedDuration::from_mins(15)).count();
    assert!((400..600).contains(&early), "{early} of 1,000 in the first half");
}

#[test]
fn jitter_keeps_the_order_of_slots_of_irregular_schedules() {
    for uid in 0..200 {
        let fixture = jittered("0,1 0 * * *", 50, &format!("uid-{uid}"));
        let timetable = fixture.timetable();
        let slots = timetable.schedule().after(at("2026-03-01T00:00:00Z")).take(40);
        let effective: Vec<_> = slots.map(|slot| timetable.effective_time(slot)).collect();
        assert!(effective.is_sorted(), "{uid}");
    }
}

#[test]
fn the_deadline_starts_at_the_effective_time() {
    let fixture = fixture(json!({"jitter": 50, "startingDeadlineSeconds": 10}));
    let fixture = fixture.last_scheduled("2026-03-01T10:00:00Z");
    let effective = fixture.timetable().effective_time(at("2026-03-01T11:00:00Z"));
    let in_time = effective + SignedDuration::from_secs(9);
    assert!(fixture.reconcile_at(&in_time.to_string()).created.is_some());
    let too_late = effective + SignedDuration::from_secs(10);
    let late = fixture.reconcile_at(&too_late.to_string());
    assert_eq!((late.created, late.status.missed_runs), (None, 1));
}

#[test]
fn a_slot_of_an_interval_waits_for_its_effective_time_whatever_happens_before() {
    let fixture = jittered("@every 10m", 50, "u1").last_scheduled("2026-03-01T10:00:00Z");
    let slot = at("2026-03-01T10:10:00Z");
    let effective = fixture.timetable().effective_time(slot);
    let between = slot + SignedDuration::from_secs(1);
    assert!(effective > between, "the test needs a slot with jitter");
    let waiting = fixture.reconcile_at(&between.to_string());
    assert_eq!(waiting.created, None);
    assert_eq!(waiting.settled.wake_at, Some(effective));
    let due = fixture.after(&waiting).reconcile_at(&effective.to_string());
    assert_eq!(due.last_slot().as_deref(), Some("2026-03-01T10:10:00Z"));
}
