//! What holds for every patch, apply and write.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use punctual_api::{defaults, schema};
use punctual_server::patch::{self, FieldManager};
use serde_json::{Map, Value, json};

fn writer(manager: &str, second: i64) -> FieldManager<'_> {
    let now = jiff::Timestamp::from_second(second).unwrap();
    let schema = schema::find_struct("Pod").unwrap();
    FieldManager { manager, api_version: "v1", subresource: "", schema, now }
}

/// Any tree, with names that mean something now and then.
fn any_tree() -> impl Strategy<Value = Value> {
    let names = prop_oneof![
        "metadata|spec|status|labels|finalizers|containers|name|env|ports|managedFields",
        "[$]patch|[$]retainKeys|[$]setElementOrder/containers|[$]deleteFromPrimitiveList/finalizers",
        "fieldsV1|f:spec|operation|manager|[a-z~/.:{]{0,3}",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2i64..3).prop_map(Value::from),
        Just(json!(1.5)),
        "delete|replace|merge|Apply|v1|FieldsV1|[a-c]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(8, 60, 5, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(names.clone(), inner, 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn labels() -> impl Strategy<Value = Value> {
    btree_map("[a-d]", "[12]", 0..4).prop_map(|labels| json!(labels))
}

fn container() -> impl Strategy<Value = Value> {
    let env = btree_map("[A-C]", "[12]", 0..3).prop_map(|env| {
        env.into_iter()
            .map(|(name, value)| json!({"name": name, "value": value}))
            .collect::<Value>()
    });
    ("[xy]", vec("[pq]", 0..2), env)
        .prop_map(|(image, args, env)| json!({"image": image, "args": args, "env": env}))
}

/// A configuration of a Pod, in canonical form.
fn config() -> impl Strategy<Value = Value> {
    let containers = btree_map("[a-c]", container(), 1..3).prop_map(|containers| {
        let named = containers.into_iter().map(|(name, mut container)| {
            container["name"] = name.into();
            container
        });
        named.collect::<Value>()
    });
    (labels(), containers, proptest::option::of("[hk]")).prop_map(
        |(labels, containers, hostname)| {
            let spec = json!({"containers": containers, "hostname": hostname});
            let metadata = json!({"name": "p", "labels": labels});
            clean(json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}))
        },
    )
}

/// Without nulls and empty lists and objects, which say nothing.
fn clean(value: Value) -> Value {
    let says = |value: &Value| !value.is_null() && *value != json!([]) && *value != json!({});
    match value {
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| (name, clean(value)))
            .filter(|(_, value)| says(value))
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(items) => items.into_iter().map(clean).collect(),
        other => other,
    }
}

fn canonical(mut object: Value) -> Value {
    defaults::canonical(&mut object);
    object
}

/// The paths of all leaves of a set of fields.
fn members(fields: &Value, prefix: &str, out: &mut Vec<String>) {
    for (element, below) in fields.as_object().into_iter().flatten() {
        if element == "." {
            continue;
        }
        let path = format!("{prefix}/{element}");
        if below.as_object().is_some_and(|below| below.is_empty() || below.contains_key(".")) {
            out.push(path.clone());
        }
        members(below, &path, out);
    }
}

fn owned(object: &Value) -> Vec<(String, Vec<String>)> {
    let entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let one = |entry: Value| {
        let mut paths = Vec::new();
        members(&entry["fieldsV1"], "", &mut paths);
        (format!("{} {}", entry["manager"], entry["operation"]), paths)
    };
    entries.into_iter().map(one).collect()
}

fn without_owners(mut object: Value) -> Value {
    object["metadata"].as_object_mut().unwrap().remove("managedFields");
    object
}

