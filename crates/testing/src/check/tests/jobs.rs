//! Tests of the rules about Job results and deletions.

use serde_json::json;

use super::history_builder::{FIRST, HistoryBuilder, MINUTE, UID};
use crate::history::HistoryEvent;
use crate::scenario::{ActionKind, Fault};

const SLOT: i64 = FIRST + 10 * MINUTE;

#[test]
fn a_job_counts_its_pod_once() {
    for status in [json!({"succeeded": 2}), json!({"succeeded": 0}), json!({"failed": 1})] {
        let history = HistoryBuilder::new().with_regular_runs(&[]);
        let key = history.job_key(SLOT);
        history.patch_writes(&key, 0, &json!({"status": status})).violates(&["job-counters"]);
    }
}

#[test]
fn the_result_of_a_job_is_that_of_its_pod() {
    for stops in [false, true] {
        let report = HistoryBuilder::new().with_regular_runs(&[]).check_after(|history| {
            let ends = history.iter_mut().filter_map(|record| match &mut record.event {
                HistoryEvent::PodEnded { exit_code, was_stopped, .. } => {
                    Some((exit_code, was_stopped))
                }
                _ => None,
            });
            let (exit_code, was_stopped) = ends.last().unwrap();
            *exit_code = 1;
            *was_stopped = stops;
        });
        let rules: Vec<&str> = report.violations.iter().map(|found| found.rule).collect();
        assert!(rules.contains(&"job-counters"), "{rules:?}");
        // A Pod that is stopped before its Job ends is a second violation.
        assert_eq!(rules.contains(&"stopped-while-active"), stops, "{rules:?}");
    }
}

#[test]
fn a_job_names_its_owner_by_the_right_kind() {
    let history = HistoryBuilder::new().with_regular_runs(&[]);
    let key = history.job_key(SLOT);
    let owner = json!([{"uid": UID, "controller": true, "kind": "ScheduledJob"}]);
    history
        .patch_writes(&key, 0, &json!({"metadata": {"ownerReferences": owner}}))
        .violates(&["wrong-owner"]);
}

#[test]
fn an_active_job_is_not_deleted_except_under_replace() {
    let history = |policy: &str| {
        let mut history = HistoryBuilder::new().with_spec("concurrencyPolicy", json!(policy));
        history = history.fault(0, 1, Fault::Compact);
        history.store(1_000);
        for n in 0..5 {
            history.run(FIRST + n * MINUTE);
        }
        let long = FIRST + 5 * MINUTE;
        let next = FIRST + 6 * MINUTE;
        history.create(long + 100, long);
        history.record(long + 150, long);
        history.remove_job(next + 50, long);
        for n in 6..11 {
            history.run(FIRST + n * MINUTE);
        }
        history.suspend();
        history
    };
    history("Replace").has_no_violations();
    history("Allow").violates(&["stopped-while-active"]);
    let mut asked = history("Allow");
    asked.action(FIRST + 6 * MINUTE, ActionKind::DeleteJob(0), 200);
    asked.has_no_violations();
    // The run was never recorded.
    let unrecorded = history("Replace");
    let long = FIRST + 5 * MINUTE;
    unrecorded.drop_writes("cronjobs", long + 150, long + 150).violates(&["unrecorded"]);
}

#[test]
fn jobs_of_users_are_not_deleted() {
    let history = || {
        let mut history = HistoryBuilder::new().with_regular_runs(&[]);
        history.write(
            FIRST,
            "/jobs.batch/default/mine",
            Some(json!({"metadata": {"uid": "mine"}})),
        );
        history
    };
    history().has_no_violations();
    let mut gone = history();
    gone.write(FIRST + MINUTE, "/jobs.batch/default/mine", None);
    gone.violates(&["user-job-deleted"]);
}

#[test]
fn jitter_spreads_the_starts() {
    let history =
        || HistoryBuilder::new().with_spec("jitter", json!(50)).fault(0, 1, Fault::Compact);
    history().with_regular_runs(&[]).violates(&["unspread"]);
    let spread = FIRST + 5 * MINUTE;
    let mut history = history().with_regular_runs(&[spread]);
    history.run_late(spread + 20_000, spread);
    let report = history.check();
    assert!(report.violations.iter().all(|found| found.rule != "unspread"), "{report:?}");
}

#[test]
fn an_idle_controller_does_not_poll_the_clock() {
    let history = |count: u64| {
        let mut history = HistoryBuilder::new().with_regular_runs(&[]);
        let end = history.end;
        history.add(end, HistoryEvent::ClockReads(count));
        history
    };
    history(200).has_no_violations();
    history(30_000).violates(&["restless"]);
}
