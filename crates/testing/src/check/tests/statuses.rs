//! Tests of the rules about statuses, history limits and events.

use serde_json::json;

use super::LEADER;
use super::history_builder::{FIRST, HistoryBuilder, MINUTE};
use crate::scenario::{ActionKind, Fault};

#[test]
fn the_status_is_right_at_the_end() {
    let changes = [
        json!({"successfulRuns": 10}),
        json!({"successfulRuns": 12}),
        json!({"failedRuns": 1}),
        json!({"active": [{"name": "ghost"}]}),
        json!({"lastScheduleTime": "2026-03-01T10:10:00Z"}),
        json!({"lastSuccessfulTime": "2026-03-01T10:10:00Z"}),
        json!({"nextScheduleTime": "2026-03-01T10:12:00Z"}),
        json!({"failedRuns": 1}),
    ];
    for change in changes {
        let end = HistoryBuilder::new().scenario.length + MINUTE;
        HistoryBuilder::new()
            .with_regular_runs(&[])
            .patch_writes("cronjobs", end, &json!({"status": change}))
            .violates(&["status"]);
    }
}

#[test]
fn counters_and_times_never_decrease() {
    let mut history = HistoryBuilder::new().with_regular_runs(&[]);
    let status = std::mem::replace(&mut history.status, json!({"successfulRuns": 3}));
    history.store(700_000);
    history.status = status;
    history.store(700_100);
    history.violates(&["status"]);
}

#[test]
fn a_deleted_job_may_be_counted_or_not() {
    let history = |actual: i64, was_deleted: bool| {
        let mut history = HistoryBuilder::new().fault(0, 1, Fault::Compact);
        history.store(1_000);
        for n in 0..4 {
            history.run(FIRST + n * MINUTE);
        }
        let slot = FIRST + 4 * MINUTE;
        history.run(slot);
        if was_deleted {
            history.action(slot + 11_000, ActionKind::DeleteJob(0), 200);
            history.remove_job(slot + 11_020, slot);
        }
        for n in 5..11 {
            history.run(FIRST + n * MINUTE);
        }
        history.suspend();
        history.patch_writes("cronjobs", 640_000, &json!({"status": {"successfulRuns": actual}}))
    };
    history(11, true).has_no_violations();
    history(10, true).has_no_violations();
    history(9, true).violates(&["status"]);
    history(12, true).violates(&["status"]);
    history(10, false).violates(&["status"]);
}

#[test]
fn misses_are_counted() {
    let gap: Vec<i64> = (3..8).map(|n| FIRST + n * MINUTE).collect();
    let history = |missed: i64| {
        let history = HistoryBuilder::new().with_spec("startingDeadlineSeconds", json!(30));
        let history = history
            .fault(gap[0] - 1_000, gap[4] + 10_000, Fault::Disconnect(LEADER))
            .with_regular_runs(&gap);
        let status = json!({"status": {"missedRuns": missed, "failedRuns": missed,
            "lastMissedTime": "2026-03-01T10:08:00Z"}});
        history.patch_writes("cronjobs", gap[4] + 50_000, &status)
    };
    history(5).has_no_violations();
    history(6).violates(&["missed", "skipped"]);
    history(2).violates(&["missed", "skipped"]);
}

#[test]
fn skipped_slots_are_counted() {
    let gap: Vec<i64> = (3..8).map(|n| FIRST + n * MINUTE).collect();
    let history = |skipped: i64, missed: i64| {
        let history = HistoryBuilder::new();
        let history = history
            .fault(gap[0] - 1_000, gap[4] + 40_000, Fault::Disconnect(LEADER))
            .with_regular_runs(&gap);
        let status = json!({"status": {"skippedRuns": skipped, "missedRuns": missed,
            "failedRuns": missed}});
        history.patch_writes("cronjobs", gap[4] + 50_000, &status)
    };
    history(5, 0).has_no_violations();
    history(6, 0).violates(&["skipped"]);
    history(4, 0).violates(&["skipped"]);
    history(4, 1).has_no_violations();
    history(5, 1).violates(&["skipped"]);
}

