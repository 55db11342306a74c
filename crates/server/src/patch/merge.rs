//! Applies a JSON merge patch (RFC 7396) to an object.

use punctual_api::Status;
use serde_json::Value;

use super::{go_kind, parse_patch};

/// Applies a merge patch: objects are merged, null removes a field, and other values replace.
pub fn apply_merge_patch(object: &Value, patch: &[u8]) -> Result<Value, Status> {
    let patch = parse_patch(patch)?;
    match &patch {
        Value::Object(_) => {}
        Value::Null => return Err(Status::bad_request("Invalid JSON Patch")),
        other => {
            return Err(Status::bad_request(format!(
                "error decoding patch: json: cannot unmarshal {} into Go value of type \
                 map[string]interface {{}}",
                go_kind(other)
            )));
        }
    }
    let mut patched = object.clone();
    json_patch::merge(&mut patched, &patch);
    Ok(patched)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_merge_lists_are_replaced_and_null_removes() {
        let object = json!({"a": {"b": 1, "c": [1, 2]}, "d": 1});
        let patch = br#"{"a": {"b": null, "c": [3]}, "e": {"f": null, "g": 1}}"#;
        let patched = json!({"a": {"c": [3]}, "d": 1, "e": {"g": 1}});
        assert_eq!(apply_merge_patch(&object, patch).unwrap(), patched);
    }

    #[test]
    fn patches_other_than_objects_are_refused_with_the_texts_of_kubernetes() {
        for (patch, message) in [
            ("null", "Invalid JSON Patch"),
            ("{", "error decoding patch: unexpected end of JSON input"),
            (
                "[]",
                "error decoding patch: json: cannot unmarshal array into Go value of type \
                 map[string]interface {}",
            ),
        ] {
            let status = apply_merge_patch(&json!({}), patch.as_bytes()).unwrap_err();
            assert_eq!((status.code, status.message.as_str()), (400, message));
        }
    }
}
