//! Fields of JSON objects by pointer, with a default for missing fields.

use jiff::Timestamp;
use serde_json::Value;

/// The annotation of a Job with its slot.
const SLOT: &str = "batch.kubernetes.io/cronjob-scheduled-timestamp";

/// The text at a pointer; empty if there is none.
pub fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The time at a pointer.
pub fn time(object: &Value, pointer: &str) -> Option<Timestamp> {
    text(object, pointer).parse().ok()
}

/// The number at a pointer; 0 if there is none.
pub fn number(object: &Value, pointer: &str) -> i64 {
    object.pointer(pointer).and_then(Value::as_i64).unwrap_or_default()
}

/// The items of the list at a pointer; none if there is no list.
pub fn items<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    object.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The name of an object.
pub fn name(object: &Value) -> &str {
    text(object, "/metadata/name")
}

/// The UID of an object.
pub fn uid(object: &Value) -> &str {
    text(object, "/metadata/uid")
}

/// An annotation; empty if it is missing.
pub fn annotation<'a>(object: &'a Value, key: &str) -> &'a str {
    let annotations = object.pointer("/metadata/annotations");
    annotations.and_then(|all| all.get(key)?.as_str()).unwrap_or_default()
}

/// The slot of a Job as it is written in its annotation.
pub fn slot_text(job: &Value) -> &str {
    annotation(job, SLOT)
}

/// The slot of a Job.
pub fn slot(job: &Value) -> Option<Timestamp> {
    slot_text(job).parse().ok()
}

/// Whether a Job has a condition with status `True`.
pub fn has_condition(job: &Value, condition: &str) -> bool {
    items(job, "/status/conditions")
        .iter()
        .any(|found| text(found, "/type") == condition && text(found, "/status") == "True")
}
