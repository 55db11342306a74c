//! Validation of metadata (like `ValidateObjectMeta` and `ValidateObjectMetaUpdate`).

use std::collections::BTreeMap;

use super::{Errors, labels, non_negative, reasons, required};
use crate::field::{BadValue, FieldError, FieldPath};
use crate::go_format;
use crate::meta::{LabelRequirement, LabelSelector, ObjectMeta, OwnerReference};
use crate::names;
use crate::well_known::finalizers;

const METADATA: FieldPath<'static> = FieldPath::root("metadata");
const IMMUTABLE: &str = "field is immutable";
/// The maximum size of all annotations, including keys.
const ANNOTATIONS_LEN_MAX: usize = 256 * 1024;

/// Validates a new object whose name must be a DNS subdomain.
pub(super) fn create(meta: &ObjectMeta, is_namespaced: bool, errors: &mut Errors) {
    if !meta.generate_name.is_empty() {
        let found = names::check_dns_subdomain_prefix(&meta.generate_name);
        reasons(found, &meta.generate_name, &METADATA.child("generateName"), errors);
    }
    let name = METADATA.child("name");
    if meta.name.is_empty() {
        errors.push(FieldError::required(&name, "name or generateName is required"));
    } else {
        reasons(names::check_dns_subdomain(&meta.name), &meta.name, &name, errors);
    }
    namespace(meta, is_namespaced, errors);
    non_negative(Some(meta.generation), &METADATA.child("generation"), errors);
    maps_and_owners(meta, errors);
    finalizer_names(&meta.finalizers, errors);
}

fn namespace(meta: &ObjectMeta, is_namespaced: bool, errors: &mut Errors) {
    let path = METADATA.child("namespace");
    match (is_namespaced, meta.namespace.as_str()) {
        (true, "") => errors.push(FieldError::required(&path, "")),
        (true, namespace) => reasons(names::check_dns_label(namespace), namespace, &path, errors),
        (false, "") => {}
        (false, _) => errors.push(FieldError::forbidden(&path, "not allowed on this type")),
    }
}

fn maps_and_owners(meta: &ObjectMeta, errors: &mut Errors) {
    labels(&meta.labels, &METADATA.child("labels"), errors);
    annotations(&meta.annotations, &METADATA.child("annotations"), errors);
    owners(&meta.owner_references, errors);
}

/// Validates annotations: keys must be qualified names of any case.
pub(super) fn annotations(
    map: &BTreeMap<String, String>,
    path: &FieldPath<'_>,
    errors: &mut Errors,
) {
    for key in map.keys() {
        reasons(names::check_qualified_name(&key.to_lowercase()), key, path, errors);
    }
    let size: usize = map.iter().map(|(key, value)| key.len() + value.len()).sum();
    if size > ANNOTATIONS_LEN_MAX {
        errors.push(FieldError::too_long(path, ANNOTATIONS_LEN_MAX));
    }
}

fn owners(owners: &[OwnerReference], errors: &mut Errors) {
    let path = METADATA.child("ownerReferences");
    let mut controller: Option<String> = None;
    for (i, reference) in owners.iter().enumerate() {
        owner(reference, &path.index(i), errors);
        if reference.controller != Some(true) {
            continue;
        }
        let this = format!("{}/{}", reference.kind, reference.name);
        match &controller {
            None => controller = Some(this),
            Some(first) => errors.push(FieldError::invalid(
                &path,
                BadValue::json(owners),
                format!(
                    "Only one reference can have Controller set to true. Found \"true\" in \
                     references for {first} and {this}"
                ),
            )),
        }
    }
}

fn owner(owner: &OwnerReference, path: &FieldPath<'_>, errors: &mut Errors) {
    let api_version = path.child("apiVersion");
    if owner.api_version.is_empty() {
        errors.push(FieldError::required(&api_version, "must not be empty"));
    } else if owner.api_version.matches('/').count() > 1 || owner.api_version.ends_with('/') {
        let detail = "must be <group>/<version> or <version>";
        errors.push(FieldError::invalid(&api_version, &owner.api_version, detail));
    }
    for (name, text) in [("kind", &owner.kind), ("name", &owner.name), ("uid", &owner.uid)] {
        if text.is_empty() {
            errors.push(FieldError::required(&path.child(name), "must not be empty"));
        }
    }
    if owner.api_version == "v1" && owner.kind == "Event" {
        let detail = "/v1, Kind=Event is disallowed from being an owner";
        errors.push(FieldError::invalid(path, BadValue::json(owner), detail));
    }
}

