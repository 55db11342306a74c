//! Reads fields of API objects from JSON. A soak test shares no code with the program that it checks.

use serde_json::Value;

pub(crate) use punctual_e2e::json::{
    annotation, has_condition, items, name, slot, text, time, uid,
};

/// A number field; zero if it is missing.
pub(crate) fn number(object: &Value, pointer: &str) -> usize {
    let number = object.pointer(pointer).and_then(Value::as_u64).unwrap_or_default();
    usize::try_from(number).unwrap_or(usize::MAX)
}
