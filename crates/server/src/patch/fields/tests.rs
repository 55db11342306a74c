use serde_json::json;

use super::*;

fn set(value: Value) -> Fields {
    match value {
        Value::Object(fields) => fields,
        other => panic!("{other}"),
    }
}

#[test]
fn subtracting_takes_members_and_leaves_what_is_below() {
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
fn uniting_keeps_the_members_of_both() {
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
        unite(&mut fields, set(b));
        assert_eq!(Value::Object(fields), both);
    }
}

#[test]
fn an_intersection_has_what_is_a_member_of_both() {
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
fn keys_are_canonical_and_have_their_defaults() {
    let port = punctual_api::schema::find_struct("ContainerPort").unwrap();
    let keys = ["containerPort", "protocol"];
    let element = |item: Value| keyed(&item, port, &keys).unwrap();
    assert_eq!(element(json!({"containerPort": 80})), r#"k:{"containerPort":80,"protocol":"TCP"}"#);
    assert_eq!(
        element(json!({"protocol": "<&>"})),
        r#"k:{"containerPort":0,"protocol":"\u003c\u0026\u003e"}"#
    );
    assert_eq!(keyed(&json!(1), port, &keys), None);
    assert_eq!(valued(&json!("a\"b")).unwrap(), r#"v:"a\"b""#);
    assert_eq!(valued(&json!({})), None);
}

#[test]
fn what_a_client_wrote_is_made_canonical_or_refused() {
    let fields = set(json!({
        "k:{\"b\": 1, \"a\":2}": {".": {}, "f:x": {".": {}}}, "x:y": {}, "v: 1": {}, "i:07": {}
    }));
    let clean = json!({"k:{\"a\":2,\"b\":1}": {".": {}, "f:x": {}}, "v:1": {}, "i:7": {}});
    assert_eq!(canonical(fields).map(Value::Object), Some(clean));
    for broken in ["a", "name", "k:[]", "k:{", "v:", "i:x"] {
        assert_eq!(canonical(set(json!({ broken: {} }))), None, "{broken}");
    }
}

#[test]
fn paths_are_shown_as_kubernetes_shows_them() {
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
