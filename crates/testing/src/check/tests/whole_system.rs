//! Tests of the rules about the system as a whole: the store, leadership, idleness.

use serde_json::json;

use super::LEADER;
use super::history_builder::{FIRST, HistoryBuilder, MINUTE};
use crate::history::HistoryEvent;
use crate::scenario::{ActionKind, ClockOwner, CrashPoint, Fault, ProcessId};

#[test]
fn nothing_is_written_when_nothing_is_due() {
    let late = 15 * MINUTE;
    let mut history = HistoryBuilder::new().with_regular_runs(&[]);
    history.write(late, "/leases.coordination.k8s.io/kube-system/x", Some(json!({})));
    history.write(late, "/events/default/1", None);
    history.has_no_violations();
    let mut history = HistoryBuilder::new().with_regular_runs(&[]);
    history.store(late);
    history.violates(&["quiescence"]);
}

#[test]
fn revisions_have_no_gap() {
    for by in [0, 2] {
        let report = HistoryBuilder::new().with_regular_runs(&[]).check_after(|history| {
            let written = history.iter_mut().filter_map(|record| match &mut record.event {
                HistoryEvent::Written { revision, .. } => Some(revision),
                _ => None,
            });
            written.skip(20).for_each(|revision| *revision = *revision + by - 1);
        });
        let rules: Vec<&str> = report.violations.iter().map(|found| found.rule).collect();
        assert_eq!(rules, ["revisions"]);
    }
}

#[test]
fn acknowledged_actions_are_visible() {
    let mut history = HistoryBuilder::new().with_regular_runs(&[]);
    history.action(690_000, ActionKind::Suspend(0, true), 200);
    history.action(690_000, ActionKind::Suspend(0, false), 409);
    history.action(690_000, ActionKind::Delete(7), 404);
    history.has_no_violations();
    for asked in [ActionKind::Suspend(0, false), ActionKind::Delete(0), ActionKind::DeleteJob(0)] {
        let mut history = HistoryBuilder::new().with_regular_runs(&[]);
        history.action(690_000, asked, 200);
        history.violates(&["acknowledged"]);
    }
}

#[test]
fn jobs_and_pods_are_deleted_with_their_cronjob() {
    let at = FIRST + 10 * MINUTE + 20_000;
    let deleted = || {
        let mut history =
            HistoryBuilder::new().with_regular_runs(&[]).drop_writes("cronjobs", at, 20 * MINUTE);
        history.action(at, ActionKind::Delete(0), 200);
        history.delete(at + 10);
        history
    };
    let mut history = deleted();
    for n in 8..11 {
        history.remove_job(at + 100, FIRST + n * MINUTE);
    }
    history.has_no_violations();
    deleted().violates(&["not-deleted"]);
}

#[test]
fn nothing_starts_for_a_deleted_cronjob() {
    let at = FIRST + 6 * MINUTE + 20_000;
    let mut history = HistoryBuilder::new();
    history.store(1_000);
    for n in 0..7 {
        history.run(FIRST + n * MINUTE);
    }
    history.delete(at);
    for n in 4..7 {
        history.remove_job(at + 100, FIRST + n * MINUTE);
    }
    let late = FIRST + 7 * MINUTE;
    history.create(late, late);
    history.remove_job(late + 1_000, late);
    let report = history.check();
    assert!(
        report.violations.iter().any(|found| found.rule == "started-after-delete"),
        "{:#?}",
        report.violations
    );
}

#[test]
fn no_two_controllers_lead_at_once() {
    let history = |other_from: i64| {
        let mut history = HistoryBuilder::new()
            .fault(100_000, 140_000, Fault::Pause(LEADER))
            .with_regular_runs(&[]);
        history.add(5_000, HistoryEvent::LeaderChanged(LEADER, true));
        history.add(140_020, HistoryEvent::LeaderChanged(LEADER, false));
        history.add(other_from, HistoryEvent::LeaderChanged(ProcessId::Controller(1), true));
        history
    };
    // A paused process does not lead.
    history(120_000).has_no_violations();
    history(140_100).has_no_violations();
    history(90_000).violates(&["leaders"]);
}

#[test]
fn staleness_reaches_back_to_the_start_of_the_faults() {
    use crate::check::calm_periods::{CalmPeriods, IN_FLIGHT_MAX, REACTION_MAX};
    let kill = Fault::Kill(LEADER, 1, CrashPoint::After);
    let history = HistoryBuilder::new().fault(100_000, 130_000, kill).fault(
        170_000,
        200_000,
        Fault::BatchWatches(LEADER, 7_000),
    );
    let calm_periods = CalmPeriods::from_scenario(&history.scenario, 1_000_000);
    assert_eq!(calm_periods.calm, [(30_000, 100_000), (160_000, 170_000), (230_000, 1_000_000)]);
    assert_eq!(calm_periods.staleness(90_000), REACTION_MAX);
    assert_eq!(calm_periods.staleness(120_000), 20_000 + IN_FLIGHT_MAX);
    assert_eq!(calm_periods.staleness(190_000), 90_000 + IN_FLIGHT_MAX);
    assert_eq!(calm_periods.staleness(300_000), REACTION_MAX);
}

#[test]
fn clock_skew_is_the_sum_of_all_faults() {
    use crate::check::clock_skew::{ClockSkews, Skew};
    let history = HistoryBuilder::new()
        .fault(100, 200, Fault::StepClock(ClockOwner::Process(LEADER), -500))
        .fault(1_000, 2_001_000, Fault::DriftClock(ClockOwner::Process(LEADER), 1_000))
        .fault(300, 300, Fault::StepClock(ClockOwner::Server, 70));
    let clocks = ClockSkews::from_scenario(&history.scenario);
    assert_eq!(clocks.controllers(0, 99), Skew { low: 0, high: 0 });
    assert_eq!(clocks.controllers(150, 150), Skew { low: -500, high: 0 });
    // The clock of the other controller is right.
    assert_eq!(clocks.controllers(250, 900), Skew { low: -500, high: 0 });
    assert_eq!(clocks.controllers(3_000_000, 3_000_000), Skew { low: -500, high: 1_500 });
    assert_eq!(clocks.server(400, 400), Skew { low: 70, high: 70 });
    assert!(!clocks.were_wrong_before(99) && clocks.were_wrong_before(100));
}

#[test]
fn an_object_that_cannot_be_parsed_is_reported() {
    let mut history = HistoryBuilder::new().with_regular_runs(&[]);
    history.write(1_500, "/jobs.batch/default/x", Some(json!({"metadata": 1})));
    history.violates(&["unreadable"]);
}
