//! JSON patch (RFC 6902), as lenient as in kube-apiserver.
//!
//! kube-apiserver's library lets `replace` add a missing field, lets a `test` for null succeed on
//! an absent field, and counts negative indexes from the end. Clients rely on it, so a strict
//! library would refuse patches that clusters accept. The number of operations, the bytes they copy
//! and move, and the depth of the result are limited.

mod pointer;

use punctual_api::Status;
use punctual_api::status::StatusReason;
use serde_json::Value;

use self::pointer::{PointerTarget, find};
use super::{go_kind, parse_patch, unprocessable};

/// Maximum number of operations, as in kube-apiserver.
const OPERATIONS_MAX: usize = 10_000;

/// Maximum number of bytes that are copied and moved. For copies it is kube-apiserver's limit;
/// moves count too, because measuring them takes time.
const MOVED_BYTES_MAX: usize = 3 << 20;

/// Maximum depth of the result. Deeper objects could not be decoded again.
const DEPTH_MAX: usize = 120;

/// Applies a JSON patch.
///
/// A patch that is not a list of operations is a bad request. A patch that does not fit the object
/// is unprocessable, without a reason, as in Kubernetes.
pub fn apply_json_patch(object: &Value, patch: &[u8]) -> Result<Value, Status> {
    let operations = parse_operations(patch)?;
    let mut patched = PatchedDocument { document: object.clone(), moved_bytes: 0 };
    for operation in operations {
        patched.apply(operation).ok_or_else(unprocessable)?;
    }
    Ok(patched.document)
}

/// One operation of a patch. Absent members are `None`.
#[derive(Default)]
struct JsonPatchOperation {
    op: Option<String>,
    path: Option<String>,
    from: Option<String>,
    value: Option<Value>,
}

fn parse_operations(patch: &[u8]) -> Result<Vec<JsonPatchOperation>, Status> {
    let items = match parse_patch(patch)? {
        Value::Array(items) => items,
        Value::Null => Vec::new(),
        other => return Err(type_error(&other, "Go value of type []handlers.jsonPatchOp")),
    };
    if items.len() > OPERATIONS_MAX {
        let message = format!(
            "The allowed maximum operations in a JSON patch is {OPERATIONS_MAX}, got {}",
            items.len()
        );
        return Err(Status::failure(StatusReason::RequestEntityTooLarge, message));
    }
    items.into_iter().map(parse_operation).collect()
}

fn parse_operation(item: Value) -> Result<JsonPatchOperation, Status> {
    let mut fields = match item {
        Value::Object(fields) => fields,
        Value::Null => return Ok(JsonPatchOperation::default()),
        other => return Err(type_error(&other, "Go value of type handlers.jsonPatchOp")),
    };
    let mut text = |name: &str| match fields.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => {
            let target = format!("Go struct field jsonPatchOp.{name} of type string");
            Err(type_error(&other, &target))
        }
    };
    Ok(JsonPatchOperation {
        op: text("op")?,
        path: text("path")?,
        from: text("from")?,
        value: fields.remove("value"),
    })
}

fn type_error(value: &Value, target: &str) -> Status {
    let kind = go_kind(value);
    Status::bad_request(format!(
        "error decoding patch: json: cannot unmarshal {kind} into {target}"
    ))
}

/// The document while it is patched. Methods return `None` if an operation does not fit.
struct PatchedDocument {
    document: Value,
    moved_bytes: usize,
}

impl PatchedDocument {
    fn apply(&mut self, operation: JsonPatchOperation) -> Option<()> {
        let JsonPatchOperation { op, path, from, value } = operation;
        let path = path?;
        match op?.as_str() {
            "add" => self.add(&path, value.unwrap_or_default()),
            "remove" => find(&mut self.document, &path)?.remove().map(drop),
            "replace" => self.replace(&path, value.unwrap_or_default()),
            "move" => {
                let moved = find(&mut self.document, &from?)?.remove()?;
                self.count_moved(&moved)?;
                self.add(&path, moved)
            }
            "copy" => {
                let copied = find(&mut self.document, &from?)?.get()?.clone();
                self.count_moved(&copied)?;
                self.add(&path, copied)
            }
            "test" => self.test(&path, value.unwrap_or_default()),
            _ => None,
        }
    }

    fn add(&mut self, path: &str, value: Value) -> Option<()> {
        is_within_depth(path, &value).then_some(())?;
        find(&mut self.document, path)?.add(value)
    }

    fn replace(&mut self, path: &str, value: Value) -> Option<()> {
        is_within_depth(path, &value).then_some(())?;
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
        let target = find(&mut self.document, path)?;
        let found = match (target.get(), &target) {
            (Some(found), _) => found,
            (None, PointerTarget::Field(..)) => &Value::Null,
            (None, PointerTarget::Item(..)) => return None,
        };
        (*found == value).then_some(())
    }

    /// Counts copied and moved bytes. Returns `None` above the limit.
    fn count_moved(&mut self, value: &Value) -> Option<()> {
        self.moved_bytes = self.moved_bytes.checked_add(size(value))?;
        (self.moved_bytes <= MOVED_BYTES_MAX).then_some(())
    }
}

fn is_within_depth(path: &str, value: &Value) -> bool {
    path.bytes().filter(|byte| *byte == b'/').count() + depth(value) <= DEPTH_MAX
}

/// Returns the nesting depth of a value.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// Returns the length of the JSON text of a value, without escapes.
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
