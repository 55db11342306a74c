//! The records of what was decided about each slot.

use serde_json::{Value, json};

use crate::fixture::{CreateResponse, Reconciled, fixture, job_name};

const TEN: &str = "2026-03-01T10:00:00Z";
const ELEVEN: &str = "2026-03-01T11:00:00Z";
const TWELVE: &str = "2026-03-01T12:00:00Z";

/// `slot through count decision reason result` of each record; `-` for what is absent.
fn records(result: &Reconciled) -> Vec<String> {
    let field = |record: &Value, name: &str| match &record[name] {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.replace("2026-03-01T", ""),
        other => other.to_string(),
    };
    let names = ["slot", "through", "count", "decision", "reason", "result"];
    let records = result.status.slots.iter().map(|record| serde_json::to_value(record).unwrap());
    records.map(|record| names.map(|name| field(&record, name)).join(" ")).collect()
}

#[test]
fn a_started_slot_has_a_record_until_its_end_is_recorded_in_it() {
    let started = fixture(json!({})).last_scheduled(TEN).reconcile_at("2026-03-01T11:00:02Z");
    assert_eq!(records(&started), ["11:00:00Z - - Started Scheduled Running"]);
    assert_eq!(started.settled.slot_records, started.status.slots);
    let record = &started.status.slots[0];
    assert_eq!(record.job.as_ref().unwrap().name, job_name(ELEVEN));
    assert_eq!(record.created_time.unwrap().to_string(), "2026-03-01T11:00:02Z");
    let failed = fixture(json!({}))
        .after(&started)
        .job(ELEVEN, "Failed")
        .job_status(
            ELEVEN,
            json!({"failed": 3, "conditions": [{"type": "Failed", "status": "True",
            "reason": "BackoffLimitExceeded", "lastTransitionTime": "2026-03-01T11:07:00Z"}]}),
        )
        .reconcile_at("2026-03-01T11:07:01Z");
    assert_eq!(records(&failed), ["11:00:00Z - - Started Scheduled Failed"]);
    let record = &failed.status.slots[0];
    assert_eq!(record.failure_reason, "BackoffLimitExceeded");
    assert_eq!(record.attempts, Some(3));
    assert_eq!(record.completion_time.unwrap().to_string(), "2026-03-01T11:07:00Z");
    assert_eq!(failed.settled.slot_records.len(), 1, "only what changed is reported");
}

#[test]
fn a_create_that_fails_leaves_no_record() {
    let rejected = CreateResponse::Rejected("exceeded quota");
    let result = fixture(json!({})).last_scheduled(TEN).create(rejected).reconcile_at(ELEVEN);
    assert_eq!(records(&result), [""; 0]);
}

#[test]
fn a_run_that_was_rejected_until_its_deadline_is_recorded_with_the_cause() {
    let spec = json!({"startingDeadlineSeconds": 300});
    let rejected = CreateResponse::Rejected("exceeded quota: jobs");
    let refused = fixture(spec.clone()).last_scheduled(TEN).create(rejected).reconcile_at(ELEVEN);
    let missed = fixture(spec).after(&refused).reconcile_at("2026-03-01T11:06:00Z");
    assert_eq!(records(&missed), ["11:00:00Z - - Missed CreateRejected -"]);
    assert!(missed.status.slots[0].message.contains("exceeded quota: jobs"));
}

#[test]
fn consecutive_slots_with_one_reason_share_a_record() {
    let spec = json!({"startingDeadlineSeconds": 4000});
    let result = fixture(spec).last_scheduled("2026-03-01T03:00:00Z").reconcile_at(TWELVE);
    assert_eq!(
        records(&result),
        [
            "04:00:00Z 10:00:00Z 7 Missed DeadlineExceeded -",
            "11:00:00Z - - Skipped Superseded -",
            "12:00:00Z - - Started Scheduled Running",
        ]
    );
}

#[test]
fn slots_that_an_active_run_blocked_have_a_reason_of_their_own() {
    let spec = json!({"concurrencyPolicy": "Forbid", "schedule": "*/10 * * * *"});
    let started = fixture(spec.clone()).last_scheduled("2026-03-01T09:50:00Z").reconcile_at(TEN);
    let ended = fixture(spec).after(&started).job(TEN, "Complete");
    let ended = ended.job_status(TEN, json!({"completionTime": "2026-03-01T10:25:00Z"}));
    let result = ended.reconcile_at("2026-03-01T10:45:00Z");
    assert_eq!(
        records(&result),
        [
            "10:00:00Z - - Started Scheduled Succeeded",
            "10:10:00Z 10:20:00Z 2 Skipped ConcurrencyForbidden -",
            "10:30:00Z - - Skipped Superseded -",
            "10:40:00Z - - Started Scheduled Running",
        ]
    );
}

#[test]
fn catch_up_records_late_runs_as_caught_up() {
    let spec = json!({"concurrencyPolicy": "CatchUp"});
    let result = fixture(spec.clone()).last_scheduled(TEN).reconcile_at(TWELVE);
    assert_eq!(records(&result), ["11:00:00Z - - Started CaughtUp Running"]);
    let next = fixture(spec).after(&result).job(ELEVEN, "Complete").reconcile_at(TWELVE);
    assert_eq!(records(&next)[1], "12:00:00Z - - Started Scheduled Running");
}

#[test]
fn a_replaced_run_is_recorded_as_replaced() {
    let spec = json!({"concurrencyPolicy": "Replace"});
    let started = fixture(spec.clone()).last_scheduled(TEN).reconcile_at(ELEVEN);
    let result = fixture(spec).after(&started).job(ELEVEN, "").reconcile_at(TWELVE);
    assert_eq!(
        records(&result),
        ["11:00:00Z - - Started Scheduled Replaced", "12:00:00Z - - Started Scheduled Running",]
    );
}

#[test]
fn a_run_that_a_user_deleted_is_recorded_as_deleted() {
    let started = fixture(json!({})).last_scheduled(TEN).reconcile_at(ELEVEN);
    let result = fixture(json!({})).after(&started).reconcile_at("2026-03-01T11:30:00Z");
    assert_eq!(records(&result), ["11:00:00Z - - Started Scheduled Deleted"]);
}

#[test]
fn a_job_that_was_not_recorded_before_a_crash_gets_its_record() {
    let metadata = json!({"creationTimestamp": "2026-03-01T11:00:03Z"});
    let found = fixture(json!({})).last_scheduled(TEN).job_with(ELEVEN, "", metadata);
    let result = found.reconcile_at("2026-03-01T11:30:00Z");
    assert_eq!(records(&result), ["11:00:00Z - - Started Scheduled Running"]);
    let created = result.status.slots[0].created_time.unwrap();
    assert_eq!(created.to_string(), "2026-03-01T11:00:03Z");
}

#[test]
fn the_status_keeps_the_newest_records_and_those_of_active_runs() {
    let mut result = fixture(json!({})).newest_records(2).last_scheduled(TEN).reconcile_at(ELEVEN);
    let mut finished: Option<String> = None;
    for hour in 12..16 {
        let now = format!("2026-03-01T{hour}:00:00Z");
        let mut next = fixture(json!({})).newest_records(2).after(&result).job(ELEVEN, "");
        if let Some(slot) = &finished {
            next = next.job(slot, "Complete");
        }
        result = next.reconcile_at(&now);
        finished = Some(now);
    }
    assert_eq!(
        records(&result),
        ["11:00:00Z - - Started Scheduled Running", "15:00:00Z - - Started Scheduled Running",]
    );
}
