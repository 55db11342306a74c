//! What kube-apiserver fills in, and the form in which it writes objects.
//!
//! Works on JSON trees, because fields unknown to us must survive. Two steps: the values that a
//! user left out (`cron_job`, `job`, `pod`), then the canonical form of everything (`form`). A
//! tree of the wrong types is left as it is where it is wrong; `decode` refuses it before.
//!
//! Left out, because nothing here serves them: defaults of services, endpoints, persistent
//! volumes, limit ranges, and those that admission plugins rather than the API add to Pods.

mod container;
mod form;
mod job;
mod pod;
mod volume;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value};

pub use self::form::canonical;
pub use self::job::{generate_selector, inherit_labels};
use crate::schema;
use crate::well_known::labels;

/// Fills in what a CronJob of any flavor left out.
pub fn cron_job(object: &mut Value) {
    let spec = section(object, "spec");
    text(spec, "concurrencyPolicy", "Allow");
    value(spec, "suspend", false);
    value(spec, "successfulJobsHistoryLimit", 3);
    value(spec, "failedJobsHistoryLimit", 1);
    job::template(section_of(section_of(spec, "jobTemplate"), "spec"));
    canonical_as(object, "CronJob");
}

/// Fills in what a Job left out, its selector excepted: see [`generate_selector`].
pub fn job(object: &mut Value) {
    job::spec(section(object, "spec"));
    inherit_labels(object);
    canonical_as(object, "Job");
}

/// Fills in what a Pod left out.
pub fn pod(object: &mut Value) {
    let spec = section(object, "spec");
    pod::spec(spec);
    pod::only_in_pods(spec);
    canonical_as(object, "Pod");
}

/// Brings a kind that has no defaults into canonical form.
pub fn plain(object: &mut Value, kind: &str) {
    canonical_as(object, kind);
}

/// A namespace is labelled with its name, so that selectors can tell it.
pub fn namespace(object: &mut Value) {
    let metadata = section(object, "metadata");
    if let Some(name) = metadata.get("name").and_then(Value::as_str).map(str::to_owned) {
        section_of(metadata, "labels").insert(labels::NAMESPACE_NAME.to_owned(), name.into());
    }
    canonical_as(object, "Namespace");
}

/// A new namespace is open, and held until its content is gone.
pub fn activate_namespace(object: &mut Value) {
    let finalizers = section(object, "spec").entry("finalizers").or_insert(Value::Null);
    match finalizers.as_array_mut() {
        Some(names) if names.iter().any(|name| name == "kubernetes") => {}
        Some(names) => names.push("kubernetes".into()),
        None => *finalizers = serde_json::json!(["kubernetes"]),
    }
    section(object, "status").insert("phase".to_owned(), "Active".into());
}

/// A secret has a purpose, and its values in base64 only.
pub fn secret(object: &mut Value) {
    let fields = as_object(object);
    text(fields, "type", "Opaque");
    if let Some(Value::Object(texts)) = fields.remove("stringData") {
        let data = section_of(fields, "data");
        for (key, value) in texts {
            let bytes = value.as_str().unwrap_or_default().as_bytes();
            data.insert(key, BASE64.encode(bytes).into());
        }
    }
    canonical_as(object, "Secret");
}

/// The canonical form of one of the kinds above, also for an object that does not say its kind.
fn canonical_as(object: &mut Value, kind: &str) {
    if let Some(shape) = schema::find_struct(kind) {
        form::canonical_as(object, shape);
    }
}

/// The object below a name, made if there is none.
pub(crate) fn section<'a>(object: &'a mut Value, name: &str) -> &'a mut Map<String, Value> {
    section_of(as_object(object), name)
}

/// The same below fields.
pub(crate) fn section_of<'a>(
    fields: &'a mut Map<String, Value>,
    name: &str,
) -> &'a mut Map<String, Value> {
    as_object(fields.entry(name).or_insert(Value::Null))
}

/// The value as an object; anything else is replaced by an empty one.
#[expect(clippy::expect_used, reason = "the value was made an object in the line before")]
fn as_object(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut().expect("just made an object")
}

/// The object below a name, if there is one.
fn child<'a>(fields: &'a mut Map<String, Value>, name: &str) -> Option<&'a mut Map<String, Value>> {
    fields.get_mut(name).and_then(Value::as_object_mut)
}

/// The objects of the list below a name.
fn children<'a>(
    fields: &'a mut Map<String, Value>,
    name: &str,
) -> impl Iterator<Item = &'a mut Map<String, Value>> {
    let items = fields.get_mut(name).and_then(Value::as_array_mut);
    items.into_iter().flatten().filter_map(Value::as_object_mut)
}

/// Sets a text that is absent or empty: in Go's types the two are the same.
fn text(fields: &mut Map<String, Value>, name: &str, default: &str) {
    let is_empty = |value: &Value| value.is_null() || value.as_str() == Some("");
    if fields.get(name).is_none_or(is_empty) {
        fields.insert(name.to_owned(), default.into());
    }
}

/// Sets a number that is absent or zero: in Go's types the two are the same.
fn number(fields: &mut Map<String, Value>, name: &str, default: i32) {
    let is_zero = |value: &Value| value.is_null() || value.as_i64() == Some(0);
    if fields.get(name).is_none_or(is_zero) {
        fields.insert(name.to_owned(), default.into());
    }
}

/// Sets what is absent, where absent is told from zero.
fn value(fields: &mut Map<String, Value>, name: &str, default: impl Into<Value>) {
    if fields.get(name).is_none_or(Value::is_null) {
        fields.insert(name.to_owned(), default.into());
    }
}

#[cfg(test)]
mod tests;
