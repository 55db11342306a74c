//! Jitter: a place of its own for every slot, always the same, never before its time.

use std::collections::HashSet;

use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::scene::{Scene, at, scene};

fn jittered(schedule: &str, percent: i32, uid: &str) -> Scene {
    scene(json!({"schedule": schedule, "jitter": percent})).metadata(json!({"uid": uid}))
}

fn offset(scene: &Scene, slot: Timestamp) -> SignedDuration {
    scene.timetable().effective_time(slot).duration_since(slot)
}

#[test]
fn jitter_delays_the_start_and_keeps_the_name() {
    let scene = jittered("0 * * * *", 50, "u1").last("2026-03-01T10:00:00Z");
    let slot = at("2026-03-01T11:00:00Z");
    let effective = scene.timetable().effective_time(slot);
    assert!(effective > slot);
    let before = effective - SignedDuration::from_secs(1);
    let waiting = scene.at(&before.to_string());
    assert_eq!(waiting.created, None);
    assert_eq!(waiting.settled.wake_at, Some(effective));
    let due = scene.at(&effective.to_string());
    assert_eq!(due.created, Some(crate::scene::name("2026-03-01T11:00:00Z")));
    assert_eq!(due.last().as_deref(), Some("2026-03-01T11:00:00Z"));
}

#[test]
fn a_slot_that_is_past_and_not_in_effect_is_still_the_next() {
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
fn the_jitter_cap_is_half_the_distance_whatever_is_asked() {
    for asked in [50, 51, 500, i32::MAX] {
        let scene = jittered("0 * * * *", asked, "u1");
        let slots =
            (0..1_000).map(|hour| at("2026-03-01T00:00:00Z") + SignedDuration::from_hours(hour));
        let largest = slots.map(|slot| offset(&scene, slot)).max().unwrap();
        assert!(largest < SignedDuration::from_mins(30), "{asked}: {largest:?}");
        assert!(largest > SignedDuration::from_mins(29), "{asked}: {largest:?}");
    }
}

#[test]
fn no_jitter_and_negative_jitter_delay_nothing() {
    for asked in [0, -5] {
        assert!(offset(&jittered("0 * * * *", asked, "u1"), at("2026-03-01T11:00:00Z")).is_zero());
    }
}

#[test]
fn jitter_is_the_same_after_a_restart_and_spreads_cron_jobs_out() {
    let slot = at("2026-03-01T11:00:00Z");
    let of = |uid: usize| offset(&jittered("0 * * * *", 50, &format!("uid-{uid}")), slot);
    let offsets: HashSet<_> = (0..1_000).map(of).collect();
    assert!(offsets.len() > 990, "{} different ones of 1,000", offsets.len());
    assert_eq!(of(7), of(7));
    let early = (0..1_000).map(of).filter(|offset| *offset < SignedDuration::from_mins(15)).count();
    assert!((400..600).contains(&early), "{early} of 1,000 in the first half");
}

#[test]
fn slots_of_irregular_schedules_do_not_overtake_each_other() {
    for uid in 0..200 {
        let scene = jittered("0,1 0 * * *", 50, &format!("uid-{uid}"));
        let timetable = scene.timetable();
        let slots = timetable.schedule().after(at("2026-03-01T00:00:00Z")).take(40);
        let effective: Vec<_> = slots.map(|slot| timetable.effective_time(slot)).collect();
        assert!(effective.is_sorted(), "{uid}");
    }
}

#[test]
fn the_deadline_counts_from_the_jittered_time() {
    let scene = scene(json!({"jitter": 50, "startingDeadlineSeconds": 10}));
    let scene = scene.last("2026-03-01T10:00:00Z");
    let effective = scene.timetable().effective_time(at("2026-03-01T11:00:00Z"));
    let in_time = effective + SignedDuration::from_secs(9);
    assert!(scene.at(&in_time.to_string()).created.is_some());
    let too_late = effective + SignedDuration::from_secs(10);
    let late = scene.at(&too_late.to_string());
    assert_eq!((late.created, late.status.missed_runs), (None, 1));
}
