//! Property tests of patches, server-side apply and field ownership.

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

fn field_manager(name: &str, second: i64) -> FieldManager<'_> {
    let now = jiff::Timestamp::from_second(second).unwrap();
    let schema = schema::find_struct("Pod").unwrap();
    FieldManager { name, api_version: "v1", subresource: "", schema, now }
}

/// Any JSON value, with some names and values that are meaningful in patches.
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

/// Removes nulls and empty lists and objects.
fn clean(value: Value) -> Value {
    let is_kept = |value: &Value| !value.is_null() && *value != json!([]) && *value != json!({});
    match value {
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| (name, clean(value)))
            .filter(|(_, value)| is_kept(value))
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

/// Collects the paths of all members of a field set.
fn collect_members(fields: &Value, prefix: &str, out: &mut Vec<String>) {
    for (element, children) in fields.as_object().into_iter().flatten() {
        if element == "." {
            continue;
        }
        let path = format!("{prefix}/{element}");
        let is_member =
            |children: &Map<String, Value>| children.is_empty() || children.contains_key(".");
        if children.as_object().is_some_and(is_member) {
            out.push(path.clone());
        }
        collect_members(children, &path, out);
    }
}

fn owned_paths(object: &Value) -> Vec<(String, Vec<String>)> {
    let entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let one = |entry: Value| {
        let mut paths = Vec::new();
        collect_members(&entry["fieldsV1"], "", &mut paths);
        (format!("{} {}", entry["manager"], entry["operation"]), paths)
    };
    entries.into_iter().map(one).collect()
}

fn without_managed_fields(mut object: Value) -> Value {
    object["metadata"].as_object_mut().unwrap().remove("managedFields");
    object
}

fn track_write(old: Option<&Value>, new: &Value, manager: &str, second: i64) -> Value {
    let mut new = new.clone();
    patch::track_fields(old, &mut new, &field_manager(manager, second));
    new
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn arbitrary_values_do_not_panic(a in any_tree(), b in any_tree(), force in any::<bool>()) {
        let pod = schema::find_struct("Pod").unwrap();
        let text = b.to_string();
        let _ = patch::apply_strategic_patch(&a, b.clone(), pod);
        let _ = patch::apply_merge_patch(&a, text.as_bytes());
        let _ = patch::apply_json_patch(&a, text.as_bytes());
        let _ = patch::server_side_apply(Some(&a), b.clone(), &field_manager("one", 1), force);
        let _ = patch::server_side_apply(None, b.clone(), &field_manager("one", 1), force);
        let mut new = b.clone();
        patch::track_fields(Some(&a), &mut new, &field_manager("one", 1));
        patch::restore_unchanged_times(&a, &mut new);
        patch::track_fields(None, &mut new, &field_manager("one", 1));
    }

    #[test]
    fn arbitrary_json_patches_do_not_panic(
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
    fn empty_patches_change_nothing(object in config()) {
        let pod = schema::find_struct("Pod").unwrap();
        prop_assert_eq!(&patch::apply_strategic_patch(&object, json!({}), pod).unwrap(), &object);
        prop_assert_eq!(&patch::apply_merge_patch(&object, b"{}").unwrap(), &object);
        prop_assert_eq!(&patch::apply_json_patch(&object, b"[]").unwrap(), &object);
    }

    #[test]
    fn a_strategic_patch_of_an_object_with_itself_changes_nothing(object in config()) {
        let pod = schema::find_struct("Pod").unwrap();
        prop_assert_eq!(&patch::apply_strategic_patch(&object, object.clone(), pod).unwrap(), &object);
    }

    #[test]
    fn applied_fields_are_set_and_applying_again_changes_nothing(live in config(), config in config()) {
        let live = track_write(None, &canonical(live), "updater", 1);
        let once = patch::server_side_apply(Some(&live), config.clone(), &field_manager("one", 2), true).unwrap();
        let again = patch::server_side_apply(Some(&once), config.clone(), &field_manager("one", 3), false).unwrap();
        prop_assert_eq!(&again, &once);
        prop_assert_eq!(&once["metadata"]["labels"]["a"].is_null(),
            &(config["metadata"]["labels"]["a"].is_null() && live["metadata"]["labels"]["a"].is_null()));
    }

    #[test]
    fn applying_an_empty_configuration_undoes_an_apply(live in config(), config in config()) {
        let live = track_write(None, &canonical(live), "updater", 1);
        let Ok(once) = patch::server_side_apply(Some(&live), config, &field_manager("one", 2), false) else {
            return Ok(());
        };
        let nothing = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}});
        let back = patch::server_side_apply(Some(&once), nothing, &field_manager("one", 3), false).unwrap();
        prop_assert_eq!(owned_paths(&back), owned_paths(&live));
        prop_assert_eq!(without_managed_fields(canonical(back)), without_managed_fields(canonical(live)));
    }

    #[test]
    fn updates_never_share_a_field_and_own_only_existing_fields(
        objects in vec((config(), "[ab]"), 1..5),
    ) {
        let mut live: Option<Value> = None;
        for (second, (object, manager)) in objects.into_iter().enumerate() {
            let object = canonical(object);
            let next = track_write(live.as_ref(), &object, &manager, i64::try_from(second).unwrap());
            let mut all: Vec<_> = owned_paths(&next).into_iter().flat_map(|(_, paths)| paths).collect();
            let mut fresh: Vec<_> = Vec::new();
            for (_, paths) in owned_paths(&track_write(None, &object, "x", 0)) {
                fresh.extend(paths);
            }
            all.sort();
            let count = all.len();
            all.dedup();
            prop_assert_eq!(all.len(), count, "a field has two owners");
            prop_assert!(all.iter().all(|path| fresh.contains(path)), "an absent field is owned");
            live = Some(next);
        }
    }

    #[test]
    fn a_write_of_the_same_object_changes_nothing(a in config(), b in config()) {
        let live = track_write(None, &canonical(a), "one", 1);
        let live = track_write(Some(&live), &canonical(b.clone()), "two", 2);
        prop_assert_eq!(&track_write(Some(&live), &canonical(b), "three", 3), &live);
    }
}
