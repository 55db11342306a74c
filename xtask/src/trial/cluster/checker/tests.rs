use super::{
    super::{
        ability::Held,
        fleet::{Member, Policy},
        record::Moment,
    },
    *,
};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn span(from: i64, to: i64) -> Span {
    Span { from: at(from), to: at(to) }
}

/// Slots are at 120, 140, 160 and 180; the trial ends at 200.
fn enlisted(policy: Policy) -> Enlisted {
    let deadline = (policy != Policy::CatchUp).then_some(15);
    Enlisted { member: Member::for_test(policy, 20, deadline), uid: "u".into(), created: at(100) }
}

/// A run for a slot that begins so late and lasts a second.
fn run(uid: &str, slot: i64, late: i64) -> Run {
    let begun = slot + late;
    let moment = |second: i64| Moment { version: second.unsigned_abs(), at: at(second) };
    let mut run = Run::for_test(uid, at(slot), moment(begun));
    run.end = Some((moment(begun + 1), End::Complete));
    run
}

fn all() -> Vec<Run> {
    [120, 140, 160, 180].map(|slot| run(&slot.to_string(), slot, 0)).to_vec()
}

fn but(slot: i64) -> Vec<Run> {
    all().into_iter().filter(|run| run.slot != at(slot)).collect()
}

fn judge(policy: Policy, mut runs: Vec<Run>, troubles: &[Trouble]) -> Findings {
    runs.sort_by_key(|run| run.begun.version);
    let fleet = [enlisted(policy)];
    let held = vec![Held { by: Some(0), span: span(0, 1_000) }];
    check(&Evidence {
        fleet: &fleet,
        runs: BTreeMap::from([("u", runs.iter().collect())]),
        troubles,
        ability: Ability::new(troubles, held, Vec::new()),
        end: at(200),
    })
}

fn outage(from: i64, to: i64) -> Vec<Trouble> {
    let trouble = |who| Trouble { kind: Kind::Cut, who, led: false, span: span(from, to) };
    vec![trouble(Some(0)), trouble(Some(1))]
}

#[test]
fn every_slot_once_is_no_fault() {
    for policy in [Policy::Allow, Policy::Forbid, Policy::Replace, Policy::CatchUp] {
        let findings = judge(policy, all(), &[]);
        assert_eq!(findings.faults, [], "{policy:?}");
        assert_eq!(findings.counts[&format!("{policy:?}")].slots, 4);
    }
}

#[test]
fn a_slot_with_two_jobs_is_found_however_far_apart_they_are() {
    let mut runs = all();
    runs.push(run("again", 120, 70));
    let findings = judge(Policy::Allow, runs, &[]);
    assert_eq!(findings.twice, 1);
    assert!(findings.faults[0].words.contains("120, again"), "{:?}", findings.faults);
}

#[test]
fn a_slot_without_a_job_is_lost() {
    for policy in [Policy::Allow, Policy::Forbid, Policy::Replace, Policy::CatchUp] {
        let findings = judge(policy, but(140), &[]);
        assert_eq!((findings.lost, findings.missed.len()), (1, 0), "{policy:?}");
    }
}

#[test]
fn a_slot_without_a_job_is_missed_where_nobody_could_start_it_in_time() {
    let findings = judge(Policy::Allow, but(140), &outage(130, 156));
    assert_eq!((findings.lost, findings.missed.len(), findings.faults.len()), (0, 1, 0));
    assert!(findings.missed[0].why.contains("cut off"), "{:?}", findings.missed);
}

#[test]
fn an_outage_that_ends_in_time_is_no_excuse() {
    assert_eq!(judge(Policy::Allow, but(140), &outage(130, 146)).lost, 1);
    // And none at all where there is no deadline.
    assert_eq!(judge(Policy::CatchUp, but(140), &outage(130, 156)).lost, 1);
}

#[test]
fn a_slot_that_waits_for_the_run_before_it_is_not_lost() {
    let mut runs = but(140);
    runs[0].end = Some((Moment { version: 158, at: at(158) }, End::Complete));
    assert_eq!(judge(Policy::Forbid, runs.clone(), &[]).lost, 0);
    assert_eq!(judge(Policy::Replace, runs, &[]).lost, 1);
}

#[test]
fn two_at_work_at_the_same_time_are_found() {
    let mut runs = all();
    runs[0].end = Some((Moment { version: 145, at: at(145) }, End::Complete));
    assert_eq!(judge(Policy::Allow, runs.clone(), &[]).overlaps, 0);
    for policy in [Policy::Forbid, Policy::Replace, Policy::CatchUp] {
        assert_eq!(judge(policy, runs.clone(), &[]).overlaps, 1, "{policy:?}");
    }
    runs[0].end = None;
    assert_eq!(judge(Policy::Forbid, runs, &[]).overlaps, 1);
}

#[test]
fn a_job_for_a_time_that_is_no_slot_is_found() {
    for (slot, late) in [(141, 0), (100, 0), (180, -1)] {
        let mut runs = but(180);
        runs.push(run("odd", slot, late));
        assert_eq!(judge(Policy::Allow, runs, &[]).strange, 1, "{slot}");
    }
}

#[test]
fn a_job_after_its_deadline_is_late_unless_it_was_on_its_way() {
    let late = |by: i64| [but(140), vec![run("late", 140, 15 + by)]].concat();
    let judged = |by, troubles: &[Trouble]| {
        let findings = judge(Policy::Allow, late(by), troubles);
        (findings.late, findings.late_on_its_way)
    };
    assert_eq!(judged(1, &[]), (0, 0));
    assert_eq!(judged(3, &[]), (1, 0));
    assert_eq!(judged(3, &outage(150, 156)), (0, 1));
    assert_eq!(judged(8, &outage(150, 156)), (1, 0));
}
