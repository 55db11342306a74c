//! Tests of strategic merge patches: merging of lists, directives and error texts.

use punctual_api::schema;
use serde_json::json;

use super::*;

fn patched(object: Value, patch: Value) -> Result<Value, Status> {
    apply_strategic_patch(&object, patch, schema::find_struct("Pod").unwrap())
}

/// Checks a patch of the spec of a Pod.
fn check(spec: Value, patch: Value, expected: Value) {
    let description = patch.to_string();
    let found = patched(json!({ "spec": spec }), json!({ "spec": patch })).unwrap();
    assert_eq!(found, json!({ "spec": expected }), "{description}");
}

fn check_error(spec: Value, patch: Value, code: u16, message: &str) {
    let status = patched(json!({ "spec": spec }), json!({ "spec": patch })).unwrap_err();
    assert_eq!((status.code, status.message.as_str()), (code, message));
}

/// Returns containers with these names and the same images.
fn containers(names: &str) -> Value {
    names.chars().map(|name| json!({"name": name.to_string(), "image": name.to_string()})).collect()
}

#[test]
fn fields_are_set_merged_and_removed() {
    check(
        json!({"hostname": "a", "nodeName": "n", "securityContext": {"runAsUser": 1}}),
        json!({"hostname": "b", "nodeName": null, "securityContext": {"fsGroup": 2}}),
        json!({"hostname": "b", "securityContext": {"runAsUser": 1, "fsGroup": 2}}),
    );
    let labels = json!({"metadata": {"labels": {"a": "1", "b": "2"}}});
    let patch = json!({"metadata": {"labels": {"a": null, "c": "3"}}});
    let expected = json!({"metadata": {"labels": {"b": "2", "c": "3"}}});
    assert_eq!(patched(labels, patch).unwrap(), expected);
}

#[test]
fn nulls_and_directives_in_new_values_are_dropped() {
    check(
        json!({}),
        json!({
            "securityContext": {"fsGroup": 1, "runAsUser": null, "sysctls": [{"name": "a", "value": null}]},
            "affinity": {"$patch": "delete"},
            "containers": [{"name": "a"}, {"name": "b", "$patch": "delete"}],
        }),
        json!({
            "securityContext": {"fsGroup": 1, "sysctls": [{"name": "a"}]},
            "containers": [{"name": "a"}],
        }),
    );
}

#[test]
fn lists_with_a_key_are_merged_and_others_are_replaced() {
    check(
        json!({"containers": [{"name": "a", "image": "1", "args": ["x", "y"]}]}),
        json!({"containers": [{"name": "a", "args": ["z"]}]}),
        json!({"containers": [{"name": "a", "image": "1", "args": ["z"]}]}),
    );
    check(
        json!({"tolerations": [{"key": "a"}]}),
        json!({"tolerations": [{"key": "b"}]}),
        json!({"tolerations": [{"key": "b"}]}),
    );
}

#[test]
fn new_items_precede_items_that_are_not_in_the_patch() {
    for (old, new, expected) in [
        ("ab", "c", "cab"),
        ("abc", "b", "abc"),
        ("abc", "cb", "acb"),
        ("abc", "xb", "xabc"),
        ("abc", "bx", "abxc"),
        ("", "ab", "ab"),
    ] {
        let patch = json!({"containers": containers(new)});
        check(
            json!({"containers": containers(old)}),
            patch,
            json!({"containers": containers(expected)}),
        );
    }
}

#[test]
fn items_can_be_deleted_and_lists_replaced() {
    check(
        json!({"containers": containers("abc")}),
        json!({"containers": [{"$patch": "delete", "name": "b"}, {"name": "c", "image": "x"}]}),
        json!({"containers": [{"name": "a", "image": "a"}, {"name": "c", "image": "x"}]}),
    );
    check(
        json!({"containers": containers("abc")}),
        json!({"containers": [{"$patch": "replace"}, {"name": "z"}, {"name": "a"}]}),
        json!({"containers": [{"name": "z"}, {"name": "a"}]}),
    );
}

#[test]
fn objects_can_be_replaced_and_deleted() {
    check(
        json!({"securityContext": {"runAsUser": 1}}),
        json!({"securityContext": {"$patch": "replace", "fsGroup": 1}}),
        json!({"securityContext": {"fsGroup": 1}}),
    );
    check(
        json!({"securityContext": {"runAsUser": 1}}),
        json!({"securityContext": {"$patch": "delete"}}),
        json!({"securityContext": {}}),
    );
}

