//! JSON patch (RFC 6902), with the liberties that kube-apiserver takes.
//!
//! Its library lets `replace` add a missing field, lets `test` for null pass where nothing is, and
//! counts negative indexes from the end; clients rely on it, so the strict rules of a general
//! library would refuse patches that a cluster takes. Everything is bounded: the number of
//! operations, what they copy and move, and how deep the result may become.

mod place;

use punctual_api::Status;
use punctual_api::status::StatusReason;
use serde_json::Value;

use self::place::{Place, find};
use super::{go_kind, read, unprocessable};

/// More operations than this are refused, as by kube-apiserver.
const OPERATIONS_MAX: usize = 10_000;

/// What may be copied and moved about in all. For copies it is kube-apiserver's limit; moves are
/// counted too, because looking at what is moved takes time.
const MOVED_BYTES_MAX: usize = 3 << 20;

/// Objects nested deeper than this cannot be read back.
const DEPTH_MAX: usize = 120;

/// Applies a JSON patch.
///
/// A patch that is no list of operations is a bad request; one that does not fit the object is
/// unprocessable, and nothing says why, as in Kubernetes.
pub fn apply_json_patch(object: &Value, patch: &[u8]) -> Result<Value, Status> {
    let operations = read_operations(patch)?;
    let mut work = Work { document: object.clone(), moved_bytes: 0 };
    for operation in operations {
        work.apply(operation).ok_or_else(unprocessable)?;
    }
    Ok(work.document)
}

/// One operation. What is absent was not given.
#[derive(Default)]
struct Operation {
    op: Option<String>,
    path: Option<String>,
    from: Option<String>,
    value: Option<Value>,
}

fn read_operations(patch: &[u8]) -> Result<Vec<Operation>, Status> {
    let items = match read(patch)? {
        Value::Array(items) => items,
        Value::Null => Vec::new(),
        other => return Err(mistyped(&other, "Go value of type []handlers.jsonPatchOp")),
    };
    if items.len() > OPERATIONS_MAX {
        let message = format!(
            "The allowed maximum operations in a JSON patch is {OPERATIONS_MAX}, got {}",
            items.len()
        );
        return Err(Status::failure(StatusReason::RequestEntityTooLarge, message));
    }
    items.into_iter().map(read_operation).collect()
}

fn read_operation(item: Value) -> Result<Operation, Status> {
    let mut fields = match item {
        Value::Object(fields) => fields,
        Value::Null => return Ok(Operation::default()),
        other => return Err(mistyped(&other, "Go value of type handlers.jsonPatchOp")),
    };
    let mut text = |name: &str| match fields.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => {
            let place = format!("Go struct field jsonPatchOp.{name} of type string");
            Err(mistyped(&other, &place))
        }
    };
    let (op, path, from) = (text("op")?, text("path")?, text("from")?);
    Ok(Operation { op, path, from, value: fields.remove("value") })
}

fn mistyped(value: &Value, place: &str) -> Status {
    let kind = go_kind(value);
    Status::bad_request(format!("error decoding patch: json: cannot unmarshal {kind} into {place}"))
}

/// The document while it is patched. Every step is None if it does not fit.
struct Work {
    document: Value,
    moved_bytes: usize,
}

impl Work {
    fn apply(&mut self, operation: Operation) -> Option<()> {
        let Operation { op, path, from, value } = operation;
        let path = path?;
        match op?.as_str() {
            "add" => self.add(&path, value.unwrap_or_default()),
            "remove" => find(&mut self.document, &path)?.remove().map(drop),
            "replace" => self.replace(&path, value.unwrap_or_default()),
            "move" => {
                let moved = find(&mut self.document, &from?)?.remove()?;
                self.count(&moved)?;
                self.add(&path, moved)
            }
            "copy" => {
                let copied = find(&mut self.document, &from?)?.get()?.clone();
                self.count(&copied)?;
                self.add(&path, copied)
            }
            "test" => self.test(&path, value.unwrap_or_default()),
            _ => None,
        }
    }

    fn add(&mut self, path: &str, value: Value) -> Option<()> {
        fits(path, &value).then_some(())?;
        find(&mut self.document, path)?.add(value)
    }

    fn replace(&mut self, path: &str, value: Value) -> Option<()> {
        fits(path, &value).then_some(())?;
        if path.is_empty() {
            let is_container = value.is_object() || value.is_array();
            self.document = is_container.then_some(value)?;
            return Some(());
        }
        find(&mut self.document, path)?.replace(value)
    }

    fn test(&mut self, path: &str, value: Value) -> Option<()> {
        if path.is_empty() {
            return (self.document == value).then_some(());
        }
        let place = find(&mut self.document, path)?;
        let found = match (place.get(), &place) {
            (Some(found), _) => found,
            (None, Place::Field(..)) => &Value::Null,
            (None, Place::Item(..)) => return None,
        };
        (*found == value).then_some(())
    }

    /// Counts what is copied or moved, and refuses when it is too much.
    fn count(&mut self, value: &Value) -> Option<()> {
        self.moved_bytes = self.moved_bytes.checked_add(size(value))?;
        (self.moved_bytes <= MOVED_BYTES_MAX).then_some(())
    }
}

fn fits(path: &str, value: &Value) -> bool {
    path.bytes().filter(|byte| *byte == b'/').count() + depth(value) <= DEPTH_MAX
}

/// How many levels of lists and objects a value has.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// The length of the JSON text of a value, up to escapes.
fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(items) => 2 + items.iter().map(|item| size(item) + 1).sum::<usize>(),
        Value::Object(fields) => {
            2 + fields.iter().map(|(name, value)| name.len() + 4 + size(value)).sum::<usize>()
        }
        _ => 4,
    }
}

#[cfg(test)]
mod tests;
