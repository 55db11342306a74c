//! Compared with tables of kube-apiserver v1.36, recorded together with the objects they show:
//! a line with the resource, the time and the columns, then a line for every row.

use serde_json::{Value, json};

use super::*;
use crate::resource::{ALL, CRON_JOBS, PODS, Resource, SCHEDULED_JOBS};

fn find_served(group: &str, version: &str, plural: &str) -> ServedResource {
    let (resource, group_version) = Resource::find(group, version, plural).unwrap();
    ServedResource { resource, group_version }
}

fn served_as_stored(resource: &'static Resource) -> ServedResource {
    ServedResource { resource, group_version: resource.group_versions[0] }
}

fn at(now: &str) -> TableOptions {
    TableOptions { include: IncludeObject::Metadata, has_columns: true, now: now.parse().unwrap() }
}

/// The table of objects that was recorded, without descriptions, and what is rendered for it.
fn check(recorded: &Value, rows: &[Value]) {
    let [group, version, plural, now] =
        ["group", "version", "plural", "now"].map(|key| recorded[key].as_str().unwrap());
    let objects: Vec<_> = rows.iter().map(|row| row["object"].clone()).collect();
    let how = TableOptions { include: IncludeObject::Object, ..at(now) };
    let mut table = render(find_served(group, version, plural), &objects, json!({}), how);
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
fn every_kind_is_shown_as_recorded() {
    let lines = include_str!("../../testdata/tables.jsonl").lines();
    let lines: Vec<Value> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    let tables = lines.chunk_by(|_, line| line.get("cells").is_some());
    let mut count = 0;
    for table in tables {
        check(&table[0], &table[1..]);
        count += 1;
    }
    let served = ALL.iter().map(|resource| resource.group_versions.len()).sum::<usize>();
    // All but CronJobs of batch/v1beta1 and ScheduledJobs, which Kubernetes does not have.
    assert_eq!(count, served - 2);
}

#[test]
fn columns_of_cron_jobs_are_described_as_recorded() {
    let recorded: Value =
        serde_json::from_str(include_str!("../../testdata/cronjob_columns.json")).unwrap();
    for served in [served_as_stored(&CRON_JOBS), served_as_stored(&SCHEDULED_JOBS)] {
        let table = render(served, &[], json!({}), at("2026-01-01T00:00:00Z"));
        assert_eq!(table["columnDefinitions"], recorded);
        assert_eq!(table["rows"], json!([]));
    }
}

#[test]
fn a_row_says_as_much_about_its_object_as_is_asked_for() {
    let object = json!({ "kind": "Pod", "metadata": { "name": "a", "labels": { "x": "y" } } });
    for (asked, shown) in [
        ("None", Value::Null),
        ("", partial::object(&object)),
        ("Metadata", partial::object(&object)),
        ("Object", object.clone()),
    ] {
        let include = IncludeObject::parse(asked).unwrap();
        let how = TableOptions { include, ..at("2026-01-01T00:00:00Z") };
        let table = render(served_as_stored(&PODS), std::slice::from_ref(&object), json!({}), how);
        assert_eq!(table["rows"][0]["object"], shown, "{asked}");
    }
    let refusal = IncludeObject::parse("All").unwrap_err();
    assert_eq!(refusal, r#"unrecognized includeObject value: "All""#);
}

#[test]
fn the_bookmark_that_ends_initial_events_has_its_metadata_always() {
    let annotations = json!({ "k8s.io/initial-events-end": "true" });
    let bookmark = json!({ "metadata": { "resourceVersion": "7", "annotations": annotations } });
    let how = TableOptions { include: IncludeObject::None, ..at("2026-01-01T00:00:00Z") };
    let table = render(
        served_as_stored(&PODS),
        std::slice::from_ref(&bookmark),
        metadata_of_one(&bookmark),
        how,
    );
    assert_eq!(table["metadata"], json!({ "resourceVersion": "7" }));
    assert_eq!(table["rows"][0]["object"]["metadata"], bookmark["metadata"]);
}

#[test]
fn later_events_of_a_watch_do_not_describe_columns() {
    let how = TableOptions { has_columns: false, ..at("2026-01-01T00:00:00Z") };
    let table = render(served_as_stored(&PODS), &[json!({})], json!({}), how);
    assert_eq!(table["columnDefinitions"], Value::Null);
    assert_eq!(table["rows"][0]["cells"][0], "");
}

#[test]
fn an_object_of_nonsense_is_a_row_all_the_same() {
    let parts = [Value::Null, json!(1), json!("x"), json!([[], 1, "x", {}]), json!({ "a": {} })];
    for resource in ALL {
        let width = render(served_as_stored(resource), &[], json!({}), at("2026-01-01T00:00:00Z"));
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
            let how = at("2026-01-01T00:00:00Z");
            let table = render(served_as_stored(resource), &objects, json!({}), how);
            for row in table["rows"].as_array().unwrap() {
                assert_eq!(row["cells"].as_array().unwrap().len(), width, "{row}");
            }
        }
    }
}

#[test]
fn partial_objects_are_metadata_and_nothing_else() {
    let object = json!({ "kind": "Job", "metadata": { "name": "a" }, "spec": {} });
    let list = partial::list(&[object, json!({})], json!({ "resourceVersion": "5" }));
    assert_eq!(
        list,
        json!({
            "kind": "PartialObjectMetadataList",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": { "resourceVersion": "5" },
            "items": [
                {
                    "kind": "PartialObjectMetadata",
                    "apiVersion": "meta.k8s.io/v1",
                    "metadata": { "name": "a" },
                },
                {
                    "kind": "PartialObjectMetadata",
                    "apiVersion": "meta.k8s.io/v1",
                    "metadata": {},
                },
            ],
        })
    );
}
