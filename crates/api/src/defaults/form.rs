//! The form in which kube-apiserver writes an object, whatever form it came in.
//!
//! Zeros that Go leaves out are left out, structs that Go always writes are there, quantities and
//! instants are canonical. Fields that the tables do not have are not touched.

use serde_json::{Map, Value};

use crate::quantity::Quantity;
use crate::schema::{self, Field, Struct, Type};
use crate::time::{MicroTime, Time, parse_rfc3339};

/// Brings an object into canonical form, by its `apiVersion` and `kind`. A kind that is not in the
/// tables is left as it is.
pub fn canonical(object: &mut Value) {
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    if let Some(shape) = schema::of_kind(text("apiVersion"), text("kind")) {
        canonical_as(object, shape);
    }
}

/// Brings an object into the canonical form of a struct.
pub(super) fn canonical_as(object: &mut Value, shape: &Struct) {
    if let Value::Object(fields) = object {
        fill(fields, shape);
    }
}

fn fill(fields: &mut Map<String, Value>, shape: &Struct) {
    for field in &shape.fields {
        match fields.get_mut(field.json) {
            Some(Value::Null) | None => fill_absent(fields, field),
            Some(value) => {
                rewrite(value, &field.ty);
                if is_left_out(value, field) {
                    fields.remove(field.json);
                }
            }
        }
    }
}

fn fill_absent(fields: &mut Map<String, Value>, field: &Field) {
    fields.remove(field.json);
    if field.is_pointer || field.is_left_out_if_zero {
        return;
    }
    let zero = match &field.ty {
        Type::Struct(id) => {
            let mut below = Map::new();
            fill(&mut below, id.get());
            Value::Object(below)
        }
        Type::Quantity => Value::from("0"),
        // Go writes a zero instant as null, since it is a struct that is never empty.
        Type::Time | Type::MicroTime => Value::Null,
        Type::Text(_) if field.is_always_written => Value::from(""),
        Type::Int32 | Type::Int64 | Type::IntOrString if field.is_always_written => Value::from(0),
        Type::Bool if field.is_always_written => Value::Bool(false),
        // A list or map that is always written would be null; readers prefer it absent.
        _ => return,
    };
    fields.insert(field.json.to_owned(), zero);
}

fn is_left_out(value: &Value, field: &Field) -> bool {
    if field.is_pointer || field.is_always_written {
        return false;
    }
    match (&field.ty, value) {
        (Type::Bool, Value::Bool(flag)) => !flag,
        (Type::Int32 | Type::Int64, Value::Number(number)) => number.as_i64() == Some(0),
        (Type::Text(_) | Type::Bytes, Value::String(text)) => text.is_empty(),
        (Type::List(_), Value::Array(items)) => items.is_empty(),
        (Type::Map(_), Value::Object(entries)) => entries.is_empty(),
        _ => false,
    }
}

fn rewrite(value: &mut Value, ty: &Type) {
    match (ty, &mut *value) {
        (Type::Struct(id), Value::Object(fields)) => fill(fields, id.get()),
        (Type::List(item), Value::Array(items)) => {
            items.iter_mut().for_each(|value| rewrite(value, item));
        }
        (Type::Map(item), Value::Object(entries)) => {
            let is_resource_list = **item == Type::Quantity;
            for value in entries.values_mut() {
                rewrite(value, item);
                if is_resource_list {
                    rewrite_quantity(value, Quantity::rounded_to_milli);
                }
            }
        }
        (Type::Quantity, _) => rewrite_quantity(value, |quantity| quantity),
        (Type::Time, Value::String(text)) => {
            if let Ok(at) = parse_rfc3339(text) {
                *text = Time::new(at).to_string();
            }
        }
        (Type::MicroTime, Value::String(text)) => {
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
