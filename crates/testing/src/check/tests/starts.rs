//! Tests of the rules about which slots (scheduled times) start, and when.

use serde_json::json;

use super::LEADER;
use super::history_builder::{FIRST, HistoryBuilder, MINUTE};
use crate::history::HistoryEvent;
use crate::scenario::{ActionKind, ClockOwner, Fault};

#[test]
fn regular_runs_have_no_violations() {
    let report = HistoryBuilder::new().with_regular_runs(&[]).check();
    assert!(report.violations.is_empty(), "{:#?}", report.violations);
    assert_eq!((report.slots, report.runs, report.not_run, report.cron_jobs), (11, 11, 0, 1));
}

#[test]
fn a_slot_that_could_run_and_did_not_is_lost() {
    let lost = FIRST + 4 * MINUTE;
    for policy in ["Allow", "Forbid", "Replace", "CatchUp"] {
        HistoryBuilder::new()
            .with_spec("concurrencyPolicy", json!(policy))
            .with_regular_runs(&[lost])
            .violates(&["lost-slot"]);
    }
}

#[test]
fn a_slot_that_could_not_run_is_not_lost() {
    let lost = FIRST + 4 * MINUTE;
    let cut = Fault::Disconnect(LEADER);
    HistoryBuilder::new()
        .fault(lost - 1, lost + 30_000, cut)
        .with_regular_runs(&[lost])
        .has_no_violations();
    // The fault ended early enough before the next slot.
    let cut = Fault::Disconnect(LEADER);
    HistoryBuilder::new()
        .fault(lost - 1, lost + 5_000, cut)
        .with_regular_runs(&[lost])
        .violates(&["lost-slot"]);
    // But the deadline had passed by then.
    let cut = Fault::Disconnect(LEADER);
    let history = HistoryBuilder::new().with_spec("startingDeadlineSeconds", json!(30));
    let history = history.fault(lost - 1, lost + 5_000, cut).with_regular_runs(&[lost]);
    let missed = json!({"status": {"missedRuns": 1, "failedRuns": 1}});
    history.patch_writes("cronjobs", lost + MINUTE, &missed).has_no_violations();
}

#[test]
fn a_slot_must_start_within_the_reaction_time() {
    let late = FIRST + 4 * MINUTE;
    let mut history = HistoryBuilder::new().with_regular_runs(&[late]);
    history.create(late + 20_000, late);
    let history = history.patch_writes("cronjobs", 0, &json!({}));
    let report = history.check();
    let tardy = report.violations.iter().filter(|found| found.rule == "tardy-slot");
    assert_eq!(tardy.count(), 1, "{:#?}", report.violations);
}

#[test]
fn slots_start_under_allow_although_status_writes_fail() {
    let late = FIRST + 4 * MINUTE;
    let from = FIRST + 3 * MINUTE;
    let to = FIRST + 6 * MINUTE;
    let is_lost = |policy: &str, what: Fault| {
        let history = HistoryBuilder::new()
            .with_spec("concurrencyPolicy", json!(policy))
            .fault(from, to, what);
        let report = history.with_regular_runs(&[late]).check();
        report.violations.iter().any(|found| found.rule == "lost-slot")
    };
    assert!(is_lost("Allow", Fault::RejectStatus(LEADER)));
    assert!(!is_lost("Replace", Fault::RejectStatus(LEADER)));
    assert!(!is_lost("Allow", Fault::Disconnect(LEADER)));
}

#[test]
fn under_forbid_a_slot_waits_for_the_active_run() {
    let mut history = HistoryBuilder::new().with_spec("concurrencyPolicy", json!("Forbid"));
    history.store(1_000);
    history.run(FIRST);
    let long = FIRST + MINUTE;
    history.create(long + 100, long);
    history.record(long + 150, long);
    history.finish(long + 2 * MINUTE - 2_000, long, "Failed");
    history.count(long + 2 * MINUTE - 1_900, long, "failedRuns");
    for n in 3..11 {
        history.run(FIRST + n * MINUTE);
    }
    history.suspend();
    history.drop_writes("/events/", 0, 0).fault(0, 1, Fault::Compact).has_no_violations();
}

#[test]
fn under_catch_up_every_slot_runs_in_order() {
    let mut history = HistoryBuilder::new().with_spec("concurrencyPolicy", json!("CatchUp"));
    history = history.fault(0, 1, Fault::Compact);
    history.store(1_000);
    for n in 0..5 {
        let slot = FIRST + n * MINUTE;
        let at = FIRST + n * 100_000;
        history.create(at + 100, slot);
        history.record(at + 150, slot);
        history.finish(at + 99_000, slot, "Failed");
        history.count(at + 99_100, at + 99_000, "failedRuns");
        history.remove_job(at + 99_200, slot);
    }
    history.spec["suspend"] = json!(true);
    history.store(FIRST + 5 * 100_000 + 1_000);
    let history = history.with_spec("failedJobsHistoryLimit", json!(0)).patch_writes(
        "cronjobs",
        0,
        &json!({"spec": {"failedJobsHistoryLimit": 0}}),
    );
    history.has_no_violations();
}

