//! Generates the structural schema of the CustomResourceDefinition from the schema tables
//! ([`crate::schema`]).

use serde_json::{Map, Value, json};

use super::rules::{SchemaRules, merge};
use crate::schema::{FieldSchema, FieldType, ListType, StructSchema};

/// The pattern of a quantity.
const QUANTITY: &str = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$";

/// Templates must not contain ephemeral containers, so their schema has only the list key `name`.
const EPHEMERAL_CONTAINER_KEY: (&str, &str) = ("EphemeralContainer", "name");

/// Returns the schema of a struct with its rules. The tables have no cycles.
pub(super) fn struct_schema(source: &StructSchema, rules: &SchemaRules) -> Map<String, Value> {
    let property =
        |field: &FieldSchema| (field.json.to_owned(), Value::Object(field_schema(field, rules)));
    let fields = source.fields.iter();
    let fields = fields.filter(|field| {
        source.name != EPHEMERAL_CONTAINER_KEY.0 || field.json == EPHEMERAL_CONTAINER_KEY.1
    });
    let properties: Map<_, _> = fields.map(property).collect();
    let mut schema = typed("object");
    schema.insert("properties".to_owned(), Value::Object(properties));
    if source.is_atomic {
        set_extension(&mut schema, "map-type", json!("atomic"));
    }
    merge(&mut schema, rules.for_struct(source.name));
    schema
}

fn field_schema(field: &FieldSchema, rules: &SchemaRules) -> Map<String, Value> {
    let mut schema = type_schema(&field.ty, rules);
    if let Some(default) = field.merge_rules.default {
        schema.insert("default".to_owned(), json!(default));
    }
    if field.merge_rules.is_atomic {
        set_extension(&mut schema, "map-type", json!("atomic"));
    }
    match &field.merge_rules.list_type {
        // `atomic` is the default list type.
        ListType::Atomic => {}
        ListType::Set => set_extension(&mut schema, "list-type", json!("set")),
        ListType::Map(keys) => {
            set_extension(&mut schema, "list-type", json!("map"));
            set_extension(&mut schema, "list-map-keys", json!(keys));
            require_keys(&mut schema, keys);
        }
    }
    schema
}

/// Requires the keys of list items that have no default.
fn require_keys(list: &mut Map<String, Value>, keys: &[&str]) {
    let Some(items) = list.get_mut("items").and_then(Value::as_object_mut) else {
        return;
    };
    let has_default = |key: &&str| {
        let property = items.get("properties").and_then(|properties| properties.get(*key));
        property.is_some_and(|property| property.get("default").is_some())
    };
    let required: Vec<&str> = keys.iter().copied().filter(|key| !has_default(key)).collect();
    if !required.is_empty() {
        merge(items, &json!({ "required": required }));
    }
}

fn type_schema(ty: &FieldType, rules: &SchemaRules) -> Map<String, Value> {
    match ty {
        FieldType::Bool => typed("boolean"),
        FieldType::Int32 => formatted("integer", "int32"),
        FieldType::Int64 => formatted("integer", "int64"),
        FieldType::Text(_) => typed("string"),
        FieldType::Bytes => formatted("string", "byte"),
        FieldType::Quantity => quantity(),
        FieldType::IntOrString => {
            let mut schema = Map::new();
            set_extension(&mut schema, "int-or-string", json!(true));
            schema
        }
        FieldType::Time | FieldType::MicroTime => formatted("string", "date-time"),
        FieldType::Any => {
            let mut schema = typed("object");
            set_extension(&mut schema, "preserve-unknown-fields", json!(true));
            schema
        }
        FieldType::Struct(id) => struct_schema(id.get(), rules),
        FieldType::List(item) => container("array", "items", type_schema(item, rules)),
        FieldType::Map(item) => {
            container("object", "additionalProperties", type_schema(item, rules))
        }
    }
}

/// Returns the schema of a quantity: a string or a number. `x-kubernetes-int-or-string` rejects
/// `cpu: 0.5`, so this schema has no type and excludes all other values.
fn quantity() -> Map<String, Value> {
    let mut schema = Map::new();
    set_extension(&mut schema, "preserve-unknown-fields", json!(true));
    schema.insert("pattern".to_owned(), json!(QUANTITY));
    schema.insert("maxItems".to_owned(), json!(0));
    schema.insert("maxProperties".to_owned(), json!(0));
    schema.insert("not".to_owned(), json!({ "enum": [true, false, [], {}] }));
    schema
}

fn typed(ty: &str) -> Map<String, Value> {
    Map::from_iter([("type".to_owned(), json!(ty))])
}

fn formatted(ty: &str, format: &str) -> Map<String, Value> {
    let mut schema = typed(ty);
    schema.insert("format".to_owned(), json!(format));
    schema
}

fn container(ty: &str, key: &str, item: Map<String, Value>) -> Map<String, Value> {
    let mut schema = typed(ty);
    schema.insert(key.to_owned(), Value::Object(item));
    schema
}

fn set_extension(schema: &mut Map<String, Value>, name: &str, value: Value) {
    schema.insert(format!("x-kubernetes-{name}"), value);
}
