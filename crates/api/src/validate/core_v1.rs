//! Validation of Namespace, ConfigMap, Secret, Lease and Event.

use super::{Errors, meta, non_negative, reasons};
use crate::core_v1::{ConfigMap, Namespace, Secret};
use crate::event::Event;
use crate::field::{FieldError, FieldPath};
use crate::lease::Lease;
use crate::meta::StringMap;
use crate::names;

/// The maximum size of all values of a ConfigMap or Secret.
const DATA_LEN_MAX: usize = 1024 * 1024;
const DATA: FieldPath<'static> = FieldPath::root("data");
const BINARY_DATA: FieldPath<'static> = FieldPath::root("binaryData");
const IMMUTABLE: &str = "field is immutable when `immutable` is set";

/// The keys that Secrets of a type must have.
const SECRET_KEYS: [(&str, &[&str]); 4] = [
    ("kubernetes.io/dockercfg", &[".dockercfg"]),
    ("kubernetes.io/dockerconfigjson", &[".dockerconfigjson"]),
    ("kubernetes.io/ssh-auth", &["ssh-privatekey"]),
    ("kubernetes.io/tls", &["tls.crt", "tls.key"]),
];

pub(super) fn namespace(namespace: &Namespace) -> Errors {
    let mut errors = Errors::new();
    let meta = &namespace.metadata;
    meta::create(meta, false, &mut errors);
    // The name of a namespace must be a DNS label; these errors replace those of other names.
    let metadata = FieldPath::root("metadata");
    let found = names::check_dns_label(&meta.name);
    if !meta.name.is_empty() && !found.is_empty() {
        errors.retain(|error| error.path != "metadata.name");
        let mut all = Errors::new();
        reasons(found, &meta.name, &metadata.child("name"), &mut all);
        errors.splice(0..0, all);
    }
    errors
}

pub(super) fn config_map(new: &ConfigMap, old: Option<&ConfigMap>) -> Errors {
    let mut errors = Errors::new();
    match old {
        Some(old) => meta::update(&new.metadata, &old.metadata, &mut errors),
        None => meta::create(&new.metadata, true, &mut errors),
    }
    if let Some(old) = old.filter(|old| old.immutable == Some(true)) {
        unchanged("immutable", new.immutable == Some(true), &mut errors);
        unchanged("data", new.data == old.data, &mut errors);
        unchanged("binaryData", new.binary_data == old.binary_data, &mut errors);
    }
    for key in new.data.keys() {
        let path = DATA.key(key);
        reasons(names::check_config_key(key), key, &path, &mut errors);
        if new.binary_data.contains_key(key) {
            let detail = "duplicate of key present in binaryData";
            errors.push(FieldError::invalid(&path, key, detail));
        }
    }
    for key in new.binary_data.keys() {
        reasons(names::check_config_key(key), key, &BINARY_DATA.key(key), &mut errors);
    }
    if size(&new.data) + decoded_size(&new.binary_data) > DATA_LEN_MAX {
        // An empty path means the whole object.
        errors.push(FieldError::too_long(&FieldPath::root(""), DATA_LEN_MAX));
    }
    errors
}

pub(super) fn secret(new: &Secret, old: Option<&Secret>) -> Errors {
    let mut errors = Errors::new();
    match old {
        Some(old) => meta::update(&new.metadata, &old.metadata, &mut errors),
        None => meta::create(&new.metadata, true, &mut errors),
    }
    if old.is_some_and(|old| old.secret_type != new.secret_type) {
        errors.push(FieldError::invalid(
            &FieldPath::root("type"),
            &new.secret_type,
            "field is immutable",
        ));
    }
    if let Some(old) = old.filter(|old| old.immutable == Some(true)) {
        unchanged("immutable", new.immutable == Some(true), &mut errors);
        unchanged("data", new.data == old.data, &mut errors);
    }
    for key in new.data.keys() {
        reasons(names::check_config_key(key), key, &DATA.key(key), &mut errors);
    }
    if decoded_size(&new.data) > DATA_LEN_MAX {
        errors.push(FieldError::too_long(&DATA, DATA_LEN_MAX));
    }
    let keys = SECRET_KEYS.iter().find(|(purpose, _)| *purpose == new.secret_type);
    for key in keys.map_or(&[][..], |(_, keys)| keys) {
        if !new.data.contains_key(*key) {
            errors.push(FieldError::required(&DATA.key(key), ""));
        }
    }
    errors
}

fn unchanged(field: &str, is_unchanged: bool, errors: &mut Errors) {
    if !is_unchanged {
        errors.push(FieldError::forbidden(&FieldPath::root(field), IMMUTABLE));
    }
}

fn size(data: &StringMap) -> usize {
    data.values().map(String::len).sum()
}

/// Returns the size of the decoded values.
fn decoded_size(data: &StringMap) -> usize {
    data.values().map(|text| text.trim_end_matches('=').len() * 3 / 4).sum()
}

pub(super) fn lease(new: &Lease, old: Option<&Lease>) -> Errors {
    let mut errors = Errors::new();
    match old {
        Some(old) => meta::update(&new.metadata, &old.metadata, &mut errors),
        None => meta::create(&new.metadata, true, &mut errors),
    }
    let spec = FieldPath::root("spec");
    if let Some(seconds) = new.spec.lease_duration_seconds.filter(|seconds| *seconds <= 0) {
        let path = spec.child("leaseDurationSeconds");
        errors.push(FieldError::invalid(&path, seconds, "must be greater than 0"));
    }
    non_negative(new.spec.lease_transitions, &spec.child("leaseTransitions"), &mut errors);
    errors
}

/// Many programs write events, so only the namespace is checked: an event must be in the namespace
/// of its object.
pub(super) fn event(new: &Event, old: Option<&Event>) -> Errors {
    let mut errors = Errors::new();
    match old {
        Some(old) => meta::update(&new.metadata, &old.metadata, &mut errors),
        None => meta::create(&new.metadata, true, &mut errors),
    }
    let object_namespace = &new.involved_object.namespace;
    let event_namespace = &new.metadata.namespace;
    // Events of cluster-scoped objects belong to the namespace `default`.
    let is_same_namespace = if object_namespace.is_empty() {
        event_namespace == "default"
    } else {
        object_namespace == event_namespace
    };
    if !is_same_namespace {
        let path = FieldPath::root("involvedObject");
        let path = path.child("namespace");
        errors.push(FieldError::invalid(&path, object_namespace, "does not match event.namespace"));
    }
    errors
}
