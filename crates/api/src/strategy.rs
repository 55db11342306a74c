//! What happens to an object between the request and the store, in order.
//!
//! Prepare (what a client may not set is set), default, check, warn: as the registry strategies of
//! kube-apiserver do for each kind. Whether the object exists, whether its version is the latest
//! and who may write it is the server's business. The result is the tree to store.

mod check;
mod kind;
mod schedule_since;

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use self::check::Check;
pub use self::kind::ResourceKind;
pub use self::schedule_since::update_schedule_since;
use crate::defaults;
use crate::field::FieldError;
use crate::go_format::quoted;
use crate::job::Job;
use crate::pod::Pod;
use crate::pod::status::phase;
use crate::status::{Status, StatusReason};
use crate::time::Time;
use crate::validate::{self, ValidationOptions};

/// A tree to store, and what to tell the client besides.
#[derive(Clone, Debug, PartialEq)]
pub struct AdmittedObject {
    /// The tree.
    pub object: Value,
    /// Texts for `Warning` headers.
    pub warnings: Vec<String>,
}

/// What the server gives a new object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateContext<'a> {
    /// Namespace of the request.
    pub namespace: &'a str,
    /// A new UID.
    pub uid: &'a str,
    /// Characters that make a name of `generateName`.
    pub suffix: &'a str,
    /// When it is created.
    pub now: Timestamp,
}

/// Longest prefix that leaves room for the characters behind it.
const GENERATED_PREFIX_LEN_MAX: usize = 63 - 5;

/// Prepares and checks a new object.
pub fn create(
    kind: ResourceKind,
    object: Value,
    context: &CreateContext<'_>,
    rules: &ValidationOptions,
) -> Result<AdmittedObject, Status> {
    admit_create(kind, prepare_create(kind, object, context)?, context, rules)
}

/// The first half of a create: identity and defaults, which belong to whoever creates the object.
pub fn prepare_create(
    kind: ResourceKind,
    mut object: Value,
    context: &CreateContext<'_>,
) -> Result<Value, Status> {
    check_namespace(&object, context.namespace)?;
    be_born(kind, &mut object, context);
    let inherits_labels = kind == ResourceKind::Job && !has_labels(&object);
    kind.apply_defaults(&mut object);
    if inherits_labels {
        metadata(&mut object).remove("labels");
    }
    Ok(object)
}

/// The second half of a create: what the server makes up itself, which belongs to nobody, and the
/// check.
pub fn admit_create(
    kind: ResourceKind,
    mut object: Value,
    context: &CreateContext<'_>,
    rules: &ValidationOptions,
) -> Result<AdmittedObject, Status> {
    match kind {
        ResourceKind::Job => defaults::generate_selector(&mut object, context.uid),
        ResourceKind::Pod => start_pending(&mut object)?,
        ResourceKind::Namespace => defaults::activate_namespace(&mut object),
        _ => {}
    }
    schedule_since::begin(kind, &mut object, rules, context.now);
    let warnings = Check { kind, object: &object, rules, now: context.now }.create()?;
    if kind == ResourceKind::Job && !has_labels(&object) {
        // After the check, so that what is wrong with them is reported once, at the template.
        defaults::inherit_labels(&mut object);
    }
    Ok(AdmittedObject { object, warnings })
}

/// Prepares and checks a change of an object. Its status is the old one's.
pub fn update(
    kind: ResourceKind,
    mut object: Value,
    old: &Value,
    rules: &ValidationOptions,
    now: Timestamp,
) -> Result<AdmittedObject, Status> {
    keep_identity(&mut object, old);
    if kind.has_status() {
        copy(&mut object, old, "status");
    }
    if kind == ResourceKind::Namespace {
        // What holds a namespace is changed through `finalize` alone.
        copy(&mut object, old, "spec");
    }
    kind.apply_defaults(&mut object);
    if kind.has_generation() && object.get("spec") != old.get("spec") {
        let generation = old.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or(0);
        metadata(&mut object).insert("generation".to_owned(), (generation + 1).into());
    }
    let warnings = Check { kind, object: &object, rules, now }.update(old)?;
    Ok(AdmittedObject { object, warnings })
}

/// Prepares and checks a change of an object's status. Its spec is the old one's.
pub fn update_status(
    kind: ResourceKind,
    mut object: Value,
    old: &Value,
) -> Result<AdmittedObject, Status> {
    keep_identity(&mut object, old);
    copy(&mut object, old, "spec");
    kind.apply_defaults(&mut object);
    if kind == ResourceKind::Job {
        let (new, old) = (typed::<Job>(&object)?, typed::<Job>(old)?);
        refuse(kind, &object, validate::job_status_update(&new, &old))?;
    }
    Ok(AdmittedObject { object, warnings: Vec::new() })
}

