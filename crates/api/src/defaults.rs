//! Default values and canonical form, as in kube-apiserver.
//!
//! Works on JSON trees, so that unknown fields survive. First `cron_job`, `job` or `pod` set
//! missing values, then `canonical_form` brings the object into canonical form. Values of the wrong
//! type are left unchanged; `decode` rejects them earlier.
//!
//! Not included: defaults of kinds that are not served here (services, endpoints, persistent
//! volumes, limit ranges) and values that admission plugins add to Pods.

mod canonical_form;
mod container;
mod job;
mod pod;
mod volume;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value};

pub use self::canonical_form::canonical;
pub use self::job::{generate_selector, inherit_labels};
use crate::schema;
use crate::well_known::labels;

/// Sets the defaults of a CronJob of any kind.
pub fn cron_job(object: &mut Value) {
    let spec = ensure_section(object, "spec");
    set_default_text(spec, "concurrencyPolicy", "Allow");
    set_default(spec, "suspend", false);
    set_default(spec, "successfulJobsHistoryLimit", 3);
    set_default(spec, "failedJobsHistoryLimit", 1);
    job::set_template_defaults(ensure_object_field(
        ensure_object_field(spec, "jobTemplate"),
        "spec",
    ));
    canonical_as(object, "CronJob");
}

/// Sets the defaults of a Job except the selector: see [`generate_selector`].
pub fn job(object: &mut Value) {
    job::set_defaults(ensure_section(object, "spec"));
    inherit_labels(object);
    canonical_as(object, "Job");
}

/// Sets the defaults of a Pod.
pub fn pod(object: &mut Value) {
    let spec = ensure_section(object, "spec");
    pod::set_defaults(spec);
    pod::set_pod_only_defaults(spec);
    canonical_as(object, "Pod");
}

/// Sets the defaults of a RunRequest: the kind of its target, and those of the variables of its overrides.
pub fn run_request(object: &mut Value) {
    let spec = ensure_section(object, "spec");
    set_default_text(ensure_object_field(spec, "target"), "kind", "CronJob");
    if let Some(overrides) = object_field(spec, "overrides") {
        object_items(overrides, "containers").for_each(container::set_override_defaults);
    }
    canonical_as(object, "RunRequest");
}

/// Brings a kind without defaults into canonical form.
pub fn plain(object: &mut Value, kind: &str) {
    canonical_as(object, kind);
}

/// Labels a namespace with its name, so that selectors can match it.
pub fn namespace(object: &mut Value) {
    let metadata = ensure_section(object, "metadata");
    if let Some(name) = metadata.get("name").and_then(Value::as_str).map(str::to_owned) {
        ensure_object_field(metadata, "labels")
            .insert(labels::NAMESPACE_NAME.to_owned(), name.into());
    }
    canonical_as(object, "Namespace");
}

/// Sets the finalizer and the phase `Active` of a new namespace.
pub fn activate_namespace(object: &mut Value) {
    let finalizers = ensure_section(object, "spec").entry("finalizers").or_insert(Value::Null);
    match finalizers.as_array_mut() {
        Some(names) if names.iter().any(|name| name == "kubernetes") => {}
        Some(names) => names.push("kubernetes".into()),
        None => *finalizers = serde_json::json!(["kubernetes"]),
    }
    ensure_section(object, "status").insert("phase".to_owned(), "Active".into());
}

/// Sets the default type of a Secret and merges `stringData` into `data`.
pub fn secret(object: &mut Value) {
    let fields = as_object(object);
    set_default_text(fields, "type", "Opaque");
    if let Some(Value::Object(texts)) = fields.remove("stringData") {
        let data = ensure_object_field(fields, "data");
        for (key, value) in texts {
            let bytes = value.as_str().unwrap_or_default().as_bytes();
            data.insert(key, BASE64.encode(bytes).into());
        }
    }
    canonical_as(object, "Secret");
}

/// Brings an object into the canonical form of a kind, even if it does not name its kind.
fn canonical_as(object: &mut Value, kind: &str) {
    if let Some(struct_schema) = schema::find_struct(kind) {
        canonical_form::canonical_as(object, struct_schema);
    }
}

/// Returns `metadata`, `spec` or `status` of an object; creates it if it is absent.
pub(crate) fn ensure_section<'a>(object: &'a mut Value, name: &str) -> &'a mut Map<String, Value> {
    ensure_object_field(as_object(object), name)
}

/// Returns the object field `name` of a map; creates it if it is absent.
pub(crate) fn ensure_object_field<'a>(
    fields: &'a mut Map<String, Value>,
    name: &str,
) -> &'a mut Map<String, Value> {
    as_object(fields.entry(name).or_insert(Value::Null))
}

/// Returns the value as an object; replaces any other value by an empty object.
#[expect(clippy::expect_used, reason = "the value was made an object in the line before")]
fn as_object(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut().expect("just made an object")
}

/// Returns the object field `name`, if it exists.
fn object_field<'a>(
    fields: &'a mut Map<String, Value>,
    name: &str,
) -> Option<&'a mut Map<String, Value>> {
    fields.get_mut(name).and_then(Value::as_object_mut)
}

/// Iterates over the objects in the list field `name`.
fn object_items<'a>(
    fields: &'a mut Map<String, Value>,
    name: &str,
) -> impl Iterator<Item = &'a mut Map<String, Value>> {
    let items = fields.get_mut(name).and_then(Value::as_array_mut);
    items.into_iter().flatten().filter_map(Value::as_object_mut)
}

/// Sets a string that is absent or empty, which are equal in Go.
fn set_default_text(fields: &mut Map<String, Value>, name: &str, default: &str) {
    let is_empty = |value: &Value| value.is_null() || value.as_str() == Some("");
    if fields.get(name).is_none_or(is_empty) {
        fields.insert(name.to_owned(), default.into());
    }
}

/// Sets a number that is absent or zero, which are equal in Go.
fn set_default_number(fields: &mut Map<String, Value>, name: &str, default: i32) {
    let is_zero = |value: &Value| value.is_null() || value.as_i64() == Some(0);
    if fields.get(name).is_none_or(is_zero) {
        fields.insert(name.to_owned(), default.into());
    }
}

/// Sets a value that is absent; keeps an explicit zero.
fn set_default(fields: &mut Map<String, Value>, name: &str, default: impl Into<Value>) {
    if fields.get(name).is_none_or(Value::is_null) {
        fields.insert(name.to_owned(), default.into());
    }
}

#[cfg(test)]
mod tests;
