//! What documents say about merging, from the facts in the tables.
//!
//! `kubectl apply` computes its patches by these marks. This file alone knows how the tables of
//! `punctual_api::schema` hold the facts.

use punctual_api::schema::{FieldSchema, FieldType, ListType, PatchStrategy, StructSchema};
use serde_json::{Map, Value, json};

/// Lists whose items are unions: a patch names the keys that an item is to keep.
const RETAINED: [(&str, &str); 3] =
    [("PodSpec", "volumes"), ("PodSpec", "resourceClaims"), ("PodStatus", "resourceClaimStatuses")];

/// The marks of a struct.
pub(super) fn of_struct(shape: &StructSchema) -> Map<String, Value> {
    let mut marks = Map::new();
    if shape.is_atomic {
        mark(&mut marks, "map-type", json!("atomic"));
    }
    marks
}

/// The marks of a field.
pub(super) fn of_field(shape: &StructSchema, field: &FieldSchema) -> Map<String, Value> {
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
        if RETAINED.contains(&(shape.name, field.json)) { "merge,retainKeys" } else { "merge" };
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
