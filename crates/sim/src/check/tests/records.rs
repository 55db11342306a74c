//! What is written down about it.

use serde_json::json;

use super::LEADER;
use super::tale::{FIRST, MINUTE, Tale};
use crate::scenario::{Asked, Fault};

#[test]
fn the_status_is_right_in_the_end() {
    let changes = [
        json!({"successfulRuns": 10}),
        json!({"successfulRuns": 12}),
        json!({"failedRuns": 1}),
        json!({"active": [{"name": "ghost"}]}),
        json!({"lastScheduleTime": "2026-03-01T10:10:00Z"}),
        json!({"lastSuccessfulTime": "2026-03-01T10:10:00Z"}),
        json!({"nextScheduleTime": "2026-03-01T10:12:00Z"}),
        json!({"missedRuns": 1, "failedRuns": 2}),
    ];
    for change in changes {
        let end = Tale::new().scenario.length + MINUTE;
        Tale::new()
            .behave(&[])
            .forge("cronjobs", end, &json!({"status": change}))
            .breaks(&["status"]);
    }
}

#[test]
fn counters_and_times_never_go_back() {
    let mut tale = Tale::new().behave(&[]);
    let status = std::mem::replace(&mut tale.status, json!({"successfulRuns": 3}));
    tale.store(700_000);
    tale.status = status;
    tale.store(700_100);
    tale.breaks(&["status"]);
}

#[test]
fn a_deleted_job_may_be_counted_or_not() {
    let tale = |said: i64, was_deleted: bool| {
        let mut tale = Tale::new().trouble(0, 1, Fault::Compact);
        tale.store(1_000);
        (0..4).for_each(|n| tale.run(FIRST + n * MINUTE));
        let slot = FIRST + 4 * MINUTE;
        tale.run(slot);
        if was_deleted {
            tale.deed(slot + 11_000, Asked::DeleteJob(0), 200);
            tale.remove_job(slot + 11_020, slot);
        }
        (5..11).for_each(|n| tale.run(FIRST + n * MINUTE));
        tale.suspend();
        tale.forge("cronjobs", 640_000, &json!({"status": {"successfulRuns": said}}))
    };
    tale(11, true).passes();
    tale(10, true).passes();
    tale(9, true).breaks(&["status"]);
    tale(12, true).breaks(&["status"]);
    tale(10, false).breaks(&["status"]);
}

#[test]
fn misses_are_counted() {
    let gap: Vec<i64> = (3..8).map(|n| FIRST + n * MINUTE).collect();
    let tale = |missed: i64| {
        let tale = Tale::new().with("startingDeadlineSeconds", json!(30));
        let tale = tale.trouble(gap[0] - 1_000, gap[4] + 10_000, Fault::Cut(LEADER)).behave(&gap);
        let status = json!({"status": {"missedRuns": missed, "failedRuns": missed,
            "lastMissedTime": "2026-03-01T10:08:00Z"}});
        tale.forge("cronjobs", gap[4] + 50_000, &status)
    };
    tale(5).passes();
    tale(6).breaks(&["missed"]);
    tale(2).breaks(&["missed"]);
}

#[test]
fn no_more_jobs_are_kept_than_wanted_and_the_newest_of_them() {
    let old = FIRST + 5 * MINUTE;
    let tale = Tale::new().behave(&[]);
    let key = tale.job_key(old);
    tale.forget(&key, old + MINUTE, old + 10 * MINUTE).breaks(&["history"]);
    // The second is removed in place of the first.
    let tale = Tale::new().behave(&[]);
    let (first, second) = (tale.job_key(FIRST), tale.job_key(FIRST + MINUTE));
    let mut tale = tale.forget(&first, FIRST + 3 * MINUTE, FIRST + 4 * MINUTE);
    tale = tale.forget(&second, FIRST + 4 * MINUTE, FIRST + 5 * MINUTE);
    tale.write(FIRST + 3 * MINUTE + 10_600, &second, None);
    tale.write(FIRST + 4 * MINUTE + 10_600, &first, None);
    tale.breaks(&["history"]);
}

#[test]
fn a_job_is_not_removed_while_there_is_room() {
    let mut tale = Tale::new().behave(&[]).trouble(0, 1, Fault::Compact);
    let last = FIRST + 10 * MINUTE;
    tale.remove_job(last + MINUTE, last);
    tale.breaks(&["history"]);
}

#[test]
fn a_job_is_not_removed_before_it_is_counted() {
    let slot = FIRST + 4 * MINUTE;
    let mut tale =
        Tale::new().with("successfulJobsHistoryLimit", json!(0)).trouble(0, 1, Fault::Compact);
    tale.store(1_000);
    tale.run(FIRST);
    tale.remove_job(FIRST + 11_000, FIRST);
    tale.run(slot);
    tale.remove_job(slot + 10_450, slot);
    tale.spec["suspend"] = json!(true);
    tale.store(slot + 11_000);
    let verdict = tale.judged();
    let found = verdict.violations.iter().filter(|found| found.rule == "uncounted");
    assert_eq!(found.count(), 1, "{:#?}", verdict.violations);
}

#[test]
fn a_start_is_told_once_where_nothing_goes_wrong() {
    let some = |tale: &mut Tale| {
        tale.store(1_000);
        (0..5).for_each(|n| tale.run(FIRST + n * MINUTE));
        tale.spec["suspend"] = json!(true);
        tale.store(FIRST + 4 * MINUTE + 20_000);
    };
    let mut tale = Tale::new();
    some(&mut tale);
    tale.passes();
    for reason in ["SuccessfulCreate", "SawCompletedJob"] {
        let mut tale = Tale::new();
        some(&mut tale);
        let key = format!("/events/default/{}.{reason}", FIRST + MINUTE);
        tale.forge(&key, 0, &json!({"count": 2})).breaks(&["events"]);
        let mut tale = Tale::new();
        some(&mut tale);
        tale.forget(&key, 0, 10 * MINUTE).breaks(&["events"]);
    }
}

#[test]
fn a_run_that_ended_before_it_was_replaced_is_counted() {
    let tale = |said: i64| {
        let tale = Tale::new().with("concurrencyPolicy", json!("Replace"));
        let mut tale = tale.trouble(0, 1, Fault::Compact);
        tale.store(1_000);
        let (first, second) = (FIRST + 2 * MINUTE, FIRST + 3 * MINUTE);
        tale.create(first + 100, first);
        tale.record(first + 150, first);
        tale.finish(second + 20, first, "Complete");
        tale.remove_job(second + 30, first);
        tale.run_late(second + 100, second);
        tale.spec["suspend"] = json!(true);
        tale.store(second + 20_000);
        tale.forge("cronjobs", second, &json!({"status": {"successfulRuns": said}}))
    };
    let broken = |tale: Tale| tale.judged().violations.iter().any(|found| found.rule == "status");
    assert!(broken(tale(1)));
    assert!(!broken(tale(2)));
}

#[test]
fn a_finished_job_does_not_stay_held() {
    let last = FIRST + 10 * MINUTE;
    let held = json!({"metadata": {"finalizers": ["punctual.dev/slot-recorded"]}});
    let tale = Tale::new().behave(&[]);
    let key = tale.job_key(last);
    tale.forge(&key, 0, &held).breaks(&["status"]);
}
