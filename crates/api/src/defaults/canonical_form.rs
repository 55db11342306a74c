//! The canonical form in which kube-apiserver writes an object.
//!
//! Omits zeros that Go omits, adds structs that Go always writes, and normalizes quantities and
//! instants. Fields that the schema tables do not contain stay unchanged.

use serde_json::{Map, Value};

use crate::quantity::Quantity;
use crate::schema::{self, FieldSchema, FieldType, StructSchema};
use crate::time::{MicroTime, Time, parse_rfc3339};

/// Brings an object into canonical form, by its `apiVersion` and `kind`. Leaves a kind that is not
/// in the schema tables unchanged.
pub fn canonical(object: &mut Value) {
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    if let Some(struct_schema) = schema::find_kind(text("apiVersion"), text("kind")) {
        canonical_as(object, struct_schema);
    }
}

/// Brings an object into the canonical form of a struct.
pub(super) fn canonical_as(object: &mut Value, struct_schema: &StructSchema) {
    if let Value::Object(fields) = object {
        fill(fields, struct_schema);
    }
}

fn fill(fields: &mut Map<String, Value>, struct_schema: &StructSchema) {
    for field in &struct_schema.fields {
        match fields.get_mut(field.json) {
            Some(Value::Null) | None => fill_absent(fields, field),
            Some(value) => {
                rewrite(value, &field.ty);
                if is_omitted(value, field) {
                    fields.remove(field.json);
                }
            }
        }
    }
}

fn fill_absent(fields: &mut Map<String, Value>, field: &FieldSchema) {
    fields.remove(field.json);
    if field.is_pointer || field.is_omitted_if_zero {
        return;
    }
    let zero = match &field.ty {
        FieldType::Struct(id) => {
            let mut nested = Map::new();
            fill(&mut nested, id.get());
            Value::Object(nested)
        }
        FieldType::Quantity => Value::from("0"),
        // Go writes a zero instant as null, because it is a struct without `omitempty`.
        FieldType::Time | FieldType::MicroTime => Value::Null,
        FieldType::Text(_) if field.is_always_written => Value::from(""),
        FieldType::Int32 | FieldType::Int64 | FieldType::IntOrString if field.is_always_written => {
            Value::from(0)
        }
        FieldType::Bool if field.is_always_written => Value::Bool(false),
        // Go writes null for such a list or map; readers prefer an absent field.
        _ => return,
    };
    fields.insert(field.json.to_owned(), zero);
}

fn is_omitted(value: &Value, field: &FieldSchema) -> bool {
    if field.is_pointer || field.is_always_written {
        return false;
    }
    match (&field.ty, value) {
        (FieldType::Bool, Value::Bool(flag)) => !flag,
        (FieldType::Int32 | FieldType::Int64, Value::Number(number)) => number.as_i64() == Some(0),
        (FieldType::Text(_) | FieldType::Bytes, Value::String(text)) => text.is_empty(),
        (FieldType::List(_), Value::Array(items)) => items.is_empty(),
        (FieldType::Map(_), Value::Object(entries)) => entries.is_empty(),
        _ => false,
    }
}

fn rewrite(value: &mut Value, ty: &FieldType) {
    match (ty, &mut *value) {
        (FieldType::Struct(id), Value::Object(fields)) => fill(fields, id.get()),
        (FieldType::List(item), Value::Array(items)) => {
            for value in items {
                rewrite(value, item);
            }
        }
        (FieldType::Map(item), Value::Object(entries)) => {
            let is_resource_list = **item == FieldType::Quantity;
            for value in entries.values_mut() {
                rewrite(value, item);
                if is_resource_list {
                    rewrite_quantity(value, Quantity::rounded_to_milli);
                }
            }
        }
        (FieldType::Quantity, _) => rewrite_quantity(value, |quantity| quantity),
        (FieldType::Time, Value::String(text)) => {
            if let Ok(at) = parse_rfc3339(text) {
                *text = Time::new(at).to_string();
            }
        }
        (FieldType::MicroTime, Value::String(text)) => {
            if let Ok(at) = parse_rfc3339(text) {
                *text = MicroTime::new(at).to_string();
            }
        }
        _ => {}
    }
}

fn rewrite_quantity(value: &mut Value, round: fn(Quantity) -> Quantity) {
    let parsed = match value {
        Value::String(text) => Quantity::parse(text.trim()),
        Value::Number(number) => Quantity::parse(&number.to_string()),
        _ => return,
    };
    if let Ok(quantity) = parsed {
        *value = round(quantity).to_string().into();
    }
}
