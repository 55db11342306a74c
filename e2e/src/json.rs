//! Fields of JSON objects by pointer, with a default for missing fields.

use serde_json::Value;

/// The text at a pointer; empty if there is none.
pub(crate) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The number at a pointer; 0 if there is none.
pub(crate) fn number(object: &Value, pointer: &str) -> i64 {
    object.pointer(pointer).and_then(Value::as_i64).unwrap_or_default()
}

/// The items of the list at a pointer; none if there is no list.
pub(crate) fn items<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    object.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Whether a Job has a condition with status `True`.
pub(crate) fn has_condition(job: &Value, condition: &str) -> bool {
    items(job, "/status/conditions")
        .iter()
        .any(|found| text(found, "/type") == condition && text(found, "/status") == "True")
}
