//! Compares our tables with those recorded from kube-apiserver v1.36. A recording is a line with
//! the resource, the time and the columns, followed by a line for every row.

use serde_json::{Value, json};

use super::*;
use crate::resource::{CRON_JOBS, PODS, RESOURCES, Resource, SCHEDULED_JOBS};

fn find_served(group: &str, version: &str, plural: &str) -> ServedResource {
    let (resource, group_version) = Resource::find(group, version, plural).unwrap();
    ServedResource { resource, group_version }
}

fn served_as_stored(resource: &'static Resource) -> ServedResource {
    ServedResource { resource, group_version: resource.group_versions[0] }
}

fn options_at(now: &str) -> TableOptions {
    TableOptions {
        include_object: IncludeObject::Metadata,
        has_columns: true,
        now: now.parse().unwrap(),
    }
}

/// Compares a recorded table, without its descriptions, with the rendered one.
fn check(recorded: &Value, rows: &[Value]) {
    let [group, version, plural, now] =
        ["group", "version", "plural", "now"].map(|key| recorded[key].as_str().unwrap());
    let objects: Vec<_> = rows.iter().map(|row| row["object"].clone()).collect();
    let options = TableOptions { include_object: IncludeObject::Object, ..options_at(now) };
    let mut table = render(find_served(group, version, plural), &objects, json!({}), options);
    for column in table["columnDefinitions"].as_array_mut().unwrap() {
        let description = column.as_object_mut().unwrap().remove("description").unwrap();
        assert_ne!(description, "");
    }
    assert_eq!(table["columnDefinitions"], recorded["columns"], "{group} {plural}");
    for (ours, theirs) in table["rows"].as_array().unwrap().iter().zip(rows) {
        assert_eq!(ours, theirs, "{group} {plural}");
    }
}

#[test]
fn tables_of_all_kinds_match_the_recording() {
    let lines = include_str!("../../testdata/tables.jsonl").lines();
    let lines: Vec<Value> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    let tables = lines.chunk_by(|_, line| line.get("cells").is_some());
    let mut count = 0;
    for table in tables {
        check(&table[0], &table[1..]);
        count += 1;
    }
    let expected = RESOURCES.iter().map(|resource| resource.group_versions.len()).sum::<usize>();
    // Kubernetes has neither CronJobs of batch/v1beta1 nor ScheduledJobs, slot records and RunRequests.
    assert_eq!(count, expected - 4);
}

#[test]
fn column_descriptions_of_cron_jobs_match_the_recording() {
    let recorded: Value =
        serde_json::from_str(include_str!("../../testdata/cronjob_columns.json")).unwrap();
    for served in [served_as_stored(&CRON_JOBS), served_as_stored(&SCHEDULED_JOBS)] {
        let table = render(served, &[], json!({}), options_at("2026-01-01T00:00:00Z"));
        assert_eq!(table["columnDefinitions"], recorded);
        assert_eq!(table["rows"], json!([]));
    }
}

#[test]
fn rows_contain_the_requested_part_of_their_object() {
    let object = json!({ "kind": "Pod", "metadata": { "name": "a", "labels": { "x": "y" } } });
    for (include_object, expected) in [
        ("None", Value::Null),
        ("", partial_metadata::object(&object)),
        ("Metadata", partial_metadata::object(&object)),
        ("Object", object.clone()),
    ] {
        let options = TableOptions {
            include_object: IncludeObject::parse(include_object).unwrap(),
            ..options_at("2026-01-01T00:00:00Z")
        };
        let objects = std::slice::from_ref(&object);
        let table = render(served_as_stored(&PODS), objects, json!({}), options);
        assert_eq!(table["rows"][0]["object"], expected, "{include_object}");
    }
    let error = IncludeObject::parse("All").unwrap_err();
    assert_eq!(error.to_string(), r#"unrecognized includeObject value: "All""#);
}

#[test]
fn the_bookmark_that_ends_initial_events_always_has_its_metadata() {
    let annotations = json!({ "k8s.io/initial-events-end": "true" });
    let bookmark = json!({ "metadata": { "resourceVersion": "7", "annotations": annotations } });
    let options =
        TableOptions { include_object: IncludeObject::None, ..options_at("2026-01-01T00:00:00Z") };
    let table = render(
        served_as_stored(&PODS),
        std::slice::from_ref(&bookmark),
        metadata_of_one(&bookmark),
        options,
    );
    assert_eq!(table["metadata"], json!({ "resourceVersion": "7" }));
    assert_eq!(table["rows"][0]["object"]["metadata"], bookmark["metadata"]);
}

#[test]
fn later_events_of_a_watch_do_not_describe_columns() {
    let options = TableOptions { has_columns: false, ..options_at("2026-01-01T00:00:00Z") };
    let table = render(served_as_stored(&PODS), &[json!({})], json!({}), options);
    assert_eq!(table["columnDefinitions"], Value::Null);
    assert_eq!(table["rows"][0]["cells"][0], "");
}

#[test]
fn malformed_objects_still_become_rows() {
    let parts = [Value::Null, json!(1), json!("x"), json!([[], 1, "x", {}]), json!({ "a": {} })];
    for resource in RESOURCES {
        let options = options_at("2026-01-01T00:00:00Z");
        let width = render(served_as_stored(resource), &[], json!({}), options);
        let width = width["columnDefinitions"].as_array().unwrap().len();
        for part in &parts {
            let object = json!({
                "metadata": part, "spec": part, "status": part, "data": part, "series": part,
                "involvedObject": part, "type": part, "message": part,
            });
            let deep = json!({
                "metadata": { "labels": part, "creationTimestamp": part },
                "spec": { "containers": part, "initContainers": part, "selector": part },
                "status": {
                    "conditions": part, "active": part, "containerStatuses": part,
                    "initContainerStatuses": part, "addresses": part, "startTime": part,
                },
            });
            let objects = [object, deep, part.clone()];
            let table = render(served_as_stored(resource), &objects, json!({}), options);
            for row in table["rows"].as_array().unwrap() {
                assert_eq!(row["cells"].as_array().unwrap().len(), width, "{row}");
            }
        }
    }
}

#[test]
fn partial_objects_contain_only_metadata() {
    let object = json!({ "kind": "Job", "metadata": { "name": "a" }, "spec": {} });
    for (object, metadata) in [(object, json!({ "name": "a" })), (json!({}), json!({}))] {
        let want = json!({
            "kind": "PartialObjectMetadata",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": metadata,
        });
        assert_eq!(partial_metadata::object(&object), want);
    }
}