#[test]
fn element_order_applies_with_and_without_a_patch_of_the_list() {
    let order = |names: &str| -> Value {
        names.chars().map(|name| json!({"name": name.to_string()})).collect()
    };
    for (old, wanted, expected) in
        [("abc", "cba", "cba"), ("abcd", "ca", "bcad"), ("abc", "", "abc"), ("ab", "xba", "ba")]
    {
        let patch = json!({"$setElementOrder/containers": order(wanted)});
        check(
            json!({"containers": containers(old)}),
            patch,
            json!({"containers": containers(expected)}),
        );
    }
    check(
        json!({"containers": containers("ab")}),
        json!({"$setElementOrder/containers": order("bca"), "containers": [{"name": "c", "image": "c"}]}),
        json!({"containers": containers("bca")}),
    );
    check(json!({}), json!({"$setElementOrder/containers": order("a")}), json!({}));
}

#[test]
fn values_are_added_once_and_can_be_deleted() {
    let object = json!({"metadata": {"finalizers": ["a", "b"]}});
    for (patch, expected) in [
        (json!({"finalizers": ["b", "c"]}), json!(["a", "b", "c"])),
        (json!({"$deleteFromPrimitiveList/finalizers": ["a", "x"]}), json!(["b"])),
        (json!({"$setElementOrder/finalizers": ["b", "a"]}), json!(["b", "a"])),
        (
            json!({"$deleteFromPrimitiveList/finalizers": ["a"], "$setElementOrder/finalizers": ["c", "b"],
                   "finalizers": ["c"]}),
            json!(["c", "b"]),
        ),
    ] {
        let found = patched(object.clone(), json!({"metadata": patch})).unwrap();
        assert_eq!(found["metadata"]["finalizers"], expected, "{patch}");
    }
}

#[test]
fn fields_not_in_retain_keys_are_removed() {
    check(
        json!({"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}),
        json!({"volumes": [{"name": "v", "emptyDir": {}, "$retainKeys": ["name", "emptyDir"]}]}),
        json!({"volumes": [{"name": "v", "emptyDir": {}}]}),
    );
}

#[test]
fn errors_have_the_texts_of_kubernetes() {
    let spec = json!({"containers": [{"name": "a"}], "nodeSelector": {}});
    let error = |patch: Value, code, message: &str| check_error(spec.clone(), patch, code, message);
    error(
        json!({"containers": [{"image": "x", "args": ["1", 2, null]}]}),
        422,
        "map: map[args:[1 2 <nil>] image:x] does not contain declared merge key: name",
    );
    error(
        json!({"containers": [{"$patch": "delete"}]}),
        422,
        "map: map[$patch:delete] does not contain declared merge key: name",
    );
    error(
        json!({"containers": ["a"]}),
        422,
        "list element types are not identical: [[map[name:a]] [a]]",
    );
    error(
        json!({"$setElementOrder/none": []}),
        422,
        "unable to find api field in struct PodSpec for the json field \"none\"",
    );
    error(json!({"$setElementOrder": []}), 400, "invalid patch format of setElementOrder list");
    error(json!({"$deleteFromPrimitiveList": []}), 400, "invalid patch format of primitive list");
    error(json!({"$retainKeys": 1}), 400, "invalid patch format of retainKeys");
    error(
        json!({"$retainKeys": ["containers"], "hostname": "a"}),
        400,
        "invalid patch format of retainKeys",
    );
    error(json!({"$patch": "other"}), 422, "unknown patch type: other in map: map[$patch:other]");
    error(
        json!({"containers": [{"$patch": "merge"}]}),
        422,
        "merging lists cannot yet be specified in the patch",
    );
    error(
        json!({"$setElementOrder/containers": [{"name": "b"}], "containers": [{"name": "a"}]}),
        422,
        "The order in patch list:\n[map[name:a]]\n doesn't match $setElementOrder list:\n[map[name:b]]\n",
    );
    let status = patched(json!({}), json!([])).unwrap_err();
    assert_eq!(
        status.message,
        "json: cannot unmarshal array into Go value of type map[string]interface {}"
    );
}
