//! The rules of creates and updates: what the server changes and checks before it stores an object.
//!
//! Each write prepares the object (sets fields that clients may not set), applies defaults,
//! validates and collects warnings, like the create and update strategies of kube-apiserver. The
//! server checks existence, resource versions and authorization. The result is the JSON to store.

mod kind;
mod schedule_annotation;
mod validation;

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

pub use self::kind::ResourceKind;
pub use self::schedule_annotation::update_schedule_annotation;
use self::validation::Validation;
use crate::defaults;
use crate::field::FieldError;
use crate::go_format::quoted;
use crate::job::Job;
use crate::pod::Pod;
use crate::pod::status::phase;
use crate::run_request::RunRequest;
use crate::status::{Status, StatusReason};
use crate::time::Time;
use crate::validate::{self, ValidationOptions};

/// An object that is ready to be stored.
#[derive(Clone, Debug, PartialEq)]
pub struct AdmittedObject {
    /// The object as JSON.
    pub object: Value,
    /// Texts for `Warning` headers.
    pub warnings: Vec<String>,
}

/// The values that the server assigns to a new object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateContext<'a> {
    /// The namespace of the request.
    pub namespace: &'a str,
    /// The new UID.
    pub uid: &'a str,
    /// The random suffix that completes `generateName`.
    pub suffix: &'a str,
    /// The creation time.
    pub now: Timestamp,
}

/// The longest `generateName` prefix that leaves room for the suffix.
const GENERATED_PREFIX_LEN_MAX: usize = 63 - 5;

/// Prepares and validates a new object.
pub fn create(
    kind: ResourceKind,
    object: Value,
    context: &CreateContext<'_>,
    rules: &ValidationOptions,
) -> Result<AdmittedObject, Status> {
    admit_create(kind, prepare_create(kind, object, context)?, context, rules)
}

/// Runs the first half of a create: assigns identity and defaults, which belong to the creator's
/// field manager.
pub fn prepare_create(
    kind: ResourceKind,
    mut object: Value,
    context: &CreateContext<'_>,
) -> Result<Value, Status> {
    check_namespace(&object, context.namespace)?;
    assign_identity(kind, &mut object, context);
    let lacks_labels = kind == ResourceKind::Job && !has_labels(&object);
    kind.apply_defaults(&mut object);
    if lacks_labels {
        metadata(&mut object).remove("labels");
    }
    Ok(object)
}

/// Runs the second half of a create: sets the fields that no field manager owns, and validates.
pub fn admit_create(
    kind: ResourceKind,
    mut object: Value,
    context: &CreateContext<'_>,
    rules: &ValidationOptions,
) -> Result<AdmittedObject, Status> {
    match kind {
        ResourceKind::Job => defaults::generate_selector(&mut object, context.uid),
        ResourceKind::Pod => set_initial_pod_status(&mut object)?,
        ResourceKind::Namespace => defaults::activate_namespace(&mut object),
        _ => {}
    }
    schedule_annotation::record_creation(kind, &mut object, rules, context.now);
    let warnings = Validation { kind, object: &object, rules, now: context.now }.create()?;
    if kind == ResourceKind::Job && !has_labels(&object) {
        // Copies the labels after validation, so that an invalid label is reported only at the
        // template.
        defaults::inherit_labels(&mut object);
    }
    Ok(AdmittedObject { object, warnings })
}

/// Prepares and validates an update. Keeps the old status.
pub fn update(
    kind: ResourceKind,
    mut object: Value,
    old: &Value,
    rules: &ValidationOptions,
    now: Timestamp,
) -> Result<AdmittedObject, Status> {
    restore_identity(&mut object, old);
    if kind.has_status() {
        copy_section(&mut object, old, "status");
    }
    if kind == ResourceKind::Namespace {
        // Namespace finalizers change only through the `finalize` subresource.
        copy_section(&mut object, old, "spec");
    }
    kind.apply_defaults(&mut object);
    if kind.has_generation() && object.get("spec") != old.get("spec") {
        let generation = old.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or(0);
        metadata(&mut object).insert("generation".to_owned(), (generation + 1).into());
    }
    let warnings = Validation { kind, object: &object, rules, now }.update(old)?;
    Ok(AdmittedObject { object, warnings })
}

/// Prepares and validates a status update. Keeps the old spec.
pub fn update_status(
    kind: ResourceKind,
    mut object: Value,
    old: &Value,
) -> Result<AdmittedObject, Status> {
    restore_identity(&mut object, old);
    copy_section(&mut object, old, "spec");
    kind.apply_defaults(&mut object);
    if kind == ResourceKind::Job {
        let new = read_as::<Job>(&object)?;
        let old = read_as::<Job>(old)?;
        reject_invalid(kind, &object, validate::job_status_update(&new, &old))?;
    }
    if kind == ResourceKind::RunRequest {
        let new = read_run_request(&object)?;
        let old = read_as::<RunRequest>(old)?;
        reject_invalid(kind, &object, validate::run_request_status_update(&new, &old))?;
    }
    Ok(AdmittedObject { object, warnings: Vec::new() })
}

/// Prepares an update of the finalizers of a namespace. Keeps everything else.
pub fn finalize_namespace(object: &Value, old: &Value) -> AdmittedObject {
    let mut next = old.clone();
    copy_section(&mut next, object, "spec");
    AdmittedObject { object: next, warnings: Vec::new() }
}

