//! Objects without anything but their metadata (`PartialObjectMetadata`).

use serde_json::{Value, json};

/// An object cut down to its metadata.
pub(crate) fn object(object: &Value) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": object.get("metadata").cloned().unwrap_or_else(|| json!({})),
    })
}

/// A list of such objects. `metadata` is that of the list.
pub(crate) fn list(objects: &[Value], metadata: Value) -> Value {
    let items: Vec<_> = objects.iter().map(object).collect();
    json!({
        "kind": "PartialObjectMetadataList",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "items": items,
    })
}
