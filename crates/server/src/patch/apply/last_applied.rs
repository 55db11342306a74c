//! The annotation in which client-side `kubectl apply` stores the applied configuration.
//!
//! When a user switches to server-side apply, the manager of the earlier updates still owns the
//! fields of that configuration. They are no conflict while they have the values in the annotation.
//! From then on the annotation is kept up to date.

use serde_json::{Map, Value};

use crate::patch::FieldManager;
use crate::patch::compare::{collect_fields, compare_objects};
use crate::patch::fields::{self, FieldSet};

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Only the manager of this name takes over from client-side apply.
const KUBECTL_MANAGER: &str = "kubectl";

/// Returns the fields that still have the value in the annotation.
pub(super) fn unchanged_fields(object: &Value, manager: &FieldManager<'_>) -> FieldSet {
    match last_applied(object, manager) {
        None => FieldSet::new(),
        Some(config) => {
            let mut unchanged = collect_fields(&config, manager.schema);
            let changes = compare_objects(Some(&config), object, manager.schema);
            fields::subtract(&mut unchanged, &changes.set);
            fields::subtract(&mut unchanged, &changes.removed);
            unchanged
        }
    }
}

fn last_applied(object: &Value, manager: &FieldManager<'_>) -> Option<Value> {
    if manager.name != KUBECTL_MANAGER {
        return None;
    }
    let text = annotations(object)?.get(ANNOTATION)?.as_str()?;
    let config: Value = serde_json::from_str(text).ok()?;
    let api_version = config.get("apiVersion").and_then(Value::as_str);
    (api_version == Some(manager.api_version)).then_some(config)
}

/// Replaces the annotation, if there is one, by the applied configuration.
pub(super) fn update_annotation(object: &mut Value, config: &Value, manager: &FieldManager<'_>) {
    let has_annotation = annotations(object)
        .and_then(|annotations| annotations.get(ANNOTATION))
        .is_some_and(|text| text.as_str().is_some_and(|text| !text.is_empty()));
    if manager.name != KUBECTL_MANAGER || !has_annotation {
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
