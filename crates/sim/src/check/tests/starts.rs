//! What is started, and what is not.

use serde_json::json;

use super::LEADER;
use super::tale::{FIRST, MINUTE, Tale};
use crate::history::Happened;
use crate::scenario::{Asked, Fault, Who};

#[test]
fn whoever_behaves_is_let_alone() {
    let verdict = Tale::new().behave(&[]).judged();
    assert!(verdict.violations.is_empty(), "{:#?}", verdict.violations);
    assert_eq!((verdict.slots, verdict.runs, verdict.unrun, verdict.lives), (11, 11, 0, 1));
}

#[test]
fn a_slot_that_had_its_chance_is_lost_if_it_was_not_run() {
    let lost = FIRST + 4 * MINUTE;
    for policy in ["Allow", "Forbid", "Replace", "CatchUp"] {
        Tale::new().with("concurrencyPolicy", json!(policy)).behave(&[lost]).breaks(&["lost-slot"]);
    }
}

#[test]
fn a_slot_that_had_no_chance_is_not_lost() {
    let lost = FIRST + 4 * MINUTE;
    let cut = Fault::Cut(LEADER);
    Tale::new().trouble(lost - 1, lost + 30_000, cut).behave(&[lost]).passes();
    // All was well again for long enough before the next slot.
    let cut = Fault::Cut(LEADER);
    Tale::new().trouble(lost - 1, lost + 5_000, cut).behave(&[lost]).breaks(&["lost-slot"]);
    // But then the deadline had passed.
    let cut = Fault::Cut(LEADER);
    let tale = Tale::new().with("startingDeadlineSeconds", json!(30));
    let tale = tale.trouble(lost - 1, lost + 5_000, cut).behave(&[lost]);
    let missed = json!({"status": {"missedRuns": 1, "failedRuns": 1}});
    tale.forge("cronjobs", lost + MINUTE, &missed).passes();
}

#[test]
fn a_slot_is_started_in_good_time() {
    let late = FIRST + 4 * MINUTE;
    let mut tale = Tale::new().behave(&[late]);
    tale.create(late + 20_000, late);
    let tale = tale.forge("cronjobs", 0, &json!({}));
    let verdict = tale.judged();
    let tardy = verdict.violations.iter().filter(|found| found.rule == "tardy-slot");
    assert_eq!(tardy.count(), 1, "{:#?}", verdict.violations);
}

#[test]
fn what_cannot_be_written_down_is_started_all_the_same() {
    let (late, from, to) = (FIRST + 4 * MINUTE, FIRST + 3 * MINUTE, FIRST + 6 * MINUTE);
    let is_lost = |policy: &str, what: Fault| {
        let tale = Tale::new().with("concurrencyPolicy", json!(policy)).trouble(from, to, what);
        let verdict = tale.behave(&[late]).judged();
        verdict.violations.iter().any(|found| found.rule == "lost-slot")
    };
    assert!(is_lost("Allow", Fault::NoStatus(LEADER)));
    assert!(!is_lost("Replace", Fault::NoStatus(LEADER)));
    assert!(!is_lost("Allow", Fault::Cut(LEADER)));
}

#[test]
fn under_forbid_a_slot_waits_for_what_runs() {
    let mut tale = Tale::new().with("concurrencyPolicy", json!("Forbid"));
    tale.store(1_000);
    tale.run(FIRST);
    let long = FIRST + MINUTE;
    tale.create(long + 100, long);
    tale.record(long + 150, long);
    tale.finish(long + 2 * MINUTE - 2_000, long, "Failed");
    tale.count(long + 2 * MINUTE - 1_900, long, "failedRuns");
    (3..11).for_each(|n| tale.run(FIRST + n * MINUTE));
    tale.suspend();
    tale.forget("/events/", 0, 0).trouble(0, 1, Fault::Compact).passes();
}

#[test]
fn under_catch_up_every_slot_is_run_in_turn() {
    let mut tale = Tale::new().with("concurrencyPolicy", json!("CatchUp"));
    tale = tale.trouble(0, 1, Fault::Compact);
    tale.store(1_000);
    for n in 0..5 {
        let (slot, at) = (FIRST + n * MINUTE, FIRST + n * 100_000);
        tale.create(at + 100, slot);
        tale.record(at + 150, slot);
        tale.finish(at + 99_000, slot, "Failed");
        tale.count(at + 99_100, at + 99_000, "failedRuns");
        tale.remove_job(at + 99_200, slot);
    }
    tale.spec["suspend"] = json!(true);
    tale.store(FIRST + 5 * 100_000 + 1_000);
    let tale = tale.with("failedJobsHistoryLimit", json!(0)).forge(
        "cronjobs",
        0,
        &json!({"spec": {"failedJobsHistoryLimit": 0}}),
    );
    tale.passes();
}

