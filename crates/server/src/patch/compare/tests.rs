//! Tests of comparing objects: which fields count as set and as removed.

use punctual_api::schema;
use serde_json::json;

use super::*;

fn check(old: Value, new: Value, set: Value, removed: Value) {
    let pod = schema::find_struct("Pod").unwrap();
    let found = compare_objects(Some(&old), &new, pod);
    assert_eq!(Value::Object(found.set), set, "set from {old} to {new}");
    assert_eq!(Value::Object(found.removed), removed, "removed from {old} to {new}");
}

fn pod(spec: Value) -> Value {
    json!({ "spec": spec })
}

#[test]
fn maps_are_owned_by_entry_and_as_a_whole() {
    let none = json!({"metadata": {}});
    let some = json!({"metadata": {"labels": {"a": "1"}}});
    let more = json!({"metadata": {"labels": {"a": "2", "b": "1"}}});
    let labels = json!({"f:metadata": {"f:labels": {".": {}, "f:a": {}}}});
    check(none.clone(), some.clone(), labels.clone(), json!({}));
    check(some.clone(), none, json!({}), labels);
    let both = json!({"f:metadata": {"f:labels": {"f:a": {}, "f:b": {}}}});
    check(some.clone(), more.clone(), both, json!({}));
    let b = json!({"f:metadata": {"f:labels": {"f:b": {}}}});
    check(more, some, json!({"f:metadata": {"f:labels": {"f:a": {}}}}), b);
}

#[test]
fn keyed_lists_are_owned_by_item_in_any_order() {
    let a = json!({"name": "a", "image": "x"});
    let b = json!({"name": "b", "image": "x"});
    let one = pod(json!({"containers": [a]}));
    let two = pod(json!({"containers": [b, a]}));
    let fields = json!({".": {}, "f:image": {}, "f:name": {}});
    let added = json!({"f:spec": {"f:containers": {"k:{\"name\":\"b\"}": fields}}});
    check(one.clone(), two.clone(), added.clone(), json!({}));
    check(two.clone(), one, json!({}), added);
    check(two, pod(json!({"containers": [a, b]})), json!({}), json!({}));
}

#[test]
fn atomic_lists_and_structs_are_owned_as_a_whole() {
    let old =
        pod(json!({"nodeSelector": {"a": "1"}, "containers": [{"name": "a", "args": ["x"]}]}));
    let new =
        pod(json!({"nodeSelector": {"a": "2"}, "containers": [{"name": "a", "args": ["y"]}]}));
    let args = json!({"k:{\"name\":\"a\"}": {"f:args": {}}});
    let set = json!({"f:spec": {"f:nodeSelector": {}, "f:containers": args}});
    check(old, new, set, json!({}));
}

#[test]
fn sets_are_owned_by_value() {
    let old = json!({"metadata": {"finalizers": ["a", "b"]}});
    let new = json!({"metadata": {"finalizers": ["c", "b"]}});
    let element = |value: &str| json!({"f:metadata": {"f:finalizers": {value: {}}}});
    check(old, new, element("v:\"c\""), element("v:\"a\""));
}

#[test]
fn empty_objects_can_be_owned_but_implied_fields_cannot() {
    let set = json!({"f:spec": {"f:securityContext": {}}});
    check(pod(json!({})), pod(json!({"securityContext": {}})), set, json!({}));
    check(json!({}), json!({"spec": {}, "status": {}}), json!({}), json!({}));
    check(json!({}), pod(json!({"containers": null})), json!({}), json!({}));
}

#[test]
fn items_with_the_same_key_are_owned_as_one() {
    let a = json!({"name": "a", "value": "1"});
    let b = json!({"name": "a", "value": "2"});
    let env = |items: Value| pod(json!({"containers": [{"name": "c", "env": items}]}));
    let children = |node: Value| {
        let env = json!({"f:env": {"k:{\"name\":\"a\"}": node}});
        json!({"f:spec": {"f:containers": {"k:{\"name\":\"c\"}": env}}})
    };
    let fields = json!({".": {}, "f:name": {}, "f:value": {}});
    check(env(json!([a, b])), env(json!([a, b])), json!({}), json!({}));
    check(env(json!([a, b])), env(json!([b, a])), children(json!({})), json!({}));
    check(env(json!([a])), env(json!([a, b])), children(json!({})), children(fields.clone()));
    check(env(json!([a, b])), env(json!([a])), children(fields), children(json!({})));
}

#[test]
fn unknown_fields_are_owned_by_entry() {
    let set = json!({"f:novel": {".": {}, "f:a": {".": {}, "f:b": {}}, "f:list": {}}});
    check(json!({}), json!({"novel": {"a": {"b": 1}, "list": [1, 2]}}), set, json!({}));
    check(json!({"novel": 1}), json!({"novel": 1.0}), json!({}), json!({}));
    check(json!({"novel": 1}), json!({"novel": [1]}), json!({"f:novel": {}}), json!({}));
}

#[test]
fn collects_the_fields_of_a_configuration() {
    let config = json!({
        "metadata": {"labels": {"a": "1"}, "annotations": {}, "finalizers": ["x"]},
        "spec": {"containers": [{"name": "c", "ports": [{"containerPort": 1}]}], "hostname": null},
    });
    let port =
        json!({"k:{\"containerPort\":1,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}}});
    let expected = json!({
        "f:metadata": {"f:labels": {"f:a": {}}, "f:annotations": {}, "f:finalizers": {"v:\"x\"": {}}},
        "f:spec": {
            "f:containers": {"k:{\"name\":\"c\"}": {".": {}, "f:name": {}, "f:ports": port}},
            "f:hostname": {},
        },
    });
    let found = collect_fields(&config, schema::find_struct("Pod").unwrap());
    assert_eq!(Value::Object(found), expected);
}
