//! Reads fields of API objects from JSON. A soak test shares no code with the program that it checks.

use jiff::Timestamp;
use serde_json::Value;

const SLOT_ANNOTATION: &str = "batch.kubernetes.io/cronjob-scheduled-timestamp";

/// A text field; empty if it is missing.
pub(crate) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// A number field; zero if it is missing.
pub(crate) fn number(object: &Value, pointer: &str) -> usize {
    let number = object.pointer(pointer).and_then(Value::as_u64).unwrap_or_default();
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// The elements of a list field; none if it is missing.
pub(crate) fn elements<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    object.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

pub(crate) fn name(object: &Value) -> &str {
    text(object, "/metadata/name")
}

pub(crate) fn uid(object: &Value) -> &str {
    text(object, "/metadata/uid")
}

/// An annotation; empty if it is missing.
pub(crate) fn annotation<'a>(object: &'a Value, key: &str) -> &'a str {
    let annotations = object.pointer("/metadata/annotations");
    annotations.and_then(|all| all.get(key)?.as_str()).unwrap_or_default()
}

/// The slot of a Job.
pub(crate) fn slot(job: &Value) -> Option<Timestamp> {
    annotation(job, SLOT_ANNOTATION).parse().ok()
}

/// A time field.
pub(crate) fn time(object: &Value, pointer: &str) -> Option<Timestamp> {
    text(object, pointer).parse().ok()
}

/// Whether the status has a condition of this type that is true.
pub(crate) fn has_condition(object: &Value, condition_type: &str) -> bool {
    elements(object, "/status/conditions").iter().any(|condition| {
        text(condition, "/type") == condition_type && text(condition, "/status") == "True"
    })
}
