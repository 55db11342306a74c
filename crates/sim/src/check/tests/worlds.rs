//! What holds for the world as a whole.

use serde_json::json;

use super::LEADER;
use super::tale::{FIRST, MINUTE, Tale};
use crate::history::Happened;
use crate::scenario::{Asked, Fault, Moment, Process, Who};

#[test]
fn nothing_is_written_when_all_is_quiet() {
    let late = 15 * MINUTE;
    let mut tale = Tale::new().behave(&[]);
    tale.write(late, "/leases.coordination.k8s.io/kube-system/x", Some(json!({})));
    tale.write(late, "/events/default/1", None);
    tale.passes();
    let mut tale = Tale::new().behave(&[]);
    tale.store(late);
    tale.breaks(&["quiescence"]);
}

#[test]
fn revisions_have_no_gap() {
    for by in [0, 2] {
        let verdict = Tale::new().behave(&[]).judged_after(|history| {
            let written = history.iter_mut().filter_map(|record| match &mut record.what {
                Happened::Written { revision, .. } => Some(revision),
                _ => None,
            });
            written.skip(20).for_each(|revision| *revision = *revision + by - 1);
        });
        let rules: Vec<&str> = verdict.violations.iter().map(|found| found.rule).collect();
        assert_eq!(rules, ["revisions"]);
    }
}

#[test]
fn what_users_were_told_can_be_seen() {
    let mut tale = Tale::new().behave(&[]);
    tale.deed(690_000, Asked::Suspend(0, true), 200);
    tale.deed(690_000, Asked::Suspend(0, false), 409);
    tale.deed(690_000, Asked::Delete(7), 404);
    tale.passes();
    for asked in [Asked::Suspend(0, false), Asked::Delete(0), Asked::DeleteJob(0)] {
        let mut tale = Tale::new().behave(&[]);
        tale.deed(690_000, asked, 200);
        tale.breaks(&["acknowledged"]);
    }
}

#[test]
fn what_belongs_to_a_cronjob_goes_with_it() {
    let at = FIRST + 10 * MINUTE + 20_000;
    let deleted = || {
        let mut tale = Tale::new().behave(&[]).forget("cronjobs", at, 20 * MINUTE);
        tale.deed(at, Asked::Delete(0), 200);
        tale.delete(at + 10);
        tale
    };
    let mut tale = deleted();
    (8..11).for_each(|n| tale.remove_job(at + 100, FIRST + n * MINUTE));
    tale.passes();
    deleted().breaks(&["gone"]);
}

#[test]
fn nothing_is_started_for_a_cronjob_that_is_gone() {
    let at = FIRST + 6 * MINUTE + 20_000;
    let mut tale = Tale::new();
    tale.store(1_000);
    (0..7).for_each(|n| tale.run(FIRST + n * MINUTE));
    tale.delete(at);
    (4..7).for_each(|n| tale.remove_job(at + 100, FIRST + n * MINUTE));
    let late = FIRST + 7 * MINUTE;
    tale.create(late, late);
    tale.remove_job(late + 1_000, late);
    let verdict = tale.judged();
    assert!(
        verdict.violations.iter().any(|found| found.rule == "gone"),
        "{:#?}",
        verdict.violations
    );
}

#[test]
fn no_two_controllers_lead_at_once() {
    let tale = |other_from: i64| {
        let mut tale = Tale::new().trouble(100_000, 140_000, Fault::Pause(LEADER)).behave(&[]);
        tale.happened(5_000, Happened::Leads(LEADER, true));
        tale.happened(140_020, Happened::Leads(LEADER, false));
        tale.happened(other_from, Happened::Leads(Process::Controller(1), true));
        tale
    };
    // Who is stopped leads nobody.
    tale(120_000).passes();
    tale(140_100).passes();
    tale(90_000).breaks(&["leaders"]);
}

#[test]
fn what_may_be_known_reaches_back_to_the_beginning_of_the_troubles() {
    use crate::check::weather::{ON_THE_WAY, SLACK, Weather};
    let kill = Fault::Kill(LEADER, 1, Moment::After);
    let tale = Tale::new().trouble(100_000, 130_000, kill).trouble(
        170_000,
        200_000,
        Fault::Stale(LEADER, 7_000),
    );
    let weather = Weather::of(&tale.scenario, 1_000_000);
    assert_eq!(weather.calm, [(30_000, 100_000), (160_000, 170_000), (230_000, 1_000_000)]);
    assert_eq!(weather.lag(90_000), SLACK);
    assert_eq!(weather.lag(120_000), 20_000 + ON_THE_WAY);
    assert_eq!(weather.lag(190_000), 90_000 + ON_THE_WAY);
    assert_eq!(weather.lag(300_000), SLACK);
}

#[test]
fn clocks_are_as_wrong_as_all_that_befell_them() {
    use crate::check::clocks::{Clocks, Skew};
    let tale = Tale::new()
        .trouble(100, 200, Fault::Step(Who::Process(LEADER), -500))
        .trouble(1_000, 2_001_000, Fault::Drift(Who::Process(LEADER), 1_000))
        .trouble(300, 300, Fault::Step(Who::Server, 70));
    let clocks = Clocks::of(&tale.scenario);
    assert_eq!(clocks.controllers(0, 99), Skew { low: 0, high: 0 });
    assert_eq!(clocks.controllers(150, 150), Skew { low: -500, high: 0 });
    // The other controller's clock is right.
    assert_eq!(clocks.controllers(250, 900), Skew { low: -500, high: 0 });
    assert_eq!(clocks.controllers(3_000_000, 3_000_000), Skew { low: -500, high: 1_500 });
    assert_eq!(clocks.server(400, 400), Skew { low: 70, high: 70 });
    assert!(!clocks.were_wrong_before(99) && clocks.were_wrong_before(100));
}

#[test]
fn an_object_that_cannot_be_read_is_told() {
    let mut tale = Tale::new().behave(&[]);
    tale.write(1_500, "/jobs.batch/default/x", Some(json!({"metadata": 1})));
    tale.breaks(&["unreadable"]);
}
