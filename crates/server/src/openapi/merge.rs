//! The merge rules of types as OpenAPI extensions (`x-kubernetes-list-type` and others), from the
//! schema tables.
//!
//! `kubectl apply` computes its patches from them. Only this file knows how the tables of
//! `punctual_api::schema` store the merge rules.

use punctual_api::schema::{FieldSchema, FieldType, ListType, PatchStrategy, StructSchema};
use serde_json::{Map, Value, json};

/// Lists whose items are unions. A patch lists the keys that an item keeps.
const RETAIN_KEYS: [(&str, &str); 3] =
    [("PodSpec", "volumes"), ("PodSpec", "resourceClaims"), ("PodStatus", "resourceClaimStatuses")];

/// Returns the extensions of a struct.
pub(super) fn struct_extensions(schema: &StructSchema) -> Map<String, Value> {
    let mut extensions = Map::new();
    if schema.is_atomic {
        insert_extension(&mut extensions, "map-type", json!("atomic"));
    }
    extensions
}

/// Returns the extensions of a field.
pub(super) fn field_extensions(schema: &StructSchema, field: &FieldSchema) -> Map<String, Value> {
    let mut extensions = Map::new();
    if field.merge_rules.is_atomic {
        insert_extension(&mut extensions, "map-type", json!("atomic"));
    }
    if !matches!(field.ty, FieldType::List(_)) {
        return extensions;
    }
    match &field.merge_rules.list_type {
        ListType::Atomic => insert_extension(&mut extensions, "list-type", json!("atomic")),
        ListType::Set => insert_extension(&mut extensions, "list-type", json!("set")),
        ListType::Map(keys) => {
            insert_extension(&mut extensions, "list-type", json!("map"));
            insert_extension(&mut extensions, "list-map-keys", json!(keys));
        }
    }
    let merge_strategy =
        if RETAIN_KEYS.contains(&(schema.name, field.json)) { "merge,retainKeys" } else { "merge" };
    match field.merge_rules.patch_strategy {
        PatchStrategy::Replace => {}
        PatchStrategy::MergeValues => {
            insert_extension(&mut extensions, "patch-strategy", json!(merge_strategy))
        }
        PatchStrategy::MergeByKey(key) => {
            insert_extension(&mut extensions, "patch-strategy", json!(merge_strategy));
            insert_extension(&mut extensions, "patch-merge-key", json!(key));
        }
    }
    extensions
}

fn insert_extension(extensions: &mut Map<String, Value>, name: &str, value: Value) {
    extensions.insert(format!("x-kubernetes-{name}"), value);
}
