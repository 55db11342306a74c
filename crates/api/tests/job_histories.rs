//! Replays recorded Jobs of Kubernetes' Job controller: a created Job gets the same spec as in
//! kube-apiserver, and every recorded status update is accepted.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use punctual_api::validate::ValidationOptions;
use punctual_api::write_rules::{self, CreateContext, ResourceKind};
use punctual_api::{Dialect, Status};
use punctual_schedule::Zones;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JobHistory {
    name: String,
    /// The Job as it was created.
    posted: Value,
    /// The updates while the Job ran.
    steps: Vec<Value>,
    /// The Job at the end.
    metadata: Value,
    spec: Value,
    /// All recorded statuses.
    status_history: Vec<Value>,
}

fn histories() -> Vec<JobHistory> {
    let text = include_str!("../testdata/job-histories.jsonl");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn created(history: &JobHistory) -> Result<Value, Status> {
    let birth = CreateContext {
        namespace: history.metadata.pointer("/namespace").and_then(Value::as_str).unwrap(),
        uid: history.metadata.pointer("/uid").and_then(Value::as_str).unwrap(),
        suffix: "",
        now: "2026-11-15T08:00:00Z".parse().unwrap(),
    };
    let rules = ValidationOptions { zones: Zones::bundled(), dialect: Dialect::Kubernetes };
    let admitted = write_rules::create(ResourceKind::Job, history.posted.clone(), &birth, &rules)?;
    Ok(admitted.object)
}

#[test]
fn a_created_job_gets_the_same_spec_and_labels_as_in_kube_apiserver() {
    let mut compared = 0;
    for history in histories().iter().filter(|history| history.steps.is_empty()) {
        let job = created(history).unwrap();
        assert_eq!(job.get("spec"), Some(&history.spec), "{}", history.name);
        assert_eq!(
            job.pointer("/metadata/labels"),
            history.metadata.get("labels"),
            "{}",
            history.name
        );
        compared += 1;
    }
    println!("{compared} Jobs compared");
    assert!(compared >= 20, "{compared}");
}

#[test]
fn recorded_status_updates_of_the_job_controller_are_accepted() {
    let mut written = 0;
    for history in histories() {
        let mut job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": history.metadata,
            "spec": history.spec, "status": {}});
        for status in &history.status_history {
            let mut new = job.clone();
            new.as_object_mut().unwrap().insert("status".to_owned(), status.clone());
            let admitted = write_rules::update_status(ResourceKind::Job, new, &job)
                .unwrap_or_else(|status| panic!("{}: {status}", history.name));
            assert_eq!(admitted.object.get("status"), Some(status), "{}", history.name);
            job = admitted.object;
            written += 1;
        }
    }
    println!("{written} statuses accepted");
    assert!(written >= 50, "{written}");
}