#[test]
fn an_interval_counts_from_the_creation() {
    let history =
        |from: i64, runs: i64| {
            let mut history = HistoryBuilder::new()
                .with_spec("schedule", json!("@every 1m"))
                .fault(0, 1, Fault::Compact);
            history.store(1_000);
            // The creation timestamp is set below.
            (0..runs).for_each(|n| history.run(from + n * MINUTE));
            history.suspend();
            let created = json!({"metadata": {"creationTimestamp": "2026-03-01T10:00:00Z"}});
            history.patch_writes("cronjobs", 0, &created)
        };
    history(FIRST, 11).has_no_violations();
    history(FIRST, 6).violates(&["lost-slot"]);
    let mut history = history(FIRST, 11);
    history.create(FIRST + 10 * MINUTE + 7_100, FIRST + 10 * MINUTE + 7_000);
    let report = history.check();
    assert!(report.violations.iter().any(|found| found.rule == "wrong-slot"));
}

#[test]
fn jitter_delays_a_slot_within_its_limit() {
    let slot = FIRST + 4 * MINUTE;
    let history = |late: i64| {
        let history =
            HistoryBuilder::new().with_spec("jitter", json!(50)).fault(0, 1, Fault::Compact);
        let mut history = history.with_spec("successfulJobsHistoryLimit", json!(20));
        history.store(1_000);
        for n in 0..4 {
            history.run(FIRST + n * MINUTE);
        }
        history.run_late(slot + late, slot);
        for n in 5..11 {
            history.run(FIRST + n * MINUTE);
        }
        history.suspend();
        history
    };
    history(29_000).has_no_violations();
    history(40_000).violates(&["tardy-slot"]);
}

#[test]
fn a_slot_whose_name_is_taken_is_not_lost() {
    let slot = FIRST + 4 * MINUTE;
    let mut history = HistoryBuilder::new().with_regular_runs(&[slot]);
    let key = history.job_key(slot);
    let when = history.instant(slot);
    history.action(slot - 10_000, ActionKind::CreateForeignJob(0, when), 201);
    history.write(slot - 9_990, &key, Some(json!({"metadata": {"uid": "foreign"}})));
    history.has_no_violations();
}

#[test]
fn a_slot_that_a_fast_clock_recorded_as_missed_is_not_lost() {
    let slot = FIRST + 4 * MINUTE;
    let ahead = |history: HistoryBuilder| {
        history.fault(
            slot - 200_000,
            slot - 199_000,
            Fault::StepClock(ClockOwner::Process(LEADER), 40_000),
        )
    };
    // The start window is shorter by the skew and still long enough.
    ahead(HistoryBuilder::new()).with_regular_runs(&[slot]).violates(&["lost-slot"]);
    let missed = json!({"status": {"lastMissedTime": "2026-03-01T10:05:00Z"}});
    ahead(HistoryBuilder::new())
        .with_regular_runs(&[slot])
        .patch_writes("cronjobs", slot - 55_000, &missed)
        .has_no_violations();
    HistoryBuilder::new()
        .with_regular_runs(&[slot])
        .patch_writes("cronjobs", slot - 55_000, &missed)
        .violates(&["lost-slot"]);
}

#[test]
fn no_slot_starts_twice_even_after_its_job_was_deleted() {
    let mut history = HistoryBuilder::new().with_regular_runs(&[]);
    let old = FIRST + MINUTE;
    let again = history.job(old, &json!({"metadata": {"uid": "again"}}));
    let key = history.job_key(old);
    history.write(FIRST + 6 * MINUTE, &key, Some(again));
    history.write(FIRST + 6 * MINUTE + 10, &key, None);
    history.violates(&["duplicate-slot", "stopped-while-active", "superseded"]);
}

#[test]
fn no_slot_starts_early() {
    let slot = FIRST + 2 * MINUTE;
    let history = |by: i64| {
        let mut history = HistoryBuilder::new().with_regular_runs(&[]).drop_writes(
            &HistoryBuilder::new().job_key(slot),
            slot,
            slot + 200,
        );
        history.create(slot - by, slot);
        history
    };
    history(500).has_no_violations();
    history(5_000).violates(&["early-start"]);
    let ahead = Fault::StepClock(ClockOwner::Process(LEADER), 10_000);
    history(5_000).fault(slot - 60_000, slot - 60_000, ahead).has_no_violations();
}

