//! Strategic merge patch: a merge patch that knows which lists have keys.
//!
//! Objects are merged field by field and null removes, as in a merge patch. A list is replaced
//! unless the tables say by which key its items are told apart; then items are merged, and
//! directives in the patch say what a list of items cannot: `$patch` deletes or replaces,
//! `$setElementOrder/x` orders, `$deleteFromPrimitiveList/x` takes values out, `$retainKeys` clears
//! every other field. The words of errors and the order of results are those of kube-apiserver.

mod error;
mod list;
mod order;

use punctual_api::Status;
use punctual_api::schema::{FieldType, StructSchema};
use serde_json::{Map, Value};

pub(crate) use self::error::format_go_map;
use self::error::{Error, go_type};
use self::list::ListField;

const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const SET_ORDER: &str = "$setElementOrder";
const DELETE_VALUES: &str = "$deleteFromPrimitiveList";

/// Applies a strategic merge patch to an object of a shape.
pub fn apply_strategic_patch(
    object: &Value,
    patch: Value,
    shape: &'static StructSchema,
) -> Result<Value, Status> {
    let patch = match patch {
        Value::Object(patch) => patch,
        Value::Null => Map::new(),
        other => return Err(error::not_an_object(&other)),
    };
    let original = object.as_object().cloned().unwrap_or_default();
    let merged = merge(original, patch, Shape::StructSchema(shape))?;
    Ok(Value::Object(merged))
}

/// What is known of the object that is merged.
#[derive(Clone, Copy)]
enum Shape {
    /// A struct of the tables.
    StructSchema(&'static StructSchema),
    /// A map; Go has this word for it.
    Other(&'static str),
}

impl Shape {
    /// The shape of objects of a type.
    fn of(ty: &'static FieldType) -> Shape {
        match ty {
            FieldType::Struct(id) => Shape::StructSchema(id.get()),
            FieldType::Map(_) => Shape::Other("map"),
            FieldType::List(_) | FieldType::Bytes => Shape::Other("slice"),
            FieldType::Bool => Shape::Other("bool"),
            FieldType::Int32 => Shape::Other("int32"),
            FieldType::Int64 => Shape::Other("int64"),
            FieldType::Text(_) => Shape::Other("string"),
            _ => Shape::Other("interface"),
        }
    }

    fn field(self, name: &str) -> Result<&'static punctual_api::schema::FieldSchema, Error> {
        match self {
            Shape::StructSchema(shape) => {
                shape.field(name).ok_or_else(|| Error::no_field(shape, name))
            }
            Shape::Other(kind) => Err(Error::NotAStruct(kind)),
        }
    }
}

type Fields = Map<String, Value>;

fn merge(mut original: Fields, mut patch: Fields, shape: Shape) -> Result<Fields, Error> {
    if let Some(directive) = patch.remove(PATCH) {
        return directed(&directive, patch);
    }
    retain_keys(&mut original, &mut patch)?;
    order_lists(&mut original, &mut patch, shape)?;
    for (name, value) in patch {
        match name.split_once('/') {
            Some((DELETE_VALUES, list)) => delete_values(&mut original, list, value, shape)?,
            _ if name.starts_with(DELETE_VALUES) => return Err(Error::PrimitiveList),
            _ => merge_field(&mut original, name, value, shape)?,
        }
    }
    Ok(original)
}

/// What a patch with a directive makes of an object.
fn directed(directive: &Value, mut patch: Fields) -> Result<Fields, Error> {
    match directive.as_str() {
        Some("replace") => Ok(patch),
        Some("delete") => Ok(Map::new()),
        _ => {
            patch.insert(PATCH.to_owned(), directive.clone());
            Err(Error::bad_directive(directive, &patch))
        }
    }
}

/// Clears every field that the patch does not want to keep.
fn retain_keys(original: &mut Fields, patch: &mut Fields) -> Result<(), Error> {
    let Some(kept) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let kept = kept.as_array().ok_or(Error::RetainKeys)?;
    let kept: std::collections::BTreeSet<_> = kept.iter().filter_map(Value::as_str).collect();
    let is_exempt = |(name, value): &(&String, &Value)| {
        value.is_null() || name.starts_with(DELETE_VALUES) || name.starts_with(SET_ORDER)
    };
    let mut set = patch.iter().filter(|field| !is_exempt(field));
    if !set.all(|(name, _)| kept.contains(name.as_str())) {
        return Err(Error::RetainKeys);
    }
    original.retain(|name, _| kept.contains(name.as_str()));
    Ok(())
}

/// Merges the lists for which the patch gives an order, and takes them out of the patch.
fn order_lists(original: &mut Fields, patch: &mut Fields, shape: Shape) -> Result<(), Error> {
    let orders: Vec<_> = patch.keys().filter(|name| name.starts_with(SET_ORDER)).cloned().collect();
    for name in orders {
        let Some(order) = patch.remove(&name) else { continue };
        let Value::Array(order) = order else { return Err(Error::not_a_list(&order)) };
        let list = name.split_once('/').filter(|(prefix, _)| *prefix == SET_ORDER);
        let (_, list) = list.ok_or(Error::ElementOrder)?;
        let (old, new) = (taken_list(original, list)?, taken_list(patch, list)?);
        let field = ListField::new(shape.field(list)?)?;
        if let Some(merged) = field.merge_in_order(old, new, &order)? {
            original.insert(list.to_owned(), Value::Array(merged));
        }
    }
    Ok(())
}

fn taken_list(fields: &mut Fields, name: &str) -> Result<Option<Vec<Value>>, Error> {
    match fields.remove(name) {
        None => Ok(None),
        Some(Value::Array(items)) => Ok(Some(items)),
        Some(other) => Err(Error::not_a_list(&other)),
    }
}

fn delete_values(
    original: &mut Fields,
    list: &str,
    values: Value,
    shape: Shape,
) -> Result<(), Error> {
    match (original.get_mut(list), values) {
        (_, Value::Null) => drop(original.remove(list)),
        (Some(Value::Array(items)), Value::Array(values)) => {
            ListField::new(shape.field(list)?)?;
            list::delete_values(items, &values)?;
        }
        // Nothing there, or something that is no list: nothing to delete.
        _ => {}
    }
    Ok(())
}

fn merge_field(
    original: &mut Fields,
    name: String,
    value: Value,
    shape: Shape,
) -> Result<(), Error> {
    let merged = match (original.remove(&name), value) {
        (_, Value::Null) => None,
        (Some(Value::Object(old)), Value::Object(new)) => {
            let below = Shape::of(&shape.field(&name)?.ty);
            Some(Value::Object(merge(old, new, below)?))
        }
        (Some(Value::Array(old)), Value::Array(new)) => {
            let field = ListField::new(shape.field(&name)?)?;
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

/// A value that is new to the object, without the nulls that would have removed something.
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

/// A value that is new to the object, without what has a directive. None if it has one itself.
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
