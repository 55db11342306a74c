//! Merge extensions of schemas (`x-kubernetes-list-type` and others), from the tables.
//!
//! `kubectl apply` computes its patches from them. Only this file knows how the tables of
//! `punctual_api::schema` store the merge rules.

use punctual_api::schema::{FieldSchema, FieldType, ListType, PatchStrategy, StructSchema};
use serde_json::{Map, Value, json};

/// Lists whose items are unions. A patch lists the keys that an item keeps.
const RETAIN_KEYS: [(&str, &str); 3] =
    [("PodSpec", "volumes"), ("PodSpec", "resourceClaims"), ("PodStatus", "resourceClaimStatuses")];

/// Returns the extensions of a struct.
pub(super) fn of_struct(schema: &StructSchema) -> Map<String, Value> {
    let mut marks = Map::new();
    if schema.is_atomic {
        mark(&mut marks, "map-type", json!("atomic"));
    }
    marks
}

/// Returns the extensions of a field.
pub(super) fn of_field(schema: &StructSchema, field: &FieldSchema) -> Map<String, Value> {
    let mut marks = Map::new();
    if field.merge_rules.is_atomic {
        mark(&mut marks, "map-type", json!("atomic"));
    }
    if !matches!(field.ty, FieldType::List(_)) {
        return marks;
    }
    match &field.merge_rules.list_type {
        ListType::Atomic => mark(&mut marks, "list-type", json!("atomic")),
        ListType::Set => mark(&mut marks, "list-type", json!("set")),
        ListType::Map(keys) => {
            mark(&mut marks, "list-type", json!("map"));
            mark(&mut marks, "list-map-keys", json!(keys));
        }
    }
    let strategy =
        if RETAIN_KEYS.contains(&(schema.name, field.json)) { "merge,retainKeys" } else { "merge" };
    match field.merge_rules.patch_strategy {
        PatchStrategy::Replace => {}
        PatchStrategy::MergeValues => mark(&mut marks, "patch-strategy", json!(strategy)),
        PatchStrategy::MergeByKey(key) => {
            mark(&mut marks, "patch-strategy", json!(strategy));
            mark(&mut marks, "patch-merge-key", json!(key));
        }
    }
    marks
}

fn mark(marks: &mut Map<String, Value>, name: &str, value: Value) {
    marks.insert(format!("x-kubernetes-{name}"), value);
}