#[test]
fn an_interval_counts_from_the_creation_and_goes_on() {
    let tale = |from: i64, runs: i64| {
        let mut tale =
            Tale::new().with("schedule", json!("@every 1m")).trouble(0, 1, Fault::Compact);
        tale.store(1_000);
        // The creation was at the last whole second before 10:01.
        (0..runs).for_each(|n| tale.run(from + n * MINUTE));
        tale.suspend();
        let created = json!({"metadata": {"creationTimestamp": "2026-03-01T10:00:00Z"}});
        tale.forge("cronjobs", 0, &created)
    };
    tale(FIRST, 11).passes();
    tale(FIRST, 6).breaks(&["lost-slot"]);
    let mut tale = tale(FIRST, 11);
    tale.create(FIRST + 10 * MINUTE + 7_100, FIRST + 10 * MINUTE + 7_000);
    let verdict = tale.judged();
    assert!(verdict.violations.iter().any(|found| found.rule == "wrong-slot"));
}

#[test]
fn jitter_puts_a_slot_off_and_no_further_than_it_may() {
    let slot = FIRST + 4 * MINUTE;
    let tale = |late: i64| {
        let tale = Tale::new().with("jitter", json!(50)).trouble(0, 1, Fault::Compact);
        let mut tale = tale.with("successfulJobsHistoryLimit", json!(20));
        tale.store(1_000);
        (0..4).for_each(|n| tale.run(FIRST + n * MINUTE));
        tale.run_late(slot + late, slot);
        (5..11).for_each(|n| tale.run(FIRST + n * MINUTE));
        tale.suspend();
        tale
    };
    tale(29_000).passes();
    tale(40_000).breaks(&["tardy-slot"]);
}

#[test]
fn a_name_that_was_taken_excuses_its_slot() {
    let slot = FIRST + 4 * MINUTE;
    let mut tale = Tale::new().behave(&[slot]);
    let (key, when) = (tale.job_key(slot), tale.instant(slot));
    tale.deed(slot - 10_000, Asked::TakeName(0, when), 201);
    tale.write(slot - 9_990, &key, Some(json!({"metadata": {"uid": "somebody's"}})));
    tale.passes();
}

#[test]
fn a_clock_that_was_ahead_excuses_what_it_wrote_off() {
    let slot = FIRST + 4 * MINUTE;
    let ahead = |tale: Tale| {
        tale.trouble(slot - 200_000, slot - 199_000, Fault::Step(Who::Process(LEADER), 40_000))
    };
    // The window shrinks by how far the clock is off, and is long enough all the same.
    ahead(Tale::new()).behave(&[slot]).breaks(&["lost-slot"]);
    let missed = json!({"status": {"lastMissedTime": "2026-03-01T10:05:00Z"}});
    ahead(Tale::new()).behave(&[slot]).forge("cronjobs", slot - 55_000, &missed).passes();
    Tale::new().behave(&[slot]).forge("cronjobs", slot - 55_000, &missed).breaks(&["lost-slot"]);
}

#[test]
fn no_slot_is_started_twice_whatever_was_deleted() {
    let mut tale = Tale::new().behave(&[]);
    let old = FIRST + MINUTE;
    let again = tale.job(old, &json!({"metadata": {"uid": "again"}}));
    let key = tale.job_key(old);
    tale.write(FIRST + 6 * MINUTE, &key, Some(again));
    tale.write(FIRST + 6 * MINUTE + 10, &key, None);
    tale.breaks(&["doubled-slot", "killed", "superseded"]);
}

#[test]
fn no_slot_is_started_before_its_time() {
    let slot = FIRST + 2 * MINUTE;
    let tale = |by: i64| {
        let mut tale = Tale::new().behave(&[]).forget(&Tale::new().job_key(slot), slot, slot + 200);
        tale.create(slot - by, slot);
        tale
    };
    tale(500).passes();
    tale(5_000).breaks(&["early-start"]);
    let ahead = Fault::Step(Who::Process(LEADER), 10_000);
    tale(5_000).trouble(slot - 60_000, slot - 60_000, ahead).passes();
}

