//! `PartialObjectMetadata`: objects reduced to their metadata.

use serde_json::{Value, json};

/// Reduces an object to its metadata.
pub(crate) fn object(object: &Value) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": object.get("metadata").cloned().unwrap_or_else(|| json!({})),
    })
}
