//! Validation of environment variables.

use super::{Errors, meta, reasons, required};
use crate::field::{FieldError, FieldPath};
use crate::names;
use crate::pod::container::{
    EnvFromSource, EnvVar, FileKeySelector, KeySelector, ObjectFieldSelector, ResourceFieldSelector,
};
use crate::quantity::Quantity;

/// The Pod fields that a variable may refer to.
const ENV_FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
/// All Pod fields that the downward API knows.
const POD_FIELDS: [&str; 14] = [
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.serviceAccountName",
    "spec.schedulerName",
    "status.phase",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
/// The requests and limits that a variable may refer to.
const RESOURCE_FIELDS: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];
const HUGE_PAGES: [&str; 2] = ["limits.hugepages-", "requests.hugepages-"];
const CPU_DIVISORS: [&str; 2] = ["1m", "1"];
const BYTE_DIVISORS: [&str; 13] =
    ["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];

pub(super) fn variables(variables: &[EnvVar], path: &FieldPath<'_>, errors: &mut Errors) {
    for (i, variable) in variables.iter().enumerate() {
        let path = path.index(i);
        let name = path.child("name");
        if variable.name.is_empty() {
            errors.push(FieldError::required(&name, ""));
        } else {
            reasons(names::check_env_var(&variable.name), &variable.name, &name, errors);
        }
        value_from(variable, &path.child("valueFrom"), errors);
    }
}

fn value_from(variable: &EnvVar, path: &FieldPath<'_>, errors: &mut Errors) {
    let Some(source) = &variable.value_from else {
        return;
    };
    let mut count = 0;
    if let Some(selector) = &source.field_ref {
        count += 1;
        field(selector, &ENV_FIELDS, &path.child("fieldRef"), errors);
    }
    if let Some(selector) = &source.resource_field_ref {
        count += 1;
        resource_field(selector, false, &path.child("resourceFieldRef"), errors);
    }
    if let Some(selector) = &source.config_map_key_ref {
        count += 1;
        key(selector, &path.child("configMapKeyRef"), errors);
    }
    if let Some(selector) = &source.secret_key_ref {
        count += 1;
        key(selector, &path.child("secretKeyRef"), errors);
    }
    if let Some(selector) = &source.file_key_ref {
        count += 1;
        file_key(selector, &path.child("fileKeyRef"), errors);
    }
    let detail = match (count, variable.value.is_empty()) {
        (0, _) => {
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, \
             `secretKeyRef` or `fileKeyRef`"
        }
        (_, false) => "may not be specified when `value` is not empty",
        (1, true) => return,
        (_, true) => "may not have more than one field specified at a time",
    };
    errors.push(FieldError::invalid(path, "", detail));
}

/// Validates a reference to a Pod field, which must be one of `allowed`.
pub(super) fn field(
    selector: &ObjectFieldSelector,
    allowed: &[&str],
    path: &FieldPath<'_>,
    errors: &mut Errors,
) {
    for (name, text) in [("apiVersion", &selector.api_version), ("fieldPath", &selector.field_path)]
    {
        if text.is_empty() {
            errors.push(FieldError::required(&path.child(name), ""));
            return;
        }
    }
    let field_path = path.child("fieldPath");
    match internal_path(selector) {
        Err(why) => {
            let detail = format!("error converting fieldPath: {why}");
            errors.push(FieldError::invalid(&field_path, &selector.field_path, detail));
        }
        Ok(PodFieldPath::Subscript("metadata.annotations", key)) => {
            let key = key.to_lowercase();
            reasons(names::check_qualified_name(&key), &key, path, errors);
        }
        Ok(PodFieldPath::Subscript(_, key)) => {
            reasons(names::check_qualified_name(key), key, path, errors);
        }
        Ok(PodFieldPath::Plain(name)) if !allowed.contains(&name) => {
            errors.push(FieldError::not_supported(&field_path, name, allowed));
        }
        Ok(_) => {}
    }
}

/// The reason why a Pod field path is invalid, with Kubernetes' message.
#[derive(Debug, thiserror::Error)]
enum FieldLabelError {
    #[error("unsupported pod version: {0}")]
    Version(String),
    #[error("field label does not support subscript: {0}")]
    Subscript(String),
    #[error("field label not supported: {0}")]
    Label(String),
}

/// A Pod field, or an entry of a map field of a Pod.
enum PodFieldPath<'a> {
    Plain(&'a str),
    Subscript(&'a str, &'a str),
}

/// Resolves a Pod field path (like `ConvertDownwardAPIFieldLabel`).
fn internal_path(selector: &ObjectFieldSelector) -> Result<PodFieldPath<'_>, FieldLabelError> {
    let path = selector.field_path.as_str();
    if selector.api_version != "v1" {
        return Err(FieldLabelError::Version(selector.api_version.clone()));
    }
    let subscript = path.strip_suffix("']").and_then(|path| path.split_once("['"));
    match subscript.filter(|(name, _)| !name.is_empty()) {
        Some((name @ ("metadata.annotations" | "metadata.labels"), key)) => {
            Ok(PodFieldPath::Subscript(name, key))
        }
        Some(_) => Err(FieldLabelError::Subscript(path.to_owned())),
        // Old clients use `spec.host` for the node name.
        None if path == "spec.host" => Ok(PodFieldPath::Plain("spec.nodeName")),
        None if POD_FIELDS.contains(&path) => Ok(PodFieldPath::Plain(path)),
        None => Err(FieldLabelError::Label(path.to_owned())),
    }
}

