//! Strategic merge patch: a merge patch with rules for merging lists.
//!
//! Objects are merged field by field, and null removes a field, as in a merge patch. A list is
//! replaced unless its schema has a merge key; then items are merged by that key. Directives in the
//! patch express the rest: `$patch` deletes or replaces, `$setElementOrder/x` orders a list,
//! `$deleteFromPrimitiveList/x` removes values, and `$retainKeys` removes all other fields.
//! Error texts and the order of results are those of kube-apiserver.

mod error;
mod list;
mod order;

use punctual_api::Status;
use punctual_api::schema::{FieldType, StructSchema};
use serde_json::Value;

pub(crate) use self::error::format_go_value;
use self::error::{PatchError, go_type};
use self::list::ListField;

const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const SET_ORDER: &str = "$setElementOrder";
const DELETE_VALUES: &str = "$deleteFromPrimitiveList";

/// Applies a strategic merge patch to an object with a schema.
pub fn apply_strategic_patch(
    object: &Value,
    patch: Value,
    schema: &'static StructSchema,
) -> Result<Value, Status> {
    let patch = match patch {
        Value::Object(patch) => patch,
        Value::Null => JsonMap::new(),
        other => return Err(error::not_an_object(&other)),
    };
    let original = object.as_object().cloned().unwrap_or_default();
    let merged = merge(original, patch, MergeSchema::Struct(schema))?;
    Ok(Value::Object(merged))
}

