//! Tests of the checker: each rule finds a violation and accepts a correct record.

use punctual_testing::ConcurrencyPolicy::{Allow, CatchUp, Forbid, Replace};

use super::{
    super::{
        availability::LeaseHold,
        recorded_jobs::{ObservedAt, RecordedEnd},
        workload::WorkloadSpec,
    },
    *,
};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn span(from: i64, to: i64) -> TimeSpan {
    TimeSpan { from: at(from), to: at(to) }
}

fn observed(second: i64) -> ObservedAt {
    ObservedAt { version: second.unsigned_abs(), at: at(second) }
}

/// A Job that is created this long after its slot and runs for a second.
fn job(uid: &str, slot: i64, delay: i64) -> RecordedJob {
    let mut job = RecordedJob::for_test(uid, at(slot), observed(slot + delay));
    job.end = Some((observed(slot + delay + 1), RecordedEnd::Complete));
    job
}

fn all_jobs() -> Vec<RecordedJob> {
    [120, 140, 160, 180].map(|slot| job(&slot.to_string(), slot, 0)).to_vec()
}

fn jobs_without(slot: i64) -> Vec<RecordedJob> {
    all_jobs().into_iter().filter(|job| job.slot != at(slot)).collect()
}

/// Checks an object with slots at 120, 140, 160 and 180. The test ends at 200.
fn report(
    policy: ConcurrencyPolicy,
    mut jobs: Vec<RecordedJob>,
    faults: &[RecordedFault],
) -> ClusterReport {
    jobs.sort_by_key(|job| job.observed.version);
    let deadline = (policy != CatchUp).then_some(15);
    let spec = WorkloadSpec::for_test(policy, 20, deadline);
    let objects = [WorkloadObject { spec, uid: "u".into(), created: at(100) }];
    let hold = LeaseHold { controller: Some(0), span: span(0, 1_000) };
    check(&CheckInput {
        objects: &objects,
        jobs: BTreeMap::from([("u", jobs.iter().collect())]),
        faults,
        availability: Availability::new(faults, vec![hold], Vec::new()),
        end: at(200),
    })
}

/// Both controllers are disconnected.
fn outage(from: i64, to: i64) -> Vec<RecordedFault> {
    let fault = |controller| RecordedFault {
        kind: FaultKind::Disconnect,
        controller,
        was_leader: false,
        span: span(from, to),
    };
    vec![fault(Some(0)), fault(Some(1))]
}

#[test]
fn one_job_for_each_slot_is_no_violation() {
    for policy in ConcurrencyPolicy::ALL {
        let report = report(policy, all_jobs(), &[]);
        assert_eq!(report.violations, [], "{policy}");
        assert_eq!(report.counts[&policy.to_string()].slots, 4);
    }
}

#[test]
fn a_slot_with_two_jobs_is_found_however_far_apart_they_are() {
    let mut jobs = all_jobs();
    jobs.push(job("again", 120, 70));
    let report = report(Allow, jobs, &[]);
    assert_eq!(report.duplicates, 1);
    let texts: Vec<&str> = report.violations.iter().map(|found| &*found.text).collect();
    assert!(texts.concat().contains("120, again"), "{texts:?}");
}

#[test]
fn a_slot_without_a_job_is_lost() {
    for policy in ConcurrencyPolicy::ALL {
        let report = report(policy, jobs_without(140), &[]);
        assert_eq!((report.lost, report.missed.len()), (1, 0), "{policy}");
    }
}

#[test]
fn a_slot_without_a_job_is_missed_if_no_controller_could_start_it_in_time() {
    let report = report(Allow, jobs_without(140), &outage(130, 156));
    assert_eq!((report.lost, report.missed.len(), report.violations.len()), (0, 1, 0));
    assert!(report.missed[0].reason.contains("disconnected"), "{:?}", report.missed);
}

#[test]
fn an_outage_that_ends_in_time_does_not_excuse_a_loss() {
    assert_eq!(report(Allow, jobs_without(140), &outage(130, 146)).lost, 1);
    // Without a deadline no outage does.
    assert_eq!(report(CatchUp, jobs_without(140), &outage(130, 156)).lost, 1);
}

#[test]
fn a_slot_that_waits_for_the_previous_run_is_not_lost() {
    let mut jobs = jobs_without(140);
    jobs[0].end = Some((observed(158), RecordedEnd::Complete));
    assert_eq!(report(Forbid, jobs.clone(), &[]).lost, 0);
    assert_eq!(report(Replace, jobs, &[]).lost, 1);
}

#[test]
fn two_active_jobs_are_an_overlap_except_under_allow() {
    let mut jobs = all_jobs();
    jobs[0].end = Some((observed(145), RecordedEnd::Complete));
    assert_eq!(report(Allow, jobs.clone(), &[]).overlaps, 0);
    for policy in [Forbid, Replace, CatchUp] {
        assert_eq!(report(policy, jobs.clone(), &[]).overlaps, 1, "{policy}");
    }
    jobs[0].end = None;
    assert_eq!(report(Forbid, jobs, &[]).overlaps, 1);
}

#[test]
fn a_job_for_a_time_that_is_not_a_slot_is_found() {
    for (slot, delay) in [(141, 0), (100, 0), (180, -1)] {
        let mut jobs = jobs_without(180);
        jobs.push(job("odd", slot, delay));
        assert_eq!(report(Allow, jobs, &[]).wrong_slots, 1, "{slot}");
    }
}

#[test]
fn a_job_after_its_deadline_is_late_unless_its_create_was_in_flight() {
    let counts = |delay: i64, faults: &[RecordedFault]| {
        let jobs = [jobs_without(140), vec![job("late", 140, 15 + delay)]].concat();
        let report = report(Allow, jobs, faults);
        (report.late, report.late_but_allowed)
    };
    assert_eq!(counts(1, &[]), (0, 0));
    assert_eq!(counts(3, &[]), (1, 0));
    assert_eq!(counts(3, &outage(150, 156)), (0, 1));
    assert_eq!(counts(8, &outage(150, 156)), (1, 0));
}
