//! Where an operation of a JSON patch takes place: a name in an object or an index in a list.

use serde_json::{Map, Value};

/// Where an operation takes place. There may be nothing there yet.
pub(super) enum Place<'a> {
    /// A field of an object.
    Field(&'a mut Map<String, Value>, String),
    /// An item of a list, by what the path says.
    Item(&'a mut Vec<Value>, String),
}

/// The place of a path. None if what should contain it is not there.
pub(super) fn find<'a>(document: &'a mut Value, path: &str) -> Option<Place<'a>> {
    let (parents, last) = path.rsplit_once('/')?;
    let mut container = document;
    // The text before the first slash names nothing, whatever it is.
    for step in parents.split('/').skip(1) {
        container = match container {
            Value::Object(fields) => fields.get_mut(&unescaped(step))?,
            Value::Array(items) => {
                let place = index(step, items.len())?;
                items.get_mut(place)?
            }
            _ => return None,
        };
    }
    match container {
        Value::Object(fields) => Some(Place::Field(fields, unescaped(last))),
        Value::Array(items) => Some(Place::Item(items, unescaped(last))),
        _ => None,
    }
}

impl Place<'_> {
    /// What is there.
    pub(super) fn get(&self) -> Option<&Value> {
        match self {
            Place::Field(fields, name) => fields.get(name),
            Place::Item(items, place) => items.get(index(place, items.len())?),
        }
    }

    /// Takes away what is there.
    pub(super) fn remove(self) -> Option<Value> {
        match self {
            Place::Field(fields, name) => fields.remove(&name),
            Place::Item(items, place) => {
                let place = index(&place, items.len())?;
                (place < items.len()).then(|| items.remove(place))
            }
        }
    }

    /// Sets a field, or inserts an item before the one that is there.
    pub(super) fn add(self, value: Value) -> Option<()> {
        match self {
            Place::Field(fields, name) => {
                fields.insert(name, value);
            }
            Place::Item(items, place) if place == "-" => items.push(value),
            Place::Item(items, place) => {
                // From the end it is counted as if the item were there already.
                let place = index(&place, items.len() + 1)?;
                (place <= items.len()).then(|| items.insert(place, value))?;
            }
        }
        Some(())
    }

    /// Sets a field, or an item that is there.
    pub(super) fn replace(self, value: Value) -> Option<()> {
        match self {
            Place::Field(fields, name) => {
                fields.insert(name, value);
            }
            Place::Item(items, place) => {
                let place = index(&place, items.len())?;
                *items.get_mut(place)? = value;
            }
        }
        Some(())
    }
}

/// An index in a list of that length; a negative one counts from the end.
fn index(text: &str, length: usize) -> Option<usize> {
    let number: i64 = text.parse().ok()?;
    match usize::try_from(number) {
        Ok(place) => Some(place),
        Err(_) => length.checked_sub(usize::try_from(number.unsigned_abs()).ok()?),
    }
}

fn unescaped(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}
