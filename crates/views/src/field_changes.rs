//! The fields in which two objects differ.

use serde::Serialize;
use serde_json::Value;

/// The most differences that are listed.
const CHANGES_MAX: usize = 200;
/// The depth at which values are compared as a whole, so that no input exhausts the stack.
const DEPTH_MAX: usize = 64;

/// A field that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FieldChange {
    /// The path, such as `spec.schedule`.
    pub path: String,
    /// The value before; absent if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// The value after; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}

/// Returns the fields in which two values differ, at most 200.
pub fn field_changes(path: &str, before: &Value, after: &Value) -> Vec<FieldChange> {
    let mut changes = Vec::new();
    collect(path, Some(before), Some(after), &mut changes);
    changes
}

fn collect(
    path: &str,
    before: Option<&Value>,
    after: Option<&Value>,
    changes: &mut Vec<FieldChange>,
) {
    if before == after || changes.len() >= CHANGES_MAX {
        return;
    }
    let is_deep = path.split(['.', '[']).count() > DEPTH_MAX;
    match (before, after) {
        (Some(Value::Object(before)), Some(Value::Object(after))) if !is_deep => {
            let removed = before.keys().filter(|key| !after.contains_key(*key));
            for key in removed.chain(after.keys()) {
                collect(&format!("{path}.{key}"), before.get(key), after.get(key), changes);
            }
        }
        (Some(Value::Array(before)), Some(Value::Array(after))) if !is_deep => {
            for index in 0..before.len().max(after.len()) {
                let path = format!("{path}[{index}]");
                collect(&path, before.get(index), after.get(index), changes);
            }
        }
        _ => changes.push(FieldChange {
            path: path.to_owned(),
            before: before.cloned(),
            after: after.cloned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_the_fields_that_differ_are_listed() {
        let before = json!({"a": 1, "b": {"c": [1, 2], "d": true}, "gone": "x"});
        let after = json!({"a": 1, "b": {"c": [1, 3, 4], "d": true}});
        let paths: Vec<String> =
            field_changes("spec", &before, &after).into_iter().map(|change| change.path).collect();
        assert_eq!(paths, ["spec.gone", "spec.b.c[1]", "spec.b.c[2]"]);
        assert!(field_changes("spec", &before, &before).is_empty());
    }
}