fn finalizer_names(names: &[String], errors: &mut Errors) {
    let path = METADATA.child("finalizers");
    for name in names {
        reasons(names::check_qualified_name(name), name, &path, errors);
    }
    let has = |wanted: &str| names.iter().any(|name| name == wanted);
    if has(finalizers::ORPHAN) && has(finalizers::FOREGROUND_DELETION) {
        let detail = "finalizer orphan and foregroundDeletion cannot be both set";
        errors.push(FieldError::invalid(&path, BadValue::json(names), detail));
    }
}

/// Validates an updated object.
pub(super) fn update(new: &ObjectMeta, old: &ObjectMeta, errors: &mut Errors) {
    if old.deletion_timestamp.is_some() {
        no_new_finalizers(new, old, errors);
    }
    if new.resource_version.is_empty() {
        let path = METADATA.child("resourceVersion");
        errors.push(FieldError::invalid(&path, "", "must be specified for an update"));
    }
    let generation = METADATA.child("generation");
    non_negative(Some(new.generation), &generation, errors);
    if new.generation < old.generation {
        errors.push(FieldError::invalid(&generation, new.generation, "must not be decremented"));
    }
    identity(new, old, errors);
    maps_and_owners(new, errors);
}

fn no_new_finalizers(new: &ObjectMeta, old: &ObjectMeta, errors: &mut Errors) {
    let mut added: Vec<_> =
        new.finalizers.iter().filter(|name| !old.finalizers.contains(name)).collect();
    if added.is_empty() {
        return;
    }
    added.sort();
    added.dedup();
    let added: Vec<_> = added.into_iter().map(|name| go_format::quoted(name)).collect();
    let detail = format!(
        "no new finalizers can be added if the object is being deleted, found new finalizers \
         []string{{{}}}",
        added.join(", ")
    );
    errors.push(FieldError::forbidden(&METADATA.child("finalizers"), detail));
}

fn identity(new: &ObjectMeta, old: &ObjectMeta, errors: &mut Errors) {
    let texts = [
        ("name", &new.name, &old.name),
        ("namespace", &new.namespace, &old.namespace),
        ("uid", &new.uid, &old.uid),
    ];
    for (field, new, old) in texts {
        if new != old {
            errors.push(FieldError::invalid(&METADATA.child(field), new, IMMUTABLE));
        }
    }
    let times = [
        ("creationTimestamp", &new.creation_timestamp, &old.creation_timestamp),
        ("deletionTimestamp", &new.deletion_timestamp, &old.deletion_timestamp),
    ];
    for (field, new, old) in times {
        if new != old {
            let value = BadValue::json(new);
            errors.push(FieldError::invalid(&METADATA.child(field), value, IMMUTABLE));
        }
    }
    if new.deletion_grace_period_seconds != old.deletion_grace_period_seconds {
        let path = METADATA.child("deletionGracePeriodSeconds");
        let value = BadValue::json(&new.deletion_grace_period_seconds);
        errors.push(FieldError::invalid(&path, value, IMMUTABLE));
    }
}

/// Validates a label selector (like `ValidateLabelSelector`).
pub(super) fn selector(selector: &LabelSelector, path: &FieldPath<'_>, errors: &mut Errors) {
    labels(&selector.match_labels, &path.child("matchLabels"), errors);
    let expressions = path.child("matchExpressions");
    for (i, requirement) in selector.match_expressions.iter().enumerate() {
        selector_requirement(requirement, &expressions.index(i), errors);
    }
}

fn selector_requirement(requirement: &LabelRequirement, path: &FieldPath<'_>, errors: &mut Errors) {
    let values = path.child("values");
    match requirement.operator.as_str() {
        "In" | "NotIn" => {
            if requirement.values.is_empty() {
                let detail = "must be specified when `operator` is 'In' or 'NotIn'";
                errors.push(FieldError::required(&values, detail));
            }
        }
        "Exists" | "DoesNotExist" => {
            if !requirement.values.is_empty() {
                let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                errors.push(FieldError::forbidden(&values, detail));
            }
        }
        operator => {
            let path = path.child("operator");
            errors.push(FieldError::invalid(&path, operator, "not a valid selector operator"));
        }
    }
    reasons(
        names::check_qualified_name(&requirement.key),
        &requirement.key,
        &path.child("key"),
        errors,
    );
    for (i, value) in requirement.values.iter().enumerate() {
        reasons(names::check_label_value(value), value, &values.index(i), errors);
    }
}

/// Validates an optional reference by name.
pub(super) fn subdomain_if_set(text: &str, path: &FieldPath<'_>, errors: &mut Errors) {
    if !text.is_empty() {
        reasons(names::check_dns_subdomain(text), text, path, errors);
    }
}

/// Validates a required reference by name.
pub(super) fn required_subdomain(text: &str, path: &FieldPath<'_>, errors: &mut Errors) {
    required(text, path, errors);
    subdomain_if_set(text, path, errors);
}