#[test]
fn no_slot_starts_after_its_deadline() {
    let slot = FIRST + 2 * MINUTE;
    let history = |late| {
        let history = HistoryBuilder::new().with_spec("startingDeadlineSeconds", json!(10)).fault(
            slot - 1,
            slot + 30_000,
            Fault::Pause(LEADER),
        );
        let mut history = history.with_regular_runs(&[slot]);
        history.create(slot + late, slot);
        history.finish(slot + late + 1_000, slot, "Failed");
        history.patch_writes("cronjobs", slot + late + 1_000, &json!({"status": {"failedRuns": 1}}))
    };
    history(40_000).has_no_violations();
    history(57_000).has_no_violations();
    let mut history = HistoryBuilder::new()
        .with_spec("startingDeadlineSeconds", json!(10))
        .fault(0, 1, Fault::Compact)
        .with_regular_runs(&[slot]);
    history.create(slot + 20_000, slot);
    history.finish(slot + 21_000, slot, "Failed");
    history
        .patch_writes("cronjobs", slot + 22_000, &json!({"status": {"failedRuns": 1}}))
        .violates(&["late-start", "tardy-slot"]);
}

#[test]
fn only_slots_of_the_schedule_start() {
    HistoryBuilder::new()
        .with_spec("schedule", json!("*/2 * * * *"))
        .with_regular_runs(&[])
        .violates(&["wrong-slot"]);
    HistoryBuilder::new()
        .with_spec("schedule", json!("* 19 * * *"))
        .with_spec("timeZone", json!("Asia/Tokyo"))
        .with_regular_runs(&[])
        .has_no_violations();
    HistoryBuilder::new()
        .with_spec("schedule", json!("* 18 * * *"))
        .with_spec("timeZone", json!("Asia/Tokyo"))
        .with_regular_runs(&[])
        .violates(&["wrong-slot"]);
}

#[test]
fn a_suspended_cronjob_starts_nothing() {
    let history = |suspended_at: i64| {
        let mut history = HistoryBuilder::new();
        history.store(1_000);
        for slot in (0..8).map(|n| FIRST + n * MINUTE) {
            if (slot - MINUTE..slot).contains(&suspended_at) {
                history.spec["suspend"] = json!(true);
                history.store(suspended_at);
            }
            history.run(slot);
        }
        history.suspend();
        history
    };
    let last = FIRST + 7 * MINUTE;
    // The controller may not have seen it yet.
    history(last - 3_000).has_no_violations();
    history(last - 20_000).violates(&["suspended-start"]);
    history(last - 20_000)
        .fault(last - 10_000, last, Fault::BatchWatches(LEADER, 30_000))
        .has_no_violations();
}

#[test]
fn an_edit_starts_nothing_retroactively() {
    let slot = FIRST + 4 * MINUTE;
    let edit = FIRST + 4 * MINUTE + 20_000;
    let history = |slot_start: i64| {
        let mut history = HistoryBuilder::new().with_spec("schedule", json!("0 0 1 1 *"));
        history = history.fault(0, 1, Fault::Compact);
        history.store(1_000);
        history.spec["schedule"] = json!("* * * * *");
        history.store(edit);
        if slot_start > 0 {
            history.run_late(slot_start, slot);
        }
        for n in 5..11 {
            history.run(FIRST + n * MINUTE);
        }
        history.suspend();
        history
    };
    history(0).has_no_violations();
    history(edit + 6_000).violates(&["retroactive"]);
}

#[test]
fn no_slot_before_the_creation_starts() {
    let mut history = HistoryBuilder::new().fault(0, 1, Fault::Compact);
    history.store(30_050);
    for n in 0..11 {
        history.run(FIRST + n * MINUTE);
    }
    history.suspend();
    let created = json!({"metadata": {"creationTimestamp": "2026-03-01T10:01:01Z"}});
    history.patch_writes("cronjobs", 0, &created).violates(&["retroactive"]);
}

#[test]
fn forbid_and_catch_up_never_overlap_and_replace_deletes_the_active_run() {
    let history = |policy: &str| {
        let mut history = HistoryBuilder::new().with_spec("concurrencyPolicy", json!(policy));
        history = history.with_spec("successfulJobsHistoryLimit", json!(20)).with_regular_runs(&[]);
        let slot = FIRST + 4 * MINUTE;
        let key = history.job_key(slot);
        history = history.drop_writes(&key, slot + 10_000, slot + 11_000);
        history.finish(slot + MINUTE + 8_000, slot, "Complete");
        history
    };
    history("Allow").has_no_violations();
    history("Forbid").violates(&["overlap"]);
    history("CatchUp").violates(&["overlap"]);
    history("Replace").violates(&["not-replaced"]);
}

#[test]
fn no_two_pods_overlap_under_forbid() {
    let history = |policy: &str| {
        let mut history = HistoryBuilder::new()
            .with_spec("concurrencyPolicy", json!(policy))
            .with_regular_runs(&[]);
        let job = format!("job-{}", FIRST + 2 * MINUTE);
        let pod = "late".into();
        history.add(
            FIRST + 3 * MINUTE + 5_000,
            HistoryEvent::PodStarted { pod, job: job.as_str().into() },
        );
        history
    };
    history("Allow").violates(&["doubled-pod"]);
    history("Forbid").violates(&["doubled-pod", "overlap"]);
}
