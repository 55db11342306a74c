//! Replays random strategic merge patches, updates and server-side applies, and compares the results
//! with those of Kubernetes' own libraries.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use punctual_api::{defaults, schema};
use punctual_server::patch::{self, FieldManager};
use serde_json::{Value, json};

const STRATEGIC: &str = include_str!("../testdata/strategic.jsonl");
const OWNERSHIP: &str = include_str!("../testdata/ownership.jsonl");

fn lines(source: &str) -> impl Iterator<Item = Value> {
    source.lines().map(|line| serde_json::from_str(line).unwrap())
}

/// Returns the object as kube-apiserver writes it.
fn canonical(mut object: Value) -> Value {
    object["apiVersion"] = "v1".into();
    object["kind"] = "Pod".into();
    defaults::canonical(&mut object);
    object
}

#[test]
fn strategic_patches_match_the_results_of_kubernetes() {
    let pod = schema::find_struct("Pod").unwrap();
    for line in lines(STRATEGIC) {
        let found = patch::apply_strategic_patch(&line["original"], line["patch"].clone(), pod);
        match (found, line["error"].as_str()) {
            (Ok(found), None) => {
                assert_eq!(canonical(found), canonical(line["result"].clone()), "{line}");
            }
            (Err(status), Some(message)) => assert_eq!(status.message, message, "{line}"),
            (found, _) => panic!("{found:?}\n{line}"),
        }
    }
}

/// Returns the entries of `managedFields` without times, sorted by manager.
fn entries_without_times(object: &Value) -> Vec<Value> {
    let mut entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    for entry in &mut entries {
        entry.as_object_mut().unwrap().remove("time");
    }
    entries.sort_by_key(|entry| format!("{}{}", entry["manager"], entry["operation"]));
    entries
}

fn without_managed_fields(mut object: Value) -> Value {
    object["metadata"].as_object_mut().unwrap().remove("managedFields");
    object
}

fn check_result(line: &Value, found: Value, step: &Value) {
    let found = canonical(found);
    let expected = canonical(step["result"].clone());
    let entries = json!(entries_without_times(&found));
    assert_eq!(entries, json!(entries_without_times(&expected)), "\n{step}\n{line}");
    assert_eq!(without_managed_fields(found), without_managed_fields(expected), "\n{step}\n{line}");
}

#[test]
fn managed_fields_match_those_of_kubernetes_after_any_sequence_of_writes() {
    for line in lines(OWNERSHIP) {
        let mut live: Option<Value> = None;
        for step in line["steps"].as_array().unwrap() {
            let manager = FieldManager {
                name: step["manager"].as_str().unwrap(),
                api_version: "v1",
                subresource: "",
                schema: schema::find_struct("Pod").unwrap(),
                now: jiff::Timestamp::UNIX_EPOCH,
            };
            let force = step["force"] == true;
            let found = if step["update"].is_object() {
                let mut new = canonical(step["update"].clone());
                patch::track_fields(live.as_ref(), &mut new, &manager);
                Ok(new)
            } else {
                patch::server_side_apply(live.as_ref(), step["apply"].clone(), &manager, force)
            };
            match (found, &step["error"]) {
                (Ok(mut found), Value::Null) => {
                    found["metadata"]["uid"] = "u".into();
                    check_result(&line, found, step);
                    live = Some(canonical(step["result"].clone()));
                }
                (Err(status), Value::Object(error)) => {
                    let causes = status.details.expect("only conflicts").causes;
                    let mut causes: Vec<_> = causes
                        .into_iter()
                        .map(|cause| format!("{}: {}", cause.message, cause.field))
                        .collect();
                    causes.sort();
                    assert_eq!(json!(causes), error["causes"], "\n{step}\n{line}");
                }
                (found, _) => panic!("{found:?}\n{step}\n{line}"),
            }
        }
    }
}