/// Prepares a change of what holds a namespace. Nothing else of it changes.
pub fn finalize_namespace(object: &Value, old: &Value) -> AdmittedObject {
    let mut next = old.clone();
    copy(&mut next, object, "spec");
    AdmittedObject { object: next, warnings: Vec::new() }
}

/// An object in one namespace is not written through another.
pub fn check_namespace(object: &Value, namespace: &str) -> Result<(), Status> {
    match object.pointer("/metadata/namespace").and_then(Value::as_str) {
        None | Some("") => Ok(()),
        Some(own) if own == namespace => Ok(()),
        Some(_) => Err(Status::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        )),
    }
}

/// An object is not written under another's name.
pub fn check_name(object: &Value, name: &str) -> Result<(), Status> {
    match object.pointer("/metadata/name").and_then(Value::as_str) {
        None | Some("") => Ok(()),
        Some(own) if own == name => Ok(()),
        Some(own) => Err(Status::bad_request(format!(
            "the name of the object ({own}) does not match the name on the URL ({name})"
        ))),
    }
}

/// Reads a resource version. What is none is, as in kube-apiserver, the server's failure.
pub fn parse_resource_version(text: &str) -> Result<u64, Status> {
    text.parse().map_err(|_| {
        let message = format!("strconv.ParseUint: parsing {}: invalid syntax", quoted(text));
        Status::failure(StatusReason::Unknown, message)
    })
}

/// A new Pod waits, and its class of service is settled.
fn start_pending(object: &mut Value) -> Result<(), Status> {
    let class = typed::<Pod>(object)?.spec.qos_class().as_str();
    let status = defaults::section(object, "status");
    status.insert("phase".to_owned(), phase::PENDING.into());
    status.insert("qosClass".to_owned(), class.into());
    Ok(())
}

fn has_labels(object: &Value) -> bool {
    let labels = object.pointer("/metadata/labels").and_then(Value::as_object);
    labels.is_some_and(|labels| !labels.is_empty())
}

fn be_born(kind: ResourceKind, object: &mut Value, context: &CreateContext<'_>) {
    // A node says itself how it is when it registers.
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
    match kind.has_generation() {
        true => metadata.insert("generation".to_owned(), 1.into()),
        false => metadata.remove("generation"),
    };
    let created = Time::new(context.now).to_string();
    metadata.insert("creationTimestamp".to_owned(), created.into());
    let text = |key: &str| metadata.get(key).and_then(Value::as_str).unwrap_or_default();
    let (name, prefix) = (text("name"), text("generateName"));
    if name.is_empty() && !prefix.is_empty() {
        let stem: String = prefix.chars().take(GENERATED_PREFIX_LEN_MAX).collect();
        let name = format!("{stem}{}", context.suffix);
        metadata.insert("name".to_owned(), name.into());
    }
}

/// What a client does not change, whatever it sends.
fn keep_identity(object: &mut Value, old: &Value) {
    let old = old.get("metadata").and_then(Value::as_object);
    let metadata = metadata(object);
    let mut keep = |key: &str, only_if_absent: bool| {
        let is_absent = metadata.get(key).is_none_or(|value| value.is_null() || value == "");
        let value = old.and_then(|old| old.get(key));
        match value.filter(|_| is_absent || !only_if_absent) {
            Some(value) => _ = metadata.insert(key.to_owned(), value.clone()),
            None if !only_if_absent => _ = metadata.remove(key),
            None => {}
        }
    };
    keep("generation", false);
    keep("creationTimestamp", false);
    keep("deletionTimestamp", false);
    keep("deletionGracePeriodSeconds", true);
    keep("uid", true);
    keep("namespace", true);
    // A write that names no version is made against the one it finds.
    keep("resourceVersion", true);
}

fn copy(object: &mut Value, old: &Value, section: &str) {
    if let Value::Object(fields) = object {
        match old.get(section) {
            Some(value) => fields.insert(section.to_owned(), value.clone()),
            None => fields.remove(section),
        };
    }
}

fn metadata(object: &mut Value) -> &mut Map<String, Value> {
    defaults::section(object, "metadata")
}

fn refuse(kind: ResourceKind, object: &Value, errors: Vec<FieldError>) -> Result<(), Status> {
    if errors.is_empty() {
        return Ok(());
    }
    let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    Err(Status::invalid(kind.group_kind(), name, &errors))
}

/// A typed view. It exists for every tree that `decode` has passed; for one that it has not, the
/// reason is serde's.
fn typed<T: DeserializeOwned>(object: &Value) -> Result<T, Status> {
    T::deserialize(object).map_err(|why| Status::bad_request(why.to_string()))
}

#[cfg(test)]
mod tests;