/// Rejects an object whose namespace differs from that of the request.
pub fn check_namespace(object: &Value, namespace: &str) -> Result<(), Status> {
    match object.pointer("/metadata/namespace").and_then(Value::as_str) {
        None | Some("") => Ok(()),
        Some(own) if own == namespace => Ok(()),
        Some(_) => Err(Status::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        )),
    }
}

/// Rejects an object whose name differs from that of the request.
pub fn check_name(object: &Value, name: &str) -> Result<(), Status> {
    match object.pointer("/metadata/name").and_then(Value::as_str) {
        None | Some("") => Ok(()),
        Some(own) if own == name => Ok(()),
        Some(own) => Err(Status::bad_request(format!(
            "the name of the object ({own}) does not match the name on the URL ({name})"
        ))),
    }
}

/// Parses a resource version. Like kube-apiserver, reports a malformed one with code 500.
pub fn parse_resource_version(text: &str) -> Result<u64, Status> {
    text.parse().map_err(|_| {
        let message = format!("strconv.ParseUint: parsing {}: invalid syntax", quoted(text));
        Status::failure(StatusReason::Unknown, message)
    })
}

/// Sets the initial phase and the quality-of-service class of a Pod.
fn set_initial_pod_status(object: &mut Value) -> Result<(), Status> {
    let class = read_as::<Pod>(object)?.spec.qos_class().as_str();
    let status = defaults::ensure_section(object, "status");
    status.insert("phase".to_owned(), phase::PENDING.into());
    status.insert("qosClass".to_owned(), class.into());
    Ok(())
}

fn has_labels(object: &Value) -> bool {
    let labels = object.pointer("/metadata/labels").and_then(Value::as_object);
    labels.is_some_and(|labels| !labels.is_empty())
}

fn assign_identity(kind: ResourceKind, object: &mut Value, context: &CreateContext<'_>) {
    // A node sends its own status when it registers.
    if let Value::Object(fields) = object
        && kind.has_status()
        && kind != ResourceKind::Node
    {
        fields.insert("status".to_owned(), Value::Object(Map::new()));
    }
    let metadata = metadata(object);
    for name in ["resourceVersion", "selfLink", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        metadata.remove(name);
    }
    if kind.is_namespaced() {
        metadata.insert("namespace".to_owned(), context.namespace.into());
    }
    metadata.insert("uid".to_owned(), context.uid.into());
    if kind.has_generation() {
        metadata.insert("generation".to_owned(), 1.into());
    } else {
        metadata.remove("generation");
    }
    let created = Time::new(context.now).to_string();
    metadata.insert("creationTimestamp".to_owned(), created.into());
    let text = |key: &str| metadata.get(key).and_then(Value::as_str).unwrap_or_default();
    let name = text("name");
    let prefix = text("generateName");
    if name.is_empty() && !prefix.is_empty() {
        let stem: String = prefix.chars().take(GENERATED_PREFIX_LEN_MAX).collect();
        let name = format!("{stem}{}", context.suffix);
        metadata.insert("name".to_owned(), name.into());
    }
}

/// Restores the metadata that clients may not change.
fn restore_identity(object: &mut Value, old: &Value) {
    let old = old.get("metadata").and_then(Value::as_object);
    let metadata = metadata(object);
    for key in ["generation", "creationTimestamp", "deletionTimestamp"] {
        match old.and_then(|old| old.get(key)) {
            Some(value) => metadata.insert(key.to_owned(), value.clone()),
            None => metadata.remove(key),
        };
    }
    // A write without a resource version applies to the current one.
    for key in ["deletionGracePeriodSeconds", "uid", "namespace", "resourceVersion"] {
        let is_absent = metadata.get(key).is_none_or(|value| value.is_null() || value == "");
        if is_absent && let Some(value) = old.and_then(|old| old.get(key)) {
            metadata.insert(key.to_owned(), value.clone());
        }
    }
}

fn copy_section(object: &mut Value, old: &Value, section: &str) {
    if let Value::Object(fields) = object {
        match old.get(section) {
            Some(value) => fields.insert(section.to_owned(), value.clone()),
            None => fields.remove(section),
        };
    }
}

fn metadata(object: &mut Value) -> &mut Map<String, Value> {
    defaults::ensure_section(object, "metadata")
}

fn reject_invalid(
    kind: ResourceKind,
    object: &Value,
    errors: Vec<FieldError>,
) -> Result<(), Status> {
    if errors.is_empty() {
        return Ok(());
    }
    let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    Err(Status::invalid(kind.group_kind(), name, &errors))
}

/// Deserializes a RunRequest whose slots all have times.
fn read_run_request(object: &Value) -> Result<RunRequest, Status> {
    reject_invalid(ResourceKind::RunRequest, object, validate::run_request_absent_slots(object))?;
    read_as(object)
}

/// Deserializes a typed view. Succeeds for every tree that `decode` accepted.
fn read_as<T: DeserializeOwned>(object: &Value) -> Result<T, Status> {
    T::deserialize(object).map_err(|why| Status::bad_request(why.to_string()))
}

#[cfg(test)]
mod tests;
