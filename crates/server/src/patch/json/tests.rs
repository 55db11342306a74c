//! Tests of JSON patches: the standard, the deviations of kube-apiserver, and the limits.

use serde_json::json;

use super::*;

fn check(object: Value, patch: Value, expected: Option<Value>) {
    let found = apply_json_patch(&object, patch.to_string().as_bytes());
    match (found, expected) {
        (Ok(found), Some(expected)) => assert_eq!(found, expected, "{patch}"),
        (Err(status), None) => assert_eq!(status.code, 422, "{patch}"),
        (found, expected) => panic!("{patch}: {found:?}, not {expected:?}"),
    }
}

#[test]
fn operations_follow_the_standard() {
    let object = json!({"a": [1, 2], "b": {"c/d": 1, "e~f": 2}});
    for (patch, expected) in [
        (json!([{"op": "add", "path": "/a/1", "value": 9}]), json!([1, 9, 2])),
        (json!([{"op": "add", "path": "/a/-", "value": 9}]), json!([1, 2, 9])),
        (json!([{"op": "remove", "path": "/a/0"}]), json!([2])),
        (json!([{"op": "replace", "path": "/a/0", "value": 9}]), json!([9, 2])),
        (json!([{"op": "move", "from": "/b/c~1d", "path": "/a/0"}]), json!([1, 1, 2])),
        (json!([{"op": "copy", "from": "/b/e~0f", "path": "/a/-"}]), json!([1, 2, 2])),
        (json!([{"op": "test", "path": "/a", "value": [1, 2]}]), json!([1, 2])),
    ] {
        let patched = apply_json_patch(&object, patch.to_string().as_bytes()).unwrap();
        assert_eq!(patched["a"], expected, "{patch}");
    }
}

#[test]
fn deviations_of_kube_apiserver_are_supported() {
    let replace = json!([{"op": "replace", "path": "/b", "value": 2}]);
    check(json!({"a": 1}), replace, Some(json!({"a": 1, "b": 2})));
    let test = json!([{"op": "test", "path": "/b", "value": null}]);
    check(json!({"a": 1}), test, Some(json!({"a": 1})));
    let last =
        json!([{"op": "remove", "path": "/a/-1"}, {"op": "add", "path": "/a/-1", "value": 3}]);
    check(json!({"a": [1, 2]}), last, Some(json!({"a": [1, 3]})));
}

#[test]
fn operations_that_do_not_fit_are_unprocessable() {
    for patch in [
        json!([{"op": "remove", "path": "/none"}]),
        json!([{"op": "remove", "path": "/a/2"}]),
        json!([{"op": "remove", "path": "/a/-3"}]),
        json!([{"op": "add", "path": "/a/3", "value": 1}]),
        json!([{"op": "add", "path": "/a/x", "value": 1}]),
        json!([{"op": "add", "path": "/none/x", "value": 1}]),
        json!([{"op": "add", "path": "", "value": 1}]),
        json!([{"op": "replace", "path": "", "value": 1}]),
        json!([{"op": "test", "path": "/a", "value": [2, 1]}]),
        json!([{"op": "copy", "path": "/x"}]),
        json!([{"op": "move", "from": "/none", "path": "/x"}]),
        json!([{"op": "unknown", "path": "/a"}]),
        json!([{"path": "/a"}, null]),
        json!([{"op": "add"}]),
    ] {
        check(json!({"a": [1, 2]}), patch, None);
    }
}

#[test]
fn malformed_patches_are_bad_requests_with_the_texts_of_kubernetes() {
    const DECODING: &str = "error decoding patch: json: cannot unmarshal";
    for (patch, message) in [
        ("{}", format!("{DECODING} object into Go value of type []handlers.jsonPatchOp")),
        ("[1]", format!("{DECODING} number into Go value of type handlers.jsonPatchOp")),
        (
            r#"[{"op": 1}]"#,
            format!("{DECODING} number into Go struct field jsonPatchOp.op of type string"),
        ),
        ("[", "error decoding patch: unexpected end of JSON input".to_owned()),
    ] {
        let status = apply_json_patch(&json!({}), patch.as_bytes()).unwrap_err();
        assert_eq!((status.code, status.message), (400, message));
    }
}

#[test]
fn too_many_operations_are_refused() {
    let patch = vec![json!({"op": "test", "path": "/a", "value": 1}); OPERATIONS_MAX + 1];
    let status =
        apply_json_patch(&json!({"a": 1}), Value::from(patch).to_string().as_bytes()).unwrap_err();
    assert_eq!(status.code, 413);
    assert_eq!(
        status.message,
        "The allowed maximum operations in a JSON patch is 10000, got 10001"
    );
}

#[test]
fn copies_cannot_grow_an_object_without_limit() {
    let doubling = json!({"op": "copy", "from": "/a", "path": "/a/-"});
    check(json!({"a": [1]}), Value::from(vec![doubling; 100]), None);
    let long = "x".repeat(1000);
    let copy = json!({"op": "copy", "from": "/a", "path": "/b"});
    check(json!({"a": long}), Value::from(vec![copy; 4000]), None);
}

#[test]
fn the_depth_of_the_result_is_limited() {
    let deeper = json!([
        {"op": "add", "path": "/b", "value": {}},
        {"op": "move", "from": "/a", "path": "/b/a"},
        {"op": "move", "from": "/b", "path": "/a"},
    ]);
    let deeper: Vec<_> = deeper.as_array().unwrap().iter().cycle().take(900).cloned().collect();
    check(json!({"a": {}}), Value::from(deeper), None);
}
