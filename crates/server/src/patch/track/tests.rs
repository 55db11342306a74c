//! Tests of field ownership after creates, updates and patches.

use jiff::Timestamp;
use punctual_api::schema;
use serde_json::json;

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn field_manager(name: &str, second: i64) -> FieldManager<'_> {
    let schema = schema::find_struct("ConfigMap").unwrap();
    FieldManager { name, api_version: "v1", subresource: "", schema, now: at(second) }
}

fn object(data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data})
}

/// Returns the object after a write of new data by a manager.
fn write(old: Option<&Value>, data: Value, manager: &str, second: i64) -> Value {
    let mut new = object(data);
    track_fields(old, &mut new, &field_manager(manager, second));
    new
}

/// Returns for each entry of `managedFields` the manager, the second of its time, and the fields that it
/// owns in `data`.
fn owners(object: &Value) -> Vec<(String, String, Value)> {
    let entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let second = |value: &Value| text(value).replace("1970-01-01T00:00:", "").replace('Z', "");
    let one = |entry: Value| {
        (text(&entry["manager"]), second(&entry["time"]), entry["fieldsV1"]["f:data"].clone())
    };
    entries.into_iter().map(one).collect()
}

fn owner(manager: &str, second: &str, data: Value) -> (String, String, Value) {
    (manager.to_owned(), second.to_owned(), data)
}

#[test]
fn the_creator_owns_all_fields() {
    let created = write(None, json!({"a": "1", "b": "2"}), "one", 1);
    assert_eq!(owners(&created), [owner("one", "01", json!({".": {}, "f:a": {}, "f:b": {}}))]);
}

#[test]
fn changing_a_field_takes_it_and_keeps_other_times() {
    let old = write(None, json!({"a": "1", "b": "2"}), "one", 1);
    let new = write(Some(&old), json!({"a": "1", "b": "3"}), "two", 2);
    let expected =
        [owner("one", "01", json!({".": {}, "f:a": {}})), owner("two", "02", json!({"f:b": {}}))];
    assert_eq!(owners(&new), expected);
}

#[test]
fn entries_without_fields_and_removed_fields_are_dropped() {
    let old = write(None, json!({"a": "1"}), "one", 1);
    let old = write(Some(&old), json!({"a": "1", "b": "1"}), "two", 2);
    let new = write(Some(&old), json!({"a": "1"}), "three", 3);
    assert_eq!(owners(&new), [owner("one", "01", json!({".": {}, "f:a": {}}))]);
}

#[test]
fn a_write_that_changes_nothing_changes_no_entry() {
    let old = write(None, json!({"a": "1"}), "one", 1);
    assert_eq!(write(Some(&old), json!({"a": "1"}), "two", 2), old);
    assert_eq!(write(Some(&old), json!({"a": "1"}), "one", 2), old);
}

#[test]
fn changing_an_owned_field_updates_the_time() {
    let old = write(None, json!({"a": "1"}), "one", 1);
    let new = write(Some(&old), json!({"a": "2"}), "one", 2);
    assert_eq!(owners(&new), [owner("one", "02", json!({".": {}, "f:a": {}}))]);
}

#[test]
fn an_empty_list_of_entries_stops_tracking() {
    let old = write(None, json!({"a": "1"}), "one", 1);
    for reset in [json!([]), json!([{}])] {
        let mut new = object(json!({"a": "2"}));
        new["metadata"]["managedFields"] = reset;
        track_fields(Some(&old), &mut new, &field_manager("one", 2));
        assert_eq!(new, object(json!({"a": "2"})));
        let next = write(Some(&new), json!({"a": "3"}), "one", 3);
        assert_eq!(owners(&next), []);
    }
}

#[test]
fn valid_entries_of_the_client_are_accepted() {
    let old = write(None, json!({"a": "1"}), "one", 1);
    let mut new = object(json!({"a": "1"}));
    new["metadata"]["managedFields"] = json!([{
        "manager": "moved", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {"f:a": {}}},
    }]);
    let mut invalid = new.clone();
    track_fields(Some(&old), &mut new, &field_manager("two", 2));
    assert_eq!(owners(&new), [owner("moved", "", json!({"f:a": {}}))]);
    invalid["metadata"]["managedFields"][0]["fieldsType"] = "None".into();
    track_fields(Some(&old), &mut invalid, &field_manager("two", 2));
    assert_eq!(invalid, old);
}

#[test]
fn writes_to_a_subresource_own_only_its_fields() {
    let schema = schema::find_struct("CronJob").unwrap();
    let object = json!({
        "metadata": {}, "spec": {"schedule": "x"}, "status": {"lastScheduleTime": "t"},
    });
    for (subresource, expected) in [
        ("", json!({"f:spec": {"f:schedule": {}}})),
        ("status", json!({"f:status": {"f:lastScheduleTime": {}}})),
    ] {
        let mut new = object.clone();
        let manager = FieldManager { schema, subresource, ..field_manager("one", 1) };
        track_fields(None, &mut new, &manager);
        let entry = &new["metadata"]["managedFields"][0];
        assert_eq!(entry["fieldsV1"], expected);
        assert_eq!(entry["subresource"].as_str().unwrap_or_default(), subresource);
    }
}

#[test]
fn times_are_restored_if_nothing_else_changed() {
    let old = write(None, json!({"a": "1"}), "one", 1);
    let mut same = write(None, json!({"a": "1"}), "one", 2);
    restore_unchanged_times(&old, &mut same);
    assert_eq!(same, old);
    let changed = write(Some(&old), json!({"a": "2"}), "one", 2);
    let mut kept = changed.clone();
    restore_unchanged_times(&old, &mut kept);
    assert_eq!(kept, changed);
}

#[test]
fn the_default_manager_is_the_product_of_the_user_agent() {
    assert_eq!(manager_from_user_agent("kubectl/v1.36.0 (linux/amd64)"), "kubectl");
    assert_eq!(manager_from_user_agent("a\u{7}b"), "ab");
    assert_eq!(manager_from_user_agent(""), "");
}

#[test]
fn values_that_are_not_objects_do_not_panic() {
    for mut value in
        [json!(1), json!({"metadata": 1}), json!([]), json!({"metadata": {"managedFields": 7}})]
    {
        track_fields(None, &mut value, &field_manager("one", 1));
        track_fields(Some(&json!("old")), &mut value, &field_manager("one", 1));
    }
}
