//! Tests of the recorded Jobs and Lease terms.

use serde_json::json;

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn job(uid: &str, version: u64, conditions: Value) -> Value {
    let slot = "batch.kubernetes.io/cronjob-scheduled-timestamp";
    let metadata = json!({"name": "a-1", "uid": uid, "resourceVersion": version.to_string(),
        "creationTimestamp": at(5).to_string(), "ownerReferences": [{"uid": "u"}],
        "annotations": {slot: at(4).to_string()}});
    json!({"metadata": metadata, "status": {"conditions": conditions}})
}

fn complete() -> Value {
    json!([{"type": "Complete", "status": "True"}])
}

#[test]
fn a_job_is_recorded_from_its_first_event_to_its_end() {
    let mut jobs = RecordedJobs::default();
    jobs.apply(&job("1", 7, json!([])), at(5));
    jobs.apply(&job("1", 8, complete()), at(6));
    jobs.delete(&job("1", 9, complete()), at(7));
    let recorded = jobs.by_owner()["u"][0];
    let (end, result) = recorded.end.unwrap();
    assert_eq!((recorded.observed.version, recorded.slot), (7, at(4)));
    assert_eq!((end.version, end.at, result), (8, at(6), RecordedEnd::Complete));
}

#[test]
fn a_job_that_is_deleted_before_it_finishes_has_the_end_deleted() {
    let mut jobs = RecordedJobs::default();
    jobs.apply(&job("1", 7, json!([])), at(5));
    jobs.delete(&job("1", 9, json!([])), at(7));
    assert!(jobs.by_owner()["u"][0].has_ended_as(RecordedEnd::Deleted));
}

#[test]
fn a_list_replaces_lost_events() {
    let mut jobs = RecordedJobs::default();
    jobs.apply(&job("1", 7, json!([])), at(5));
    jobs.replace(&[job("2", 9, complete())], ObservedAt { version: 10, at: at(8) });
    let ends: Vec<_> = jobs.by_owner()["u"].iter().map(|job| job.end.unwrap().1).collect();
    assert_eq!(ends, [RecordedEnd::Deleted, RecordedEnd::Complete]);
}

#[test]
fn a_job_without_an_owner_is_foreign() {
    let mut jobs = RecordedJobs::default();
    jobs.apply(&json!({"metadata": {"name": "a", "uid": "1"}}), at(5));
    assert_eq!((jobs.count(), jobs.foreign), (0, vec!["a".to_owned()]));
}

#[test]
fn a_term_lasts_until_the_holder_changes() {
    let mut terms = LeaseTerms::default();
    for (second, holder) in [(1, "a"), (2, "a"), (3, "b"), (4, "a")] {
        terms.apply(&json!({"spec": {"holderIdentity": holder}}), at(second));
    }
    assert_eq!(terms.0.iter().map(|term| term.from).collect::<Vec<_>>(), [1, 3, 4].map(at));
    assert_eq!(terms.changes(), 2);
}
