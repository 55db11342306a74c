//! Tests of server-side apply: ownership, conflicts, removed fields and the first apply to an older
//! object.

use jiff::Timestamp;
use punctual_api::schema;
use serde_json::json;

use super::*;
use crate::patch::track_fields;

fn field_manager(name: &str, second: i64) -> FieldManager<'_> {
    let now = Timestamp::from_second(second).unwrap();
    let schema = schema::find_struct("Pod").unwrap();
    FieldManager { name, api_version: "v1", subresource: "", schema, now }
}

fn pod(metadata: Value, spec: Value) -> Value {
    let mut object = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec});
    object["metadata"]["name"] = "p".into();
    object
}

fn labels(labels: Value) -> Value {
    let mut object = pod(json!({ "labels": labels }), Value::Null);
    object.as_object_mut().unwrap().remove("spec");
    object
}

fn spec(spec: Value) -> Value {
    pod(json!({}), spec)
}

fn applied(live: Option<&Value>, config: Value, manager: &str, second: i64) -> Value {
    server_side_apply(live, config, &field_manager(manager, second), false).unwrap()
}

fn refused(live: &Value, config: Value, manager: &str) -> Status {
    server_side_apply(Some(live), config, &field_manager(manager, 9), false).unwrap_err()
}

/// Returns the manager and the operation of each entry.
fn owners(object: &Value) -> Vec<(&str, &str)> {
    let entries = object["metadata"]["managedFields"].as_array();
    entries
        .into_iter()
        .flatten()
        .map(|entry| (entry["manager"].as_str().unwrap(), entry["operation"].as_str().unwrap()))
        .collect()
}

fn without_managers(mut object: Value) -> Value {
    let metadata = object["metadata"].as_object_mut().unwrap();
    metadata.remove("managedFields");
    metadata.retain(|_, value| !value.is_null());
    object
}

#[test]
fn applying_again_changes_nothing_including_times() {
    let config = spec(json!({"containers": [{"name": "c", "image": "x"}]}));
    let once = applied(None, config.clone(), "one", 1);
    assert_eq!(once["metadata"]["managedFields"][0]["time"], "1970-01-01T00:00:01Z");
    assert_eq!(applied(Some(&once), config, "one", 2), once);
}

#[test]
fn fields_no_longer_applied_are_removed_with_emptied_parents() {
    let once = applied(None, labels(json!({"a": "1", "b": "2"})), "one", 1);
    let twice = applied(Some(&once), labels(json!({"b": "2"})), "one", 2);
    assert_eq!(without_managers(twice.clone()), labels(json!({"b": "2"})));
    let thrice = applied(Some(&twice), spec(json!({})), "one", 3);
    assert_eq!(without_managers(thrice), spec(json!({})));
}

#[test]
fn fields_of_another_applier_stay() {
    let once = applied(None, labels(json!({"a": "1", "b": "2"})), "one", 1);
    let both = applied(Some(&once), labels(json!({"a": "1"})), "two", 2);
    assert_eq!(owners(&both), [("two", "Apply"), ("one", "Apply")]);
    let left = applied(Some(&both), labels(json!({})), "one", 3);
    assert_eq!(without_managers(left)["metadata"]["labels"], json!({"a": "1"}));
}

#[test]
fn fields_that_were_never_applied_stay() {
    let mut live = applied(None, labels(json!({"a": "1"})), "one", 1);
    let old = live.clone();
    live["metadata"]["labels"]["u"] = "1".into();
    track_fields(Some(&old), &mut live, &field_manager("updater", 2));
    let left = applied(Some(&live), spec(json!({})), "one", 3);
    assert_eq!(without_managers(left)["metadata"]["labels"], json!({"u": "1"}));
}

#[test]
fn conflicts_name_the_manager_and_the_fields() {
    let live = applied(None, labels(json!({"a": "1", "b": "1"})), "one", 1);
    let status = refused(&live, labels(json!({"a": "2"})), "two");
    assert_eq!(status.code, 409);
    assert_eq!(
        status.message,
        "Apply failed with 1 conflict: conflict with \"one\": .metadata.labels.a"
    );
    let status = refused(&live, labels(json!({"a": "2", "b": "2"})), "two");
    assert_eq!(
        status.message,
        "Apply failed with 2 conflicts: conflicts with \"one\":\n- .metadata.labels.a\n- \
         .metadata.labels.b"
    );
    assert_eq!(status.details.unwrap().causes.len(), 2);
}

#[test]
fn conflicts_with_updates_name_their_version_and_subresource() {
    let mut live = labels(json!({"a": "1"}));
    let status = FieldManager { subresource: "status", ..field_manager("one", 1) };
    track_fields(None, &mut live, &status);
    let status = refused(&live, labels(json!({"a": "2"})), "one");
    assert_eq!(
        status.message,
        "Apply failed with 1 conflict: conflict with \"one\" with subresource \"status\" using v1: \
         .metadata.labels.a"
    );
}

