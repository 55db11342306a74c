//! Tests of operations on sets of fields: union, difference and intersection.

use serde_json::json;

use super::*;

fn set(value: Value) -> FieldSet {
    match value {
        Value::Object(fields) => fields,
        other => panic!("{other}"),
    }
}

#[test]
fn subtracting_removes_members_and_keeps_children() {
    for (from, other, rest) in [
        (json!({"f:a": {}}), json!({"f:a": {}}), json!({})),
        (json!({"f:a": {}}), json!({"f:a": {"f:b": {}}}), json!({"f:a": {}})),
        (json!({"f:a": {"f:b": {}}}), json!({"f:a": {}}), json!({"f:a": {"f:b": {}}})),
        (json!({"f:a": {".": {}, "f:b": {}}}), json!({"f:a": {}}), json!({"f:a": {"f:b": {}}})),
        (json!({"f:a": {".": {}, "f:b": {}}}), json!({"f:a": {"f:b": {}}}), json!({"f:a": {}})),
        (json!({"f:a": {"f:b": {}}}), json!({"f:a": {".": {}, "f:b": {}}}), json!({})),
        (json!({"f:a": {}, "f:c": {}}), json!({"f:b": {}}), json!({"f:a": {}, "f:c": {}})),
    ] {
        let mut fields = set(from.clone());
        subtract(&mut fields, &set(other.clone()));
        assert_eq!(Value::Object(fields), rest, "{from} - {other}");
    }
}

#[test]
fn a_union_contains_the_members_of_both_sets() {
    for (a, b, both) in [
        (json!({"f:a": {}}), json!({"f:b": {}}), json!({"f:a": {}, "f:b": {}})),
        (json!({"f:a": {}}), json!({"f:a": {"f:b": {}}}), json!({"f:a": {".": {}, "f:b": {}}})),
        (json!({"f:a": {"f:b": {}}}), json!({"f:a": {}}), json!({"f:a": {".": {}, "f:b": {}}})),
        (
            json!({"f:a": {"f:b": {}}}),
            json!({"f:a": {"f:c": {}}}),
            json!({"f:a": {"f:b": {}, "f:c": {}}}),
        ),
    ] {
        let mut fields = set(a);
        union_with(&mut fields, set(b));
        assert_eq!(Value::Object(fields), both);
    }
}

#[test]
fn an_intersection_contains_the_common_members() {
    for (a, b, both) in [
        (json!({"f:a": {}}), json!({"f:a": {"f:b": {}}}), json!({})),
        (json!({"f:a": {".": {}, "f:b": {}}}), json!({"f:a": {}}), json!({"f:a": {}})),
        (
            json!({"f:a": {".": {}, "f:b": {}}}),
            json!({"f:a": {"f:b": {}, "f:c": {}}}),
            json!({"f:a": {"f:b": {}}}),
        ),
    ] {
        assert_eq!(Value::Object(intersection(&set(a), &set(b))), both);
    }
}

#[test]
fn key_elements_are_canonical_and_have_defaults() {
    let port = punctual_api::schema::find_struct("ContainerPort").unwrap();
    let keys = ["containerPort", "protocol"];
    let element = |item: Value| key_element(&item, port, &keys).unwrap();
    assert_eq!(element(json!({"containerPort": 80})), r#"k:{"containerPort":80,"protocol":"TCP"}"#);
    assert_eq!(
        element(json!({"protocol": "<&>"})),
        r#"k:{"containerPort":0,"protocol":"\u003c\u0026\u003e"}"#
    );
    assert_eq!(key_element(&json!(1), port, &keys), None);
    assert_eq!(value_element(&json!("a\"b")).unwrap(), r#"v:"a\"b""#);
    assert_eq!(value_element(&json!({})), None);
}

#[test]
fn sets_from_clients_become_canonical_or_are_refused() {
    let fields = set(json!({
        "k:{\"b\": 1, \"a\":2}": {".": {}, "f:x": {".": {}}}, "x:y": {}, "v: 1": {}, "i:07": {}
    }));
    let clean = json!({"k:{\"a\":2,\"b\":1}": {".": {}, "f:x": {}}, "v:1": {}, "i:7": {}});
    assert_eq!(canonical(fields).map(Value::Object), Some(clean));
    for invalid in ["a", "name", "k:[]", "k:{", "v:", "i:x"] {
        assert_eq!(canonical(set(json!({ invalid: {} }))), None, "{invalid}");
    }
}

#[test]
fn paths_have_the_format_of_kubernetes() {
    let fields = set(json!({
        "f:metadata": {"f:finalizers": {"v:\"x\"": {}}, "f:labels": {".": {}, "f:a": {}}},
        "f:spec": {"f:containers": {"k:{\"name\":\"c\"}": {".": {}, "f:image": {}}}},
        "f:list": {"i:0": {}},
    }));
    let paths = paths(&fields);
    assert_eq!(
        paths,
        [
            ".list[0]",
            ".metadata.labels",
            ".metadata.finalizers[=\"x\"]",
            ".metadata.labels.a",
            ".spec.containers[name=\"c\"]",
            ".spec.containers[name=\"c\"].image"
        ]
    );
}