#[test]
fn no_slot_is_started_after_its_deadline() {
    let slot = FIRST + 2 * MINUTE;
    let tale = |late| {
        let tale = Tale::new().with("startingDeadlineSeconds", json!(10)).trouble(
            slot - 1,
            slot + 30_000,
            Fault::Pause(LEADER),
        );
        let mut tale = tale.behave(&[slot]);
        tale.create(slot + late, slot);
        tale.finish(slot + late + 1_000, slot, "Failed");
        tale.forge("cronjobs", slot + late + 1_000, &json!({"status": {"failedRuns": 1}}))
    };
    tale(40_000).passes();
    tale(57_000).passes();
    let mut tale = Tale::new()
        .with("startingDeadlineSeconds", json!(10))
        .trouble(0, 1, Fault::Compact)
        .behave(&[slot]);
    tale.create(slot + 20_000, slot);
    tale.finish(slot + 21_000, slot, "Failed");
    tale.forge("cronjobs", slot + 22_000, &json!({"status": {"failedRuns": 1}}))
        .breaks(&["late-start", "tardy-slot"]);
}

#[test]
fn only_slots_of_the_schedule_are_started() {
    Tale::new().with("schedule", json!("*/2 * * * *")).behave(&[]).breaks(&["wrong-slot"]);
    Tale::new()
        .with("schedule", json!("* 19 * * *"))
        .with("timeZone", json!("Asia/Tokyo"))
        .behave(&[])
        .passes();
    Tale::new()
        .with("schedule", json!("* 18 * * *"))
        .with("timeZone", json!("Asia/Tokyo"))
        .behave(&[])
        .breaks(&["wrong-slot"]);
}

#[test]
fn a_suspended_cronjob_starts_nothing() {
    let tale = |suspended_at: i64| {
        let mut tale = Tale::new();
        tale.store(1_000);
        for slot in (0..8).map(|n| FIRST + n * MINUTE) {
            if (slot - MINUTE..slot).contains(&suspended_at) {
                tale.spec["suspend"] = json!(true);
                tale.store(suspended_at);
            }
            tale.run(slot);
        }
        tale.suspend();
        tale
    };
    let last = FIRST + 7 * MINUTE;
    // Who starts it may not have heard yet.
    tale(last - 3_000).passes();
    tale(last - 20_000).breaks(&["suspended-start"]);
    tale(last - 20_000).trouble(last - 10_000, last, Fault::Stale(LEADER, 30_000)).passes();
}

#[test]
fn an_edit_starts_nothing_retroactively() {
    let (slot, edit) = (FIRST + 4 * MINUTE, FIRST + 4 * MINUTE + 20_000);
    let tale = |slot_start: i64| {
        let mut tale = Tale::new().with("schedule", json!("0 0 1 1 *"));
        tale = tale.trouble(0, 1, Fault::Compact);
        tale.store(1_000);
        tale.spec["schedule"] = json!("* * * * *");
        tale.store(edit);
        if slot_start > 0 {
            tale.run_late(slot_start, slot);
        }
        (5..11).for_each(|n| tale.run(FIRST + n * MINUTE));
        tale.suspend();
        tale
    };
    tale(0).passes();
    tale(edit + 6_000).breaks(&["retroactive"]);
}

#[test]
fn nothing_is_started_for_a_time_before_the_creation() {
    let mut tale = Tale::new().trouble(0, 1, Fault::Compact);
    tale.store(30_050);
    (0..11).for_each(|n| tale.run(FIRST + n * MINUTE));
    tale.suspend();
    let created = json!({"metadata": {"creationTimestamp": "2026-03-01T10:01:01Z"}});
    tale.forge("cronjobs", 0, &created).breaks(&["retroactive"]);
}

#[test]
fn forbid_and_catch_up_never_overlap_and_replace_makes_room() {
    let tale = |policy: &str| {
        let mut tale = Tale::new().with("concurrencyPolicy", json!(policy));
        tale = tale.with("successfulJobsHistoryLimit", json!(20)).behave(&[]);
        let slot = FIRST + 4 * MINUTE;
        let key = tale.job_key(slot);
        tale = tale.forget(&key, slot + 10_000, slot + 11_000);
        tale.finish(slot + MINUTE + 8_000, slot, "Complete");
        tale
    };
    tale("Allow").passes();
    tale("Forbid").breaks(&["overlap"]);
    tale("CatchUp").breaks(&["overlap"]);
    tale("Replace").breaks(&["not-replaced"]);
}

#[test]
fn no_two_pods_of_a_forbidding_cronjob_run_at_once() {
    let tale = |policy: &str| {
        let mut tale = Tale::new().with("concurrencyPolicy", json!(policy)).behave(&[]);
        let job = format!("job-{}", FIRST + 2 * MINUTE);
        let pod = "late".into();
        tale.happened(
            FIRST + 3 * MINUTE + 5_000,
            Happened::Began { pod, job: job.as_str().into() },
        );
        tale
    };
    tale("Allow").breaks(&["doubled-pod"]);
    tale("Forbid").breaks(&["doubled-pod", "overlap"]);
}
