//! Replays patches and other writes recorded from kube-apiserver.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use std::collections::HashMap;

use punctual_api::{Status, defaults, schema};
use punctual_server::patch::{self, FieldManager};
use serde_json::{Value, json};

const RECORDING: &str = include_str!("../testdata/kube-apiserver.jsonl");

struct RecordedWrite {
    name: String,
    method: String,
    /// The path of the object, without its subresource.
    path: String,
    subresource: String,
    query: String,
    content_type: String,
    request: Value,
    code: u64,
    response: Value,
}

impl RecordedWrite {
    fn parse(line: &str) -> RecordedWrite {
        let line: Value = serde_json::from_str(line).unwrap();
        let text = |path: &str| line.pointer(path).and_then(Value::as_str).unwrap_or("").to_owned();
        let full = text("/request/path");
        let (path, query) = full.split_once('?').unwrap_or((&full, ""));
        let (path, subresource) = match path.strip_suffix("/status") {
            Some(path) => (path, "status"),
            None => (path, ""),
        };
        let response = line["response"]["body"].clone();
        let is_create = text("/request/method") == "POST";
        let name = response["metadata"]["name"].as_str().unwrap_or_default();
        let path = if is_create { format!("{path}/{name}") } else { path.to_owned() };
        RecordedWrite {
            name: format!("{}: {}", text("/scenario"), text("/name")),
            method: text("/request/method"),
            path,
            subresource: subresource.to_owned(),
            query: query.to_owned(),
            content_type: text("/request/headers/Content-Type"),
            request: line["request"]["body"].clone(),
            code: line["response"]["code"].as_u64().unwrap(),
            response,
        }
    }

    fn parameter(&self, name: &str) -> Option<&str> {
        let mut pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    fn kind(&self) -> &'static str {
        let kinds = [("cronjobs", "CronJob"), ("jobs", "Job"), ("pods", "Pod")];
        let others = [
            ("namespaces", "Namespace"),
            ("events", "Event"),
            ("leases", "Lease"),
            ("configmaps", "ConfigMap"),
            ("secrets", "Secret"),
        ];
        let plural = self.path.rsplit('/').nth(1).unwrap();
        kinds.into_iter().chain(others).find(|(name, _)| *name == plural).unwrap().1
    }

    fn api_version(&self) -> String {
        let path = self.path.trim_start_matches("/apis/").trim_start_matches("/api/");
        path.split("/namespaces").next().unwrap().to_owned()
    }

    /// Returns the time of the write: the latest one in the response.
    fn now(&self) -> jiff::Timestamp {
        let entries = self.response["metadata"]["managedFields"].as_array();
        let times = entries.into_iter().flatten().filter_map(|entry| entry["time"].as_str());
        times.max().unwrap_or("2026-11-15T07:35:33Z").parse().unwrap()
    }

    fn is_apply(&self) -> bool {
        self.content_type == "application/apply-patch+yaml"
    }

    /// Applies the recorded patch to an object.
    fn apply_patch(&self, live: &Value) -> Result<Value, Status> {
        let api_version = self.api_version();
        let body = self.request.to_string();
        let schema = schema::find_kind(&api_version, self.kind()).unwrap();
        match self.content_type.as_str() {
            "application/merge-patch+json" => patch::apply_merge_patch(live, body.as_bytes()),
            "application/json-patch+json" => patch::apply_json_patch(live, body.as_bytes()),
            "application/strategic-merge-patch+json" => {
                patch::apply_strategic_patch(live, self.request.clone(), schema)
            }
            other => panic!("{other}"),
        }
    }

    fn server_side_apply(&self, live: Option<&Value>) -> Result<Value, Status> {
        let force = self.parameter("force") == Some("true");
        self.with_writer(|writer| {
            patch::server_side_apply(live, self.request.clone(), writer, force)
        })
    }

