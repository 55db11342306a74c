//! Tests of creates and updates: which fields the server sets, keeps and rejects.

use punctual_schedule::Zones;
use serde_json::json;

use super::*;
use crate::validate::tests::{cron_job, with};
use crate::{CronJobKind, Dialect};

const CRON_JOB: ResourceKind = ResourceKind::CronJob(CronJobKind::BatchV1);

fn rules() -> ValidationOptions {
    ValidationOptions { zones: Zones::bundled(), dialect: Dialect::Punctual }
}

fn context() -> CreateContext<'static> {
    let now = "2026-11-15T00:00:00.75Z".parse().unwrap();
    CreateContext { namespace: "n", uid: "new-uid", suffix: "abcde", now }
}

fn created(kind: ResourceKind, object: Value) -> Value {
    create(kind, object, &context(), &rules()).unwrap().object
}

fn updated(object: Value, old: &Value) -> Value {
    update(CRON_JOB, object, old, &rules(), context().now).unwrap().object
}

#[test]
fn a_create_replaces_the_identity_that_the_client_sent() {
    let given = with(
        cron_job(),
        &[
            ("/metadata/uid", json!("mine")),
            ("/metadata/generation", json!(7)),
            ("/metadata/creationTimestamp", json!("1999-01-01T00:00:00Z")),
            ("/metadata/deletionTimestamp", json!("1999-01-01T00:00:00Z")),
            ("/status/lastScheduleTime", json!("1999-01-01T00:00:00Z")),
        ],
    );
    let object = created(CRON_JOB, given);
    let since = json!({"punctual.dev/schedule-since": "2026-11-15T00:00:00Z */5 * * * *"});
    let want = json!({"name": "a", "namespace": "n", "uid": "new-uid", "generation": 1,
        "creationTimestamp": "2026-11-15T00:00:00Z", "annotations": since});
    assert_eq!(object.get("metadata"), Some(&want));
    assert_eq!(object.get("status"), Some(&json!({})));
}

#[test]
fn a_name_is_generated_from_generate_name() {
    for (prefix, want) in
        [("gen-", "gen-abcde".to_owned()), (&"p".repeat(47), format!("{}abcde", "p".repeat(47)))]
    {
        let meta = json!({"generateName": prefix});
        let object = created(CRON_JOB, with(cron_job(), &[("/metadata", meta)]));
        assert_eq!(object.pointer("/metadata/name"), Some(&json!(want)));
    }
}

#[test]
fn a_namespace_or_name_other_than_that_of_the_request_is_rejected() {
    let elsewhere = with(cron_job(), &[("/metadata/namespace", json!("m"))]);
    assert_eq!(create(CRON_JOB, elsewhere, &context(), &rules()).unwrap_err().code, 400);
    assert!(check_name(&cron_job(), "a").is_ok());
    assert_eq!(check_name(&cron_job(), "b").unwrap_err().code, 400);
}

#[test]
fn an_update_keeps_fields_that_clients_may_not_change() {
    let old = with(
        created(CRON_JOB, cron_job()),
        &[
            ("/metadata/resourceVersion", json!("5")),
            ("/metadata/deletionTimestamp", json!("2026-11-16T00:00:00Z")),
            ("/status", json!({"missedRuns": 3})),
        ],
    );
    let given = with(
        cron_job(),
        &[
            ("/metadata", json!({"name": "a", "generation": 99, "labels": {"x": "y"}})),
            ("/status", json!({"missedRuns": 9})),
        ],
    );
    let object = updated(given, &old);
    let want = json!({"name": "a", "namespace": "n", "uid": "new-uid", "generation": 1,
        "creationTimestamp": "2026-11-15T00:00:00Z", "resourceVersion": "5",
        "deletionTimestamp": "2026-11-16T00:00:00Z", "labels": {"x": "y"}});
    assert_eq!(object.get("metadata"), Some(&want));
    assert_eq!(object.get("status"), Some(&json!({"missedRuns": 3})));
}

#[test]
fn only_spec_changes_increase_the_generation() {
    let old = with(created(CRON_JOB, cron_job()), &[("/metadata/resourceVersion", json!("5"))]);
    let generation = |object: Value| object.pointer("/metadata/generation").cloned();
    let labelled = with(old.clone(), &[("/metadata/labels", json!({"x": "y"}))]);
    assert_eq!(generation(updated(labelled, &old)), Some(json!(1)));
    let suspended = with(old.clone(), &[("/spec/suspend", json!(true))]);
    assert_eq!(generation(updated(suspended, &old)), Some(json!(2)));
}

#[test]
fn a_status_update_keeps_the_spec() {
    let pod = json!({"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]});
    let job = json!({"metadata": {"name": "j"}, "spec": {"template": {"spec": pod}}});
    let old = with(created(ResourceKind::Job, job), &[("/metadata/resourceVersion", json!("5"))]);
    let given = with(
        old.clone(),
        &[("/spec/parallelism", json!(9)), ("/status", json!({"active": 1, "ready": 0}))],
    );
    let object = update_status(ResourceKind::Job, given, &old).unwrap().object;
    assert_eq!(object.get("spec"), old.get("spec"));
    assert_eq!(object.pointer("/status/active"), Some(&json!(1)));
}

#[test]
fn a_new_pod_is_pending() {
    let meta = json!({"name": "p"});
    let spec = json!({"containers": [{"name": "c", "image": "x"}]});
    let object = created(ResourceKind::Pod, json!({"metadata": meta, "spec": spec}));
    assert_eq!(object.get("status"), Some(&json!({"phase": "Pending", "qosClass": "BestEffort"})));
}

#[test]
fn malformed_resource_versions_are_rejected() {
    assert_eq!(parse_resource_version("12").unwrap(), 12);
    let status = parse_resource_version("abc").unwrap_err();
    let message = "strconv.ParseUint: parsing \"abc\": invalid syntax";
    assert_eq!((status.code, status.message.as_str()), (500, message));
}

#[test]
fn a_run_request_is_created_without_a_status_and_counts_changes_of_its_spec() {
    let request = json!({"metadata": {"generateName": "backup-"},
        "spec": {"target": {"name": "backup"}, "now": true}, "status": {"total": 3}});
    let old = created(ResourceKind::RunRequest, request);
    assert_eq!(old.pointer("/metadata/name"), Some(&json!("backup-abcde")));
    assert_eq!(old.get("status"), Some(&json!({})));
    let old = with(old, &[("/metadata/resourceVersion", json!("5"))]);
    let status = with(old.clone(), &[("/status/total", json!(1)), ("/spec/now", json!(false))]);
    let accepted = update_status(ResourceKind::RunRequest, status, &old).unwrap().object;
    assert_eq!(accepted.get("spec"), old.get("spec"));
    let suspended = with(old.clone(), &[("/spec/suspend", json!(true)), ("/status", json!({}))]);
    let suspended =
        update(ResourceKind::RunRequest, suspended, &accepted, &rules(), context().now).unwrap();
    assert_eq!(suspended.object.pointer("/metadata/generation"), Some(&json!(2)));
    assert_eq!(suspended.object.pointer("/status/total"), Some(&json!(1)));
}