#[test]
fn force_takes_ownership() {
    let live = applied(None, labels(json!({"a": "1", "b": "1"})), "one", 1);
    let forced =
        server_side_apply(Some(&live), labels(json!({"a": "2"})), &field_manager("two", 2), true)
            .unwrap();
    let entries = &forced["metadata"]["managedFields"];
    assert_eq!(entries[0]["fieldsV1"], json!({"f:metadata": {"f:labels": {"f:b": {}}}}));
    assert_eq!(entries[1]["fieldsV1"], json!({"f:metadata": {"f:labels": {"f:a": {}}}}));
    assert_eq!(forced["metadata"]["labels"], json!({"a": "2", "b": "1"}));
}

#[test]
fn equal_values_are_shared_without_a_new_time() {
    let live = applied(None, labels(json!({"a": "1"})), "one", 1);
    let shared = applied(Some(&live), labels(json!({"a": "1"})), "two", 2);
    assert_eq!(without_managers(shared.clone()), without_managers(live));
    assert_eq!(shared["metadata"]["managedFields"][0].get("time"), None);
    assert_eq!(owners(&shared), [("two", "Apply"), ("one", "Apply")]);
}

#[test]
fn items_are_merged_by_key_and_keep_the_applied_order() {
    let containers = |names: &str| -> Value {
        let items: Vec<_> =
            names.chars().map(|name| json!({"name": name.to_string(), "image": "x"})).collect();
        spec(json!({ "containers": items }))
    };
    for (live, config, expected) in [
        ("abc", "c", "abc"),
        ("abc", "ca", "bca"),
        ("abc", "bax", "bcax"),
        ("abc", "xb", "axbc"),
        ("ab", "xy", "abxy"),
        ("abc", "cba", "cba"),
    ] {
        let mut object = containers(live);
        track_fields(None, &mut object, &field_manager("updater", 1));
        let found = applied(Some(&object), containers(config), "one", 2);
        assert_eq!(without_managers(found), containers(expected), "{live} {config}");
    }
}

#[test]
fn port_keys_have_the_default_protocol() {
    let container = |port: Value| spec(json!({"containers": [{"name": "c", "ports": [port]}]}));
    let live = applied(None, container(json!({"containerPort": 80, "protocol": "TCP"})), "one", 1);
    let found =
        applied(Some(&live), container(json!({"containerPort": 80, "name": "x"})), "two", 2);
    let ports = &found["spec"]["containers"][0]["ports"];
    assert_eq!(*ports, json!([{"containerPort": 80, "protocol": "TCP", "name": "x"}]));
}

#[test]
fn objects_without_managers_get_the_manager_before_first_apply() {
    let live = labels(json!({"a": "1"}));
    let status = refused(&live, labels(json!({"a": "2"})), "one");
    assert!(status.message.contains("\"before-first-apply\" using v1"), "{}", status.message);
    let found = applied(Some(&live), labels(json!({"b": "2"})), "one", 2);
    assert_eq!(owners(&found), [("one", "Apply"), ("before-first-apply", "Update")]);
}

#[test]
fn kubectl_takes_over_from_client_side_apply_without_conflict() {
    const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
    let last = labels(json!({"a": "1"})).to_string();
    let mut live = pod(json!({"labels": {"a": "1"}, "annotations": {ANNOTATION: last}}), json!({}));
    track_fields(None, &mut live, &field_manager("kubectl-client-side-apply", 1));
    let config = labels(json!({"a": "2"}));
    assert_eq!(refused(&live, config.clone(), "other").code, 409);
    let found = applied(Some(&live), config.clone(), "kubectl", 2);
    assert_eq!(found["metadata"]["labels"], json!({"a": "2"}));
    let updated = found["metadata"]["annotations"][ANNOTATION].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(updated).unwrap(), config);
    live["metadata"]["labels"]["a"] = "changed".into();
    assert_eq!(refused(&live, config, "kubectl").code, 409);
}

#[test]
fn configurations_with_managed_fields_or_duplicate_keys_are_refused() {
    let mut config = labels(json!({}));
    config["metadata"]["managedFields"] = json!([]);
    let status = server_side_apply(None, config, &field_manager("one", 1), false).unwrap_err();
    assert_eq!((status.code, status.message.as_str()), (400, "metadata.managedFields must be nil"));
    let duplicate =
        spec(json!({"containers": [{"name": "c", "env": [{"name": "A"}, {"name": "A"}]}]}));
    let status = server_side_apply(None, duplicate, &field_manager("one", 1), false).unwrap_err();
    assert_eq!(status.code, 422);
    assert_eq!(
        status.message,
        "failed to create typed patch object (/p; /v1, Kind=Pod): .spec.containers[name=\"c\"].env: \
         duplicate entries for key [name=\"A\"]"
    );
}