/// The schema of a merged object.
#[derive(Clone, Copy)]
enum MergeSchema {
    /// A struct.
    Struct(&'static StructSchema),
    /// Another type, with its name in Go.
    Other(&'static str),
}

impl MergeSchema {
    /// Returns the schema of a type.
    fn from_type(ty: &'static FieldType) -> MergeSchema {
        match ty {
            FieldType::Struct(id) => MergeSchema::Struct(id.get()),
            FieldType::Map(_) => MergeSchema::Other("map"),
            FieldType::List(_) | FieldType::Bytes => MergeSchema::Other("slice"),
            FieldType::Bool => MergeSchema::Other("bool"),
            FieldType::Int32 => MergeSchema::Other("int32"),
            FieldType::Int64 => MergeSchema::Other("int64"),
            FieldType::Text(_) => MergeSchema::Other("string"),
            _ => MergeSchema::Other("interface"),
        }
    }

    fn field(self, name: &str) -> Result<&'static punctual_api::schema::FieldSchema, PatchError> {
        match self {
            MergeSchema::Struct(schema) => {
                schema.field(name).ok_or_else(|| PatchError::no_field(schema, name))
            }
            MergeSchema::Other(kind) => Err(PatchError::NotAStruct(kind)),
        }
    }
}

type JsonMap = serde_json::Map<String, Value>;

fn merge(
    mut original: JsonMap,
    mut patch: JsonMap,
    schema: MergeSchema,
) -> Result<JsonMap, PatchError> {
    if let Some(directive) = patch.remove(PATCH) {
        return apply_directive(&directive, patch);
    }
    retain_keys(&mut original, &mut patch)?;
    order_lists(&mut original, &mut patch, schema)?;
    for (name, value) in patch {
        match name.split_once('/') {
            Some((DELETE_VALUES, list)) => delete_values(&mut original, list, value, schema)?,
            _ if name.starts_with(DELETE_VALUES) => return Err(PatchError::PrimitiveList),
            _ => merge_field(&mut original, name, value, schema)?,
        }
    }
    Ok(original)
}

/// Applies the `$patch` directive of an object.
fn apply_directive(directive: &Value, mut patch: JsonMap) -> Result<JsonMap, PatchError> {
    match directive.as_str() {
        Some("replace") => Ok(patch),
        Some("delete") => Ok(JsonMap::new()),
        _ => {
            patch.insert(PATCH.to_owned(), directive.clone());
            Err(PatchError::bad_directive(directive, &patch))
        }
    }
}

/// Removes all fields that `$retainKeys` does not list.
fn retain_keys(original: &mut JsonMap, patch: &mut JsonMap) -> Result<(), PatchError> {
    let Some(kept) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let kept = kept.as_array().ok_or(PatchError::RetainKeys)?;
    let kept: std::collections::BTreeSet<_> = kept.iter().filter_map(Value::as_str).collect();
    let is_exempt = |(name, value): &(&String, &Value)| {
        value.is_null() || name.starts_with(DELETE_VALUES) || name.starts_with(SET_ORDER)
    };
    let mut set = patch.iter().filter(|field| !is_exempt(field));
    if !set.all(|(name, _)| kept.contains(name.as_str())) {
        return Err(PatchError::RetainKeys);
    }
    original.retain(|name, _| kept.contains(name.as_str()));
    Ok(())
}

/// Merges the lists for which the patch has an order, and removes them from the patch.
fn order_lists(
    original: &mut JsonMap,
    patch: &mut JsonMap,
    schema: MergeSchema,
) -> Result<(), PatchError> {
    let orders: Vec<_> = patch.keys().filter(|name| name.starts_with(SET_ORDER)).cloned().collect();
    for name in orders {
        let Some(order) = patch.remove(&name) else { continue };
        let Value::Array(order) = order else { return Err(PatchError::not_a_list(&order)) };
        let list = name.split_once('/').filter(|(prefix, _)| *prefix == SET_ORDER);
        let (_, list) = list.ok_or(PatchError::ElementOrder)?;
        let old = take_list(original, list)?;
        let new = take_list(patch, list)?;
        let field = ListField::new(schema.field(list)?)?;
        if let Some(merged) = field.merge_in_order(old, new, &order)? {
            original.insert(list.to_owned(), Value::Array(merged));
        }
    }
    Ok(())
}

fn take_list(fields: &mut JsonMap, name: &str) -> Result<Option<Vec<Value>>, PatchError> {
    match fields.remove(name) {
        None => Ok(None),
        Some(Value::Array(items)) => Ok(Some(items)),
        Some(other) => Err(PatchError::not_a_list(&other)),
    }
}

fn delete_values(
    original: &mut JsonMap,
    list: &str,
    values: Value,
    schema: MergeSchema,
) -> Result<(), PatchError> {
    match (original.get_mut(list), values) {
        (_, Value::Null) => drop(original.remove(list)),
        (Some(Value::Array(items)), Value::Array(values)) => {
            ListField::new(schema.field(list)?)?;
            list::delete_values(items, &values)?;
        }
        // The list does not exist or is not a list, so there is nothing to delete.
        _ => {}
    }
    Ok(())
}

fn merge_field(
    original: &mut JsonMap,
    name: String,
    value: Value,
    schema: MergeSchema,
) -> Result<(), PatchError> {
    let merged = match (original.remove(&name), value) {
        (_, Value::Null) => None,
        (Some(Value::Object(old)), Value::Object(new)) => {
            let child = MergeSchema::from_type(&schema.field(&name)?.ty);
            Some(Value::Object(merge(old, new, child)?))
        }
        (Some(Value::Array(old)), Value::Array(new)) => {
            let field = ListField::new(schema.field(&name)?)?;
            Some(Value::Array(field.merge(old, new)?))
        }
        (Some(old), value) if go_type(&old) == go_type(&value) => Some(value),
        (_, value) => without_directives(without_nulls(value)),
    };
    if let Some(merged) = merged {
        original.insert(name, merged);
    }
    Ok(())
}

/// Removes nulls from a value that is new in the object.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(fields.map(|(name, value)| (name, without_nulls(value))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(without_nulls).collect()),
        other => other,
    }
}

/// Removes values with directives from a value that is new in the object. Returns `None` if the
/// value itself has a directive.
fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(fields) if fields.contains_key(PATCH) => None,
        Value::Object(fields) => {
            let kept = |(name, value)| Some((name, without_directives(value)?));
            Some(Value::Object(fields.into_iter().filter_map(kept).collect()))
        }
        Value::Array(items) => {
            Some(Value::Array(items.into_iter().filter_map(without_directives).collect()))
        }
        other => Some(other),
    }
}

#[cfg(test)]
mod tests;