fn written(old: Option<&Value>, new: &Value, manager: &str, second: i64) -> Value {
    let mut new = new.clone();
    patch::track_fields(old, &mut new, &writer(manager, second));
    new
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn nothing_panics_on_any_trees(a in any_tree(), b in any_tree(), force in any::<bool>()) {
        let pod = schema::find_struct("Pod").unwrap();
        let text = b.to_string();
        let _ = patch::apply_strategic_patch(&a, b.clone(), pod);
        let _ = patch::apply_merge_patch(&a, text.as_bytes());
        let _ = patch::apply_json_patch(&a, text.as_bytes());
        let _ = patch::server_side_apply(Some(&a), b.clone(), &writer("one", 1), force);
        let _ = patch::server_side_apply(None, b.clone(), &writer("one", 1), force);
        let mut new = b.clone();
        patch::track_fields(Some(&a), &mut new, &writer("one", 1));
        patch::restore_unchanged_times(&a, &mut new);
        patch::track_fields(None, &mut new, &writer("one", 1));
    }

    #[test]
    fn any_operations_of_a_json_patch_are_safe(
        tree in any_tree(),
        operations in vec(
            ("add|remove|replace|move|copy|test", "(/[a-c0-2-]){0,3}", "(/[a-c0-2-]){0,3}", any_tree()),
            0..6,
        ),
    ) {
        let operations: Value = operations
            .into_iter()
            .map(|(op, path, from, value)| json!({"op": op, "path": path, "from": from, "value": value}))
            .collect();
        let _ = patch::apply_json_patch(&json!({"a": tree}), operations.to_string().as_bytes());
    }

    #[test]
    fn an_empty_patch_is_none(object in config()) {
        let pod = schema::find_struct("Pod").unwrap();
        prop_assert_eq!(&patch::apply_strategic_patch(&object, json!({}), pod).unwrap(), &object);
        prop_assert_eq!(&patch::apply_merge_patch(&object, b"{}").unwrap(), &object);
        prop_assert_eq!(&patch::apply_json_patch(&object, b"[]").unwrap(), &object);
    }

    #[test]
    fn a_strategic_merge_patch_of_an_object_with_itself_is_none(object in config()) {
        let pod = schema::find_struct("Pod").unwrap();
        prop_assert_eq!(&patch::apply_strategic_patch(&object, object.clone(), pod).unwrap(), &object);
    }

    #[test]
    fn what_was_applied_is_there_and_applying_again_is_nothing(live in config(), config in config()) {
        let live = written(None, &canonical(live), "updater", 1);
        let once = patch::server_side_apply(Some(&live), config.clone(), &writer("one", 2), true).unwrap();
        let again = patch::server_side_apply(Some(&once), config.clone(), &writer("one", 3), false).unwrap();
        prop_assert_eq!(&again, &once);
        prop_assert_eq!(&once["metadata"]["labels"]["a"].is_null(),
            &(config["metadata"]["labels"]["a"].is_null() && live["metadata"]["labels"]["a"].is_null()));
    }

    #[test]
    fn applying_and_taking_back_restores_what_others_have(live in config(), config in config()) {
        let live = written(None, &canonical(live), "updater", 1);
        let Ok(once) = patch::server_side_apply(Some(&live), config, &writer("one", 2), false) else {
            return Ok(());
        };
        let nothing = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}});
        let back = patch::server_side_apply(Some(&once), nothing, &writer("one", 3), false).unwrap();
        prop_assert_eq!(owned(&back), owned(&live));
        prop_assert_eq!(without_owners(canonical(back)), without_owners(canonical(live)));
    }

    #[test]
    fn updates_never_share_a_field_and_own_only_what_is_there(
        objects in vec((config(), "[ab]"), 1..5),
    ) {
        let mut live: Option<Value> = None;
        for (second, (object, manager)) in objects.into_iter().enumerate() {
            let object = canonical(object);
            let next = written(live.as_ref(), &object, &manager, i64::try_from(second).unwrap());
            let mut all: Vec<_> = owned(&next).into_iter().flat_map(|(_, paths)| paths).collect();
            let mut fresh: Vec<_> = Vec::new();
            for (_, paths) in owned(&written(None, &object, "x", 0)) {
                fresh.extend(paths);
            }
            all.sort();
            let count = all.len();
            all.dedup();
            prop_assert_eq!(all.len(), count, "a field has two owners");
            prop_assert!(all.iter().all(|path| fresh.contains(path)), "owned but not there");
            live = Some(next);
        }
    }

    #[test]
    fn a_write_of_the_same_object_changes_nothing(a in config(), b in config()) {
        let live = written(None, &canonical(a), "one", 1);
        let live = written(Some(&live), &canonical(b.clone()), "two", 2);
        prop_assert_eq!(&written(Some(&live), &canonical(b), "three", 3), &live);
    }
}
