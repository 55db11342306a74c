//! Tests of the checker of event logs.

use punctual_testing::ConcurrencyPolicy::{Allow, Forbid};

use super::*;

fn minute(number: i64) -> Timestamp {
    Timestamp::from_second(number * 60).unwrap()
}

/// Checks an event log. `b1` is the beginning of the run of minute 1, and `e1` its end. With a letter after
/// the number, such as `b1x`, it is the run of another Pod.
fn report(policy: ConcurrencyPolicy, marks: &str) -> KillsReport {
    let event = |mark: &str| RunEvent {
        kind: if mark.starts_with('b') { RunEventKind::Begin } else { RunEventKind::End },
        slot: minute(mark[1..2].parse().unwrap()),
        pod: mark[1..].to_owned(),
    };
    let events = marks.split_whitespace().map(event).collect();
    let checked = CheckedMinutes { first: minute(1), last: minute(2), end: minute(3) };
    check(&[RunEventLog { name: "a".into(), policy, events }], checked)
}

/// Returns the numbers of duplicates, losses, overlaps and violations.
fn counts(policy: ConcurrencyPolicy, marks: &str) -> (usize, usize, usize, usize) {
    let KillsReport { duplicates, losses, overlaps, violations, .. } = report(policy, marks);
    (duplicates, losses, overlaps, violations.len())
}

#[test]
fn one_run_for_each_slot_is_no_violation() {
    assert_eq!(counts(Allow, "b1 e1 b2 e2"), (0, 0, 0, 0));
    let report = report(Allow, "b1 b2 e2 e1");
    assert_eq!((report.slots, report.runs), (2, 2));
}

#[test]
fn slots_outside_the_checked_minutes_may_run_once() {
    assert_eq!(counts(Allow, "b0 e0 b1 e1 b2 e2 b3 e3"), (0, 0, 0, 0));
    assert_eq!(counts(Allow, "b0 e0 b0x e0x b1 e1 b2 e2"), (1, 0, 0, 1));
}

#[test]
fn a_slot_without_a_run_is_lost_under_allow_only() {
    assert_eq!(counts(Allow, "b1 e1"), (0, 1, 0, 1));
    assert_eq!(counts(Forbid, "b1 e1"), (0, 0, 0, 0));
}

#[test]
fn a_run_that_did_not_end_is_lost() {
    assert_eq!(counts(Allow, "b1 e1 b2"), (0, 1, 0, 1));
    assert_eq!(counts(Forbid, "b1 e1 e2"), (0, 1, 0, 1));
}

#[test]
fn a_slot_that_ran_twice_is_a_duplicate() {
    assert_eq!(counts(Allow, "b1 b1x e1 e1x b2 e2"), (1, 0, 0, 1));
}

#[test]
fn runs_may_overlap_under_allow_but_not_under_forbid() {
    assert_eq!(counts(Allow, "b1 b2 e1 e2"), (0, 0, 0, 0));
    assert_eq!(counts(Forbid, "b1 b2 e1 e2"), (0, 0, 1, 1));
    assert_eq!(counts(Forbid, "b1 e1 b2 e2"), (0, 0, 0, 0));
}

#[test]
fn a_run_for_a_future_slot_is_a_violation() {
    assert_eq!(counts(Forbid, "b9 e9"), (0, 0, 0, 1));
}