    fn with_writer<T>(&self, act: impl FnOnce(&FieldManager<'_>) -> T) -> T {
        let api_version = self.api_version();
        act(&FieldManager {
            name: self.parameter("fieldManager").unwrap_or("python-requests"),
            api_version: &api_version,
            subresource: &self.subresource,
            schema: schema::find_kind(&api_version, self.kind()).unwrap(),
            now: self.now(),
        })
    }
}

/// Returns all patches of CronJobs, and all writes whose response is a whole object with
/// `managedFields`.
fn recorded_writes() -> impl Iterator<Item = RecordedWrite> {
    let is_relevant = |line: &&str| {
        let line: Value = serde_json::from_str(line).unwrap();
        let body = &line["response"]["body"];
        let is_managed = body["metadata"]["managedFields"].is_array();
        let is_whole = !["SelfSubjectAccessReview", "PartialObjectMetadata"]
            .contains(&body["kind"].as_str().unwrap_or_default());
        line["scenario"] == "cronjob-patch" || is_managed && is_whole
    };
    RECORDING.lines().filter(is_relevant).map(RecordedWrite::parse)
}

/// Calls `check` with every write and the object before it.
fn replay(mut check: impl FnMut(&RecordedWrite, Option<&Value>)) {
    let mut objects: HashMap<String, Value> = HashMap::new();
    for write in recorded_writes() {
        check(&write, objects.get(&write.path));
        if write.code < 300 && write.parameter("dryRun").is_none() {
            objects.insert(write.path.clone(), write.response.clone());
        }
    }
}

/// Returns the parts of an object that patches change.
fn content(object: &Value) -> Value {
    let metadata = &object["metadata"];
    json!([metadata["labels"], metadata["annotations"], object["spec"], object["status"]])
}

#[test]
fn patches_match_the_recorded_results() {
    let mut count = 0;
    replay(|write, live| {
        if !write.name.starts_with("cronjob-patch") || write.method != "PATCH" {
            return;
        }
        if write.name.ends_with("fieldManager") || write.content_type == "application/json" {
            return;
        }
        let result = match live {
            _ if write.is_apply() => write.server_side_apply(live),
            Some(live) => write.apply_patch(live),
            None => return,
        };
        match result {
            Ok(mut object) => {
                defaults::cron_job(&mut object);
                if write.code < 300 {
                    assert_eq!(content(&object), content(&write.response), "{}", write.name);
                } else {
                    // A check after the patch refused it.
                    assert!(
                        write.name.contains("invalid") || write.name.contains("stale"),
                        "{}",
                        write.name
                    );
                }
            }
            Err(status) => assert_eq!(json!(status), write.response, "{}", write.name),
        }
        count += 1;
    });
    assert_eq!(count, 18);
}

/// Removes fields that the server sets after it has tracked ownership.
fn without_generated(mut object: Value) -> Value {
    let generated = ["controller-uid", "job-name"];
    let is_generated = |name: &str| generated.iter().any(|end| name.ends_with(end));
    let kind = object["kind"].as_str().unwrap_or_default().to_owned();
    for labels in ["/metadata/labels", "/spec/template/metadata/labels"] {
        if let Some(Value::Object(labels)) = object.pointer_mut(labels) {
            labels.retain(|name, _| kind != "Job" || !is_generated(name));
        }
    }
    for metadata in ["/metadata", "/spec/template/metadata"] {
        if let Some(Value::Object(metadata)) = object.pointer_mut(metadata)
            && metadata.get("labels").is_some_and(|labels| *labels == json!({}))
        {
            metadata.remove("labels");
        }
    }
    let generated: &[&str] = match kind.as_str() {
        "Job" => &["selector"],
        "Namespace" => &["finalizers"],
        "Pod" => &["volumes", "tolerations", "priority", "preemptionPolicy"],
        _ => &[],
    };
    for name in generated {
        object["spec"].as_object_mut().unwrap().remove(*name);
    }
    if kind == "Pod" {
        object["spec"]["containers"][0].as_object_mut().unwrap().remove("volumeMounts");
    }
    object
}

#[test]
fn managed_fields_match_the_recorded_ones() {
    let mut count = 0;
    replay(|write, live| {
        if !["POST", "PUT", "PATCH"].contains(&write.method.as_str()) || write.code >= 300 {
            return;
        }
        let old = if write.method == "POST" { None } else { live };
        let new = if write.is_apply() {
            write.server_side_apply(old).expect(&write.name)
        } else {
            let mut new = without_generated(write.response.clone());
            // The server accepts the entries that a client sends, even outdated ones.
            new["metadata"]["managedFields"] = match write.method.as_str() {
                "PATCH" => old.map_or(Value::Null, |old| old["metadata"]["managedFields"].clone()),
                _ => write.request["metadata"]["managedFields"].clone(),
            };
            let old = old.map(|old| without_generated(old.clone()));
            write.with_writer(|writer| patch::track_fields(old.as_ref(), &mut new, writer));
            new
        };
        let found = &new["metadata"]["managedFields"];
        let recorded = &write.response["metadata"]["managedFields"];
        assert!(found == recorded, "{}\n{found:#}\n{recorded:#}", write.name);
        count += 1;
    });
    assert_eq!(count, 54);
}