#[test]
fn the_newest_jobs_within_the_limit_are_kept() {
    let old = FIRST + 5 * MINUTE;
    let history = HistoryBuilder::new().with_regular_runs(&[]);
    let key = history.job_key(old);
    history.drop_writes(&key, old + MINUTE, old + 10 * MINUTE).violates(&["history"]);
    // The second Job is removed instead of the first.
    let history = HistoryBuilder::new().with_regular_runs(&[]);
    let first = history.job_key(FIRST);
    let second = history.job_key(FIRST + MINUTE);
    let mut history = history.drop_writes(&first, FIRST + 3 * MINUTE, FIRST + 4 * MINUTE);
    history = history.drop_writes(&second, FIRST + 4 * MINUTE, FIRST + 5 * MINUTE);
    history.write(FIRST + 3 * MINUTE + 10_600, &second, None);
    history.write(FIRST + 4 * MINUTE + 10_600, &first, None);
    history.violates(&["history"]);
}

#[test]
fn a_job_within_the_limit_is_not_removed() {
    let mut history = HistoryBuilder::new().with_regular_runs(&[]).fault(0, 1, Fault::Compact);
    let last = FIRST + 10 * MINUTE;
    history.remove_job(last + MINUTE, last);
    history.violates(&["history"]);
}

#[test]
fn a_job_is_not_removed_before_it_is_counted() {
    let slot = FIRST + 4 * MINUTE;
    let mut history = HistoryBuilder::new()
        .with_spec("successfulJobsHistoryLimit", json!(0))
        .fault(0, 1, Fault::Compact);
    history.store(1_000);
    history.run(FIRST);
    history.remove_job(FIRST + 11_000, FIRST);
    history.run(slot);
    history.remove_job(slot + 10_450, slot);
    history.spec["suspend"] = json!(true);
    history.store(slot + 11_000);
    let report = history.check();
    let found = report.violations.iter().filter(|found| found.rule == "uncounted");
    assert_eq!(found.count(), 1, "{:#?}", report.violations);
}

#[test]
fn a_start_has_one_event_in_a_scenario_without_faults() {
    let some = |history: &mut HistoryBuilder| {
        history.store(1_000);
        for n in 0..5 {
            history.run(FIRST + n * MINUTE);
        }
        history.spec["suspend"] = json!(true);
        history.store(FIRST + 4 * MINUTE + 20_000);
    };
    let mut history = HistoryBuilder::new();
    some(&mut history);
    history.has_no_violations();
    for reason in ["SuccessfulCreate", "SawCompletedJob"] {
        let mut history = HistoryBuilder::new();
        some(&mut history);
        let key = format!("/events/default/{}.{reason}", FIRST + MINUTE);
        history.patch_writes(&key, 0, &json!({"count": 2})).violates(&["events"]);
        let mut history = HistoryBuilder::new();
        some(&mut history);
        history.drop_writes(&key, 0, 10 * MINUTE).violates(&["events"]);
    }
}

#[test]
fn a_run_that_ended_before_it_was_replaced_is_counted() {
    let history = |actual: i64| {
        let history = HistoryBuilder::new().with_spec("concurrencyPolicy", json!("Replace"));
        let mut history = history.fault(0, 1, Fault::Compact);
        history.store(1_000);
        let first = FIRST + 2 * MINUTE;
        let second = FIRST + 3 * MINUTE;
        history.create(first + 100, first);
        history.record(first + 150, first);
        history.finish(second + 20, first, "Complete");
        history.remove_job(second + 30, first);
        history.run_late(second + 100, second);
        history.spec["suspend"] = json!(true);
        history.store(second + 20_000);
        history.patch_writes("cronjobs", second, &json!({"status": {"successfulRuns": actual}}))
    };
    let has_status_violation = |history: HistoryBuilder| {
        history.check().violations.iter().any(|found| found.rule == "status")
    };
    assert!(has_status_violation(history(1)));
    assert!(!has_status_violation(history(2)));
}

#[test]
fn a_finished_job_does_not_keep_our_finalizer() {
    let last = FIRST + 10 * MINUTE;
    let held = json!({"metadata": {"finalizers": ["punctual.dev/slot-recorded"]}});
    let history = HistoryBuilder::new().with_regular_runs(&[]);
    let key = history.job_key(last);
    history.patch_writes(&key, 0, &held).violates(&["status"]);
}
