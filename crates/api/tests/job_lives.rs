//! Jobs that Kubernetes' own controller ran: what was posted gets the spec that kube-apiserver
//! gave it, and every status the controller wrote is accepted.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use punctual_api::strategy::{self, CreateContext, ResourceKind};
use punctual_api::validate::ValidationOptions;
use punctual_api::{Dialect, Status};
use punctual_schedule::Zones;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Life {
    name: String,
    /// The Job as it was created.
    posted: Value,
    /// What was changed while it ran.
    steps: Vec<Value>,
    /// The Job at the end.
    metadata: Value,
    spec: Value,
    /// Every status that was seen.
    status_history: Vec<Value>,
}

fn lives() -> Vec<Life> {
    let text = include_str!("../testdata/job-histories.jsonl");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn created(life: &Life) -> Result<Value, Status> {
    let birth = CreateContext {
        namespace: life.metadata.pointer("/namespace").and_then(Value::as_str).unwrap(),
        uid: life.metadata.pointer("/uid").and_then(Value::as_str).unwrap(),
        suffix: "",
        now: "2026-11-15T08:00:00Z".parse().unwrap(),
    };
    let rules = ValidationOptions { zones: Zones::bundled(), dialect: Dialect::Strict };
    let admitted = strategy::create(ResourceKind::Job, life.posted.clone(), &birth, &rules)?;
    Ok(admitted.object)
}

#[test]
fn a_posted_job_gets_the_spec_and_labels_it_got_from_kube_apiserver() {
    let mut compared = 0;
    for life in lives().iter().filter(|life| life.steps.is_empty()) {
        let job = created(life).unwrap();
        assert_eq!(job.get("spec"), Some(&life.spec), "{}", life.name);
        assert_eq!(job.pointer("/metadata/labels"), life.metadata.get("labels"), "{}", life.name);
        compared += 1;
    }
    println!("{compared} Jobs compared");
    assert!(compared >= 20, "{compared}");
}

#[test]
fn every_status_that_the_job_controller_wrote_is_accepted() {
    let mut written = 0;
    for life in lives() {
        let mut job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": life.metadata,
            "spec": life.spec, "status": {}});
        for status in &life.status_history {
            let mut new = job.clone();
            new.as_object_mut().unwrap().insert("status".to_owned(), status.clone());
            let admitted = strategy::update_status(ResourceKind::Job, new, &job)
                .unwrap_or_else(|status| panic!("{}: {status}", life.name));
            assert_eq!(admitted.object.get("status"), Some(status), "{}", life.name);
            job = admitted.object;
            written += 1;
        }
    }
    println!("{written} statuses accepted");
    assert!(written >= 50, "{written}");
}
