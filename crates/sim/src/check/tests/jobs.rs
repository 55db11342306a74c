//! What Jobs say about their Pods, and which of them go.

use serde_json::json;

use super::tale::{FIRST, MINUTE, Tale, UID};
use crate::history::Happened;
use crate::scenario::{Asked, Fault};

const SLOT: i64 = FIRST + 10 * MINUTE;

#[test]
fn a_job_counts_its_pod_once() {
    for status in [json!({"succeeded": 2}), json!({"succeeded": 0}), json!({"failed": 1})] {
        let tale = Tale::new().behave(&[]);
        let key = tale.job_key(SLOT);
        tale.forge(&key, 0, &json!({"status": status})).breaks(&["job-counters"]);
    }
}

#[test]
fn a_job_ends_as_its_pod_has_ended() {
    for exit in [Some(1), None] {
        let verdict = Tale::new().behave(&[]).judged_after(|history| {
            let ends = history.iter_mut().filter_map(|record| match &mut record.what {
                Happened::Ended { exit, .. } => Some(exit),
                _ => None,
            });
            ends.last().into_iter().for_each(|said| *said = exit);
        });
        let rules: Vec<&str> = verdict.violations.iter().map(|found| found.rule).collect();
        assert!(rules.contains(&"job-counters"), "{rules:?}");
        // A Pod that is killed before its Job ends was killed by somebody.
        assert_eq!(rules.contains(&"killed"), exit.is_none(), "{rules:?}");
    }
}

#[test]
fn a_job_names_its_owner_by_the_right_kind() {
    let tale = Tale::new().behave(&[]);
    let key = tale.job_key(SLOT);
    let owner = json!([{"uid": UID, "controller": true, "kind": "ScheduledJob"}]);
    tale.forge(&key, 0, &json!({"metadata": {"ownerReferences": owner}})).breaks(&["wrong-owner"]);
}

#[test]
fn what_goes_on_is_not_deleted() {
    let tale = |policy: &str| {
        let mut tale = Tale::new().with("concurrencyPolicy", json!(policy));
        tale = tale.trouble(0, 1, Fault::Compact);
        tale.store(1_000);
        (0..5).for_each(|n| tale.run(FIRST + n * MINUTE));
        let (long, next) = (FIRST + 5 * MINUTE, FIRST + 6 * MINUTE);
        tale.create(long + 100, long);
        tale.record(long + 150, long);
        tale.remove_job(next + 50, long);
        (6..11).for_each(|n| tale.run(FIRST + n * MINUTE));
        tale.suspend();
        tale
    };
    tale("Replace").passes();
    tale("Allow").breaks(&["killed"]);
    let mut asked = tale("Allow");
    asked.deed(FIRST + 6 * MINUTE, Asked::DeleteJob(0), 200);
    asked.passes();
    // Nobody has written down that there was such a run.
    let unrecorded = tale("Replace");
    let long = FIRST + 5 * MINUTE;
    unrecorded.forget("cronjobs", long + 150, long + 150).breaks(&["unrecorded"]);
}

#[test]
fn what_belongs_to_a_user_stays() {
    let tale = || {
        let mut tale = Tale::new().behave(&[]);
        tale.write(FIRST, "/jobs.batch/default/mine", Some(json!({"metadata": {"uid": "mine"}})));
        tale
    };
    tale().passes();
    let mut gone = tale();
    gone.write(FIRST + MINUTE, "/jobs.batch/default/mine", None);
    gone.breaks(&["killed"]);
}

#[test]
fn jitter_spreads_the_starts() {
    let tale = || Tale::new().with("jitter", json!(50)).trouble(0, 1, Fault::Compact);
    tale().behave(&[]).breaks(&["unspread"]);
    let spread = FIRST + 5 * MINUTE;
    let mut tale = tale().behave(&[spread]);
    tale.run_late(spread + 20_000, spread);
    let verdict = tale.judged();
    assert!(verdict.violations.iter().all(|found| found.rule != "unspread"), "{verdict:?}");
}

#[test]
fn nobody_looks_at_the_clock_all_the_time() {
    let tale = |count: u64| {
        let mut tale = Tale::new().behave(&[]);
        let end = tale.end;
        tale.happened(end, Happened::Looked(count));
        tale
    };
    tale(200).passes();
    tale(30_000).breaks(&["restless"]);
}
