//! The configuration that `kubectl apply` leaves in an annotation when it applies on its own side.
//!
//! When the same user begins to apply on the server, the fields of that configuration belong to
//! the manager of the old updates. They are no conflict as long as they have the values that the
//! annotation says, and the annotation follows what is applied from then on.

use serde_json::{Map, Value};

use crate::patch::FieldManager;
use crate::patch::compare::{changes, members};
use crate::patch::fields::{self, Fields};

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Only the manager of this name is the successor of who applied on the client's side.
const SUCCESSOR: &str = "kubectl";

/// The fields that still have the value that the annotation says.
pub(super) fn unchanged(object: &Value, writer: &FieldManager<'_>) -> Fields {
    match last_applied(object, writer) {
        None => Fields::new(),
        Some(config) => {
            let mut unchanged = members(&config, writer.schema);
            let changes = changes(Some(&config), object, writer.schema);
            fields::subtract(&mut unchanged, &changes.set);
            fields::subtract(&mut unchanged, &changes.gone);
            unchanged
        }
    }
}

fn last_applied(object: &Value, writer: &FieldManager<'_>) -> Option<Value> {
    if writer.manager != SUCCESSOR {
        return None;
    }
    let text = annotations(object)?.get(ANNOTATION)?.as_str()?;
    let config: Value = serde_json::from_str(text).ok()?;
    let api_version = config.get("apiVersion").and_then(Value::as_str);
    (api_version == Some(writer.api_version)).then_some(config)
}

/// Writes what is applied into the annotation, if there is one.
pub(super) fn renew(object: &mut Value, config: &Value, writer: &FieldManager<'_>) {
    let has_one = annotations(object)
        .and_then(|annotations| annotations.get(ANNOTATION))
        .is_some_and(|text| text.as_str().is_some_and(|text| !text.is_empty()));
    if writer.manager != SUCCESSOR || !has_one {
        return;
    }
    let mut config = config.clone();
    if let Some(annotations) = annotations_mut(&mut config) {
        annotations.remove(ANNOTATION);
    }
    let text = format!("{config}\n");
    if let Some(annotations) = annotations_mut(object) {
        annotations.insert(ANNOTATION.to_owned(), text.into());
    }
}

fn annotations(object: &Value) -> Option<&Map<String, Value>> {
    object.pointer("/metadata/annotations")?.as_object()
}

fn annotations_mut(object: &mut Value) -> Option<&mut Map<String, Value>> {
    object.pointer_mut("/metadata/annotations")?.as_object_mut()
}
