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

/// Reduces objects to a list of their metadata. `metadata` is that of the list.
pub(crate) fn list(objects: &[Value], metadata: Value) -> Value {
    let items: Vec<_> = objects.iter().map(object).collect();
    json!({
        "kind": "PartialObjectMetadataList",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "items": items,
    })
}
