//! Tests of the entries of `managedFields`: encoding, order and the limit of their number.

use punctual_api::schema;
use serde_json::json;

use super::*;

fn entry(manager: &str, time: &str, api_version: &str, field: &str) -> Value {
    json!({
        "manager": manager, "operation": "Update", "apiVersion": api_version, "time": time,
        "fieldsType": "FieldsV1", "fieldsV1": {field: {}},
    })
}

fn names(entries: &Value) -> Vec<&str> {
    entries.as_array().unwrap().iter().map(|entry| entry["manager"].as_str().unwrap()).collect()
}

#[test]
fn encoding_returns_the_parsed_entries() {
    let mut applied = entry("b", "2020-01-01T00:00:00Z", "v1", "f:a");
    applied["operation"] = "Apply".into();
    applied["subresource"] = "status".into();
    let entries = json!([applied, entry("a", "2020-01-01T00:00:00Z", "v1", "f:a")]);
    let managers = ManagedFields::parse(entries.clone()).unwrap();
    assert_eq!(managers.encode().unwrap(), entries);
    assert_eq!(ManagedFields::default().encode(), None);
}

#[test]
fn entries_are_sorted_by_operation_time_and_name() {
    let mut applied = entry("z", "2030-01-01T00:00:00Z", "v1", "f:a");
    applied["operation"] = "Apply".into();
    let mut timeless = entry("y", "", "v1", "f:a");
    timeless.as_object_mut().unwrap().remove("time");
    let entries = json!([
        entry("c", "2020-01-02T00:00:00Z", "v1", "f:a"),
        entry("b", "2020-01-01T00:00:00Z", "v1", "f:a"),
        entry("a", "2020-01-02T00:00:00Z", "v1", "f:a"),
        timeless,
        applied,
    ]);
    let encoded = ManagedFields::parse(entries).unwrap().encode().unwrap();
    assert_eq!(names(&encoded), ["z", "y", "b", "a", "c"]);
}

#[test]
fn invalid_entries_are_refused() {
    for (field, value) in [
        ("operation", json!("Other")),
        ("apiVersion", json!("")),
        ("fieldsType", json!("FieldsV2")),
        ("fieldsV1", json!([])),
        ("manager", json!(1)),
    ] {
        let mut invalid = entry("a", "2020-01-01T00:00:00Z", "v1", "f:a");
        invalid[field] = value;
        assert_eq!(ManagedFields::parse(json!([invalid])), None, "{field}");
    }
    assert_eq!(ManagedFields::parse(json!({})), None);
    assert_eq!(ManagedFields::parse(json!([1])), None);
}

#[test]
fn oldest_updates_are_merged_above_the_limit() {
    let entries: Vec<_> = (0..12)
        .map(|i| {
            let version = if i == 1 { "v1beta1" } else { "v1" };
            let time = format!("2020-01-01T00:00:{i:02}Z");
            entry(&format!("m{i:02}"), &time, version, &format!("f:{i}"))
        })
        .collect();
    let mut managers = ManagedFields::parse(Value::Array(entries)).unwrap();
    managers.limit_updates();
    let encoded = managers.encode().unwrap();
    let kept = ["m01", "ancient-changes", "m04", "m05", "m06", "m07", "m08", "m09", "m10", "m11"];
    assert_eq!(names(&encoded), kept);
    assert_eq!(encoded[1]["fieldsV1"], json!({"f:0": {}, "f:2": {}, "f:3": {}}));
    assert_eq!(encoded[1]["time"], "2020-01-01T00:00:03Z");
}

#[test]
fn manager_names_are_truncated_between_characters() {
    let manager = FieldManager {
        name: &"ä".repeat(100),
        api_version: "v1",
        subresource: "",
        schema: schema::find_struct("Pod").unwrap(),
        now: jiff::Timestamp::UNIX_EPOCH,
    };
    let key = ManagerKey::new(&manager, ManagedOperation::Update);
    assert_eq!(key.name, "ä".repeat(64));
    let unnamed = FieldManager { name: "", ..manager };
    assert_eq!(ManagerKey::new(&unnamed, ManagedOperation::Update).name, "unknown");
}
