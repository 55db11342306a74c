//! The target of a JSON pointer: a field of an object or an index of a list.

use serde_json::{Map, Value};

/// The target of a JSON pointer. It need not exist.
pub(super) enum PointerTarget<'a> {
    /// A field of an object.
    Field(&'a mut Map<String, Value>, String),
    /// An item of a list, with the last segment of the pointer.
    Item(&'a mut Vec<Value>, String),
}

/// Resolves a JSON pointer. Returns `None` if the container of its target does not exist.
pub(super) fn find<'a>(document: &'a mut Value, path: &str) -> Option<PointerTarget<'a>> {
    let (parents, last) = path.rsplit_once('/')?;
    let mut container = document;
    // The text before the first slash is ignored.
    for segment in parents.split('/').skip(1) {
        container = match container {
            Value::Object(fields) => fields.get_mut(&unescape(segment))?,
            Value::Array(items) => {
                let index = parse_index(segment, items.len())?;
                items.get_mut(index)?
            }
            _ => return None,
        };
    }
    match container {
        Value::Object(fields) => Some(PointerTarget::Field(fields, unescape(last))),
        Value::Array(items) => Some(PointerTarget::Item(items, unescape(last))),
        _ => None,
    }
}

impl PointerTarget<'_> {
    /// Returns the current value.
    pub(super) fn get(&self) -> Option<&Value> {
        match self {
            PointerTarget::Field(fields, name) => fields.get(name),
            PointerTarget::Item(items, segment) => items.get(parse_index(segment, items.len())?),
        }
    }

    /// Removes the current value.
    pub(super) fn remove(self) -> Option<Value> {
        match self {
            PointerTarget::Field(fields, name) => fields.remove(&name),
            PointerTarget::Item(items, segment) => {
                let index = parse_index(&segment, items.len())?;
                (index < items.len()).then(|| items.remove(index))
            }
        }
    }

    /// Sets a field, or inserts an item before the current one.
    pub(super) fn add(self, value: Value) -> Option<()> {
        match self {
            PointerTarget::Field(fields, name) => {
                fields.insert(name, value);
            }
            PointerTarget::Item(items, segment) if segment == "-" => items.push(value),
            PointerTarget::Item(items, segment) => {
                // Negative indexes count from the end of the list with the new item.
                let index = parse_index(&segment, items.len() + 1)?;
                (index <= items.len()).then(|| items.insert(index, value))?;
            }
        }
        Some(())
    }

    /// Sets a field or an existing item.
    pub(super) fn replace(self, value: Value) -> Option<()> {
        match self {
            PointerTarget::Field(fields, name) => {
                fields.insert(name, value);
            }
            PointerTarget::Item(items, segment) => {
                let index = parse_index(&segment, items.len())?;
                *items.get_mut(index)? = value;
            }
        }
        Some(())
    }
}

/// Parses an index of a list. Negative indexes count from the end.
fn parse_index(text: &str, length: usize) -> Option<usize> {
    let number: i64 = text.parse().ok()?;
    match usize::try_from(number) {
        Ok(index) => Some(index),
        Err(_) => length.checked_sub(usize::try_from(number.unsigned_abs()).ok()?),
    }
}

fn unescape(segment: &str) -> String {
    segment.replace("~1", "/").replace("~0", "~")
}
