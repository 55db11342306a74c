//! Checks that the list items in the body of a server-side apply have unique keys.

use std::collections::HashSet;

use punctual_api::Status;
use serde_json::Value;

use crate::patch::granularity::Granularity;
use crate::patch::{FieldManager, fields, unclassified};

/// Returns an error if list items have the same key or none.
pub(super) fn list_keys(config: &Value, manager: &FieldManager<'_>) -> Result<(), Status> {
    let mut errors = Vec::new();
    check(config, Granularity::Fields(manager.schema), "", &mut errors);
    let problem = match errors.as_slice() {
        [] => return Ok(()),
        [only] => only.clone(),
        several => format!("errors:\n  {}", several.join("\n  ")),
    };
    let object = describe_object(config, manager);
    Err(unclassified(format!("failed to create typed patch object ({object}): {problem}")))
}

fn describe_object(config: &Value, manager: &FieldManager<'_>) -> String {
    let text = |path: &str| config.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let namespace = text("/metadata/namespace");
    let name = text("/metadata/name");
    let kind = text("/kind");
    let slash = if manager.api_version.contains('/') { "" } else { "/" };
    format!("{namespace}/{name}; {slash}{}, Kind={kind}", manager.api_version)
}

fn check(value: &Value, granularity: Granularity, path: &str, errors: &mut Vec<String>) {
    for (name, part) in granularity.parts(Some(value)).into_iter().flatten() {
        if part.is_object() || part.is_array() {
            check(part, granularity.child(name), &format!("{path}.{name}"), errors);
        }
    }
    if let Some(items) = granularity.items(Some(value)) {
        check_items(items, granularity, path, errors);
    }
}

fn check_items(items: &[Value], granularity: Granularity, path: &str, errors: &mut Vec<String>) {
    let mut seen = HashSet::new();
    for (i, item) in items.iter().enumerate() {
        let Some(element) = granularity.element(item) else {
            errors.push(format!("{path}: element {i}: {}", missing_key_reason(item, granularity)));
            return;
        };
        let formatted = fields::format_element(&element);
        if !seen.insert(element) {
            errors.push(format!("{path}: duplicate entries for key {formatted}"));
        }
        check(item, granularity.item(), &format!("{path}{formatted}"), errors);
    }
}

/// Returns kube-apiserver's message for an item without a key.
fn missing_key_reason(item: &Value, granularity: Granularity) -> &'static str {
    match (granularity, item) {
        (Granularity::Keyed(..), Value::Null) => {
            "associative list with keys may not have a null element"
        }
        (Granularity::Keyed(..), _) => "associative list with keys may not have non-map elements",
        (_, Value::Null) => "associative list without keys has an element that's an explicit null",
        (_, Value::Array(_)) => "not supported: associative list with lists as elements",
        _ => "associative list without keys has an element that's a map type",
    }
}