/// Validates a reference to a request or limit; a volume must name the container.
pub(super) fn resource_field(
    selector: &ResourceFieldSelector,
    is_in_volume: bool,
    path: &FieldPath<'_>,
    errors: &mut Errors,
) {
    let resource = selector.resource.as_str();
    let is_huge_pages = HUGE_PAGES.iter().any(|prefix| resource.starts_with(prefix));
    if is_in_volume && selector.container_name.is_empty() {
        errors.push(FieldError::required(&path.child("containerName"), ""));
    } else if resource.is_empty() {
        errors.push(FieldError::required(&path.child("resource"), ""));
    } else if !RESOURCE_FIELDS.contains(&resource) && !is_huge_pages {
        let path = path.child("resource");
        errors.push(FieldError::not_supported(&path, resource, &RESOURCE_FIELDS));
    }
    divisor(selector, is_huge_pages, &path.child("divisor"), errors);
}

fn divisor(
    selector: &ResourceFieldSelector,
    is_huge_pages: bool,
    path: &FieldPath<'_>,
    errors: &mut Errors,
) {
    let Some(divisor) = selector.divisor.filter(|divisor| *divisor != Quantity::ZERO) else {
        return;
    };
    let resource = selector.resource.as_str();
    let (allowed, listed, what): (&[&str], _, _) = match resource.split_once('.') {
        Some((_, "cpu")) => (&CPU_DIVISORS, "1m and 1".to_owned(), "cpu"),
        Some((_, "memory")) => (&BYTE_DIVISORS, BYTE_DIVISORS.join(", "), "memory"),
        Some((_, "ephemeral-storage")) => {
            (&BYTE_DIVISORS, BYTE_DIVISORS.join(", "), "local ephemeral storage")
        }
        _ if is_huge_pages => (&BYTE_DIVISORS, BYTE_DIVISORS.join(", "), "hugepages"),
        _ => return,
    };
    if !allowed.contains(&divisor.to_string().as_str()) {
        let detail =
            format!("only divisor's values {listed} are supported with the {what} resource");
        errors.push(FieldError::invalid(path, resource, detail));
    }
}

fn key(selector: &KeySelector, path: &FieldPath<'_>, errors: &mut Errors) {
    let name = &selector.name;
    reasons(names::check_dns_subdomain(name), name, &path.child("name"), errors);
    let path = path.child("key");
    if selector.key.is_empty() {
        errors.push(FieldError::required(&path, ""));
    } else {
        reasons(names::check_config_key(&selector.key), &selector.key, &path, errors);
    }
}

fn file_key(selector: &FileKeySelector, path: &FieldPath<'_>, errors: &mut Errors) {
    let key = path.child("key");
    if selector.key.is_empty() {
        errors.push(FieldError::required(&key, ""));
    } else {
        reasons(names::check_env_var(&selector.key), &selector.key, &key, errors);
    }
    let volume = path.child("volumeName");
    if selector.volume_name.is_empty() {
        errors.push(FieldError::required(&volume, ""));
    } else {
        reasons(
            names::check_dns_label(&selector.volume_name),
            &selector.volume_name,
            &volume,
            errors,
        );
    }
    let file = path.child("path");
    required(&selector.path, &file, errors);
    super::volume::no_backsteps(&selector.path, &file, errors);
}

pub(super) fn sources(sources: &[EnvFromSource], path: &FieldPath<'_>, errors: &mut Errors) {
    for (i, source) in sources.iter().enumerate() {
        let item = path.index(i);
        if !source.prefix.is_empty() {
            let prefix = item.child("prefix");
            reasons(names::check_env_var(&source.prefix), &source.prefix, &prefix, errors);
        }
        let references =
            [("configMapRef", &source.config_map_ref), ("secretRef", &source.secret_ref)];
        let mut count = 0;
        for (name, reference) in references {
            if let Some(reference) = reference {
                count += 1;
                let reference_path = item.child(name);
                let path = reference_path.child("name");
                meta::required_subdomain(&reference.name, &path, errors);
            }
        }
        // Kubernetes reports these two errors at the list, not at the item.
        match count {
            0 => {
                let detail = "must specify one of: `configMapRef` or `secretRef`";
                errors.push(FieldError::invalid(path, "", detail));
            }
            1 => {}
            _ => {
                let detail = "may not have more than one field specified at a time";
                errors.push(FieldError::invalid(path, "", detail));
            }
        }
    }
}
