//! What a configuration must not have: items of a list that cannot be told apart.

use std::collections::HashSet;

use punctual_api::Status;
use serde_json::Value;

use crate::patch::granularity::Granularity;
use crate::patch::{FieldManager, fields, unclassified};

/// Refuses items with the same identity, or with none.
pub(super) fn identities(config: &Value, writer: &FieldManager<'_>) -> Result<(), Status> {
    let mut errors = Vec::new();
    check(config, Granularity::Fields(writer.schema), "", &mut errors);
    let problem = match errors.as_slice() {
        [] => return Ok(()),
        [only] => only.clone(),
        several => format!("errors:\n  {}", several.join("\n  ")),
    };
    let about = about(config, writer);
    Err(unclassified(format!("failed to create typed patch object ({about}): {problem}")))
}

fn about(config: &Value, writer: &FieldManager<'_>) -> String {
    let text = |path: &str| config.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let (namespace, name, kind) =
        (text("/metadata/namespace"), text("/metadata/name"), text("/kind"));
    let slash = if writer.api_version.contains('/') { "" } else { "/" };
    format!("{namespace}/{name}; {slash}{}, Kind={kind}", writer.api_version)
}

fn check(value: &Value, granularity: Granularity, path: &str, errors: &mut Vec<String>) {
    for (name, part) in granularity.parts(Some(value)).into_iter().flatten() {
        if part.is_object() || part.is_array() {
            check(part, granularity.below(name), &format!("{path}.{name}"), errors);
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
            errors.push(format!("{path}: element {i}: {}", nameless(item, granularity)));
            return;
        };
        let shown = fields::shown(&element);
        if !seen.insert(element) {
            errors.push(format!("{path}: duplicate entries for key {shown}"));
        }
        check(item, granularity.item(), &format!("{path}{shown}"), errors);
    }
}

/// Why an item has no identity.
fn nameless(item: &Value, granularity: Granularity) -> &'static str {
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
