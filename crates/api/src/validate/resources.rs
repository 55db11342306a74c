//! Validation of resource requests and limits (like `ValidateContainerResourceRequirements`).

use super::{Errors, reasons};
use crate::field::{FieldError, FieldPath};
use crate::names;
use crate::pod::container::ResourceRequirements;
use crate::quantity::Quantity;

const HUGE_PAGES: &str = "hugepages-";
/// The container resources without a domain.
const OF_CONTAINERS: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];
/// The amounts without a domain, including those of quotas.
const MEASURED: [&str; 11] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "storage",
    "requests.storage",
];
/// The numbers of objects, which only quotas have.
const COUNTED: [&str; 9] = [
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];

pub(super) fn requirements(
    given: &ResourceRequirements,
    path: &FieldPath<'_>,
    errors: &mut Errors,
) {
    let limits = path.child("limits");
    let requests = path.child("requests");
    for (name, quantity) in &given.limits {
        amount(name, *quantity, &limits.key(name), errors);
        divisible(name, *quantity, &limits.key(name), errors);
    }
    for (name, quantity) in &given.requests {
        amount(name, *quantity, &requests.key(name), errors);
        against_limit(name, *quantity, given, path, errors);
        divisible(name, *quantity, &requests.key(name), errors);
    }
    let mut names = given.limits.keys().chain(given.requests.keys());
    let has_huge_pages = names.clone().any(|name| is_huge_pages(name));
    if has_huge_pages && !names.any(|name| name == "cpu" || name == "memory") {
        errors.push(FieldError::forbidden(path, "HugePages require cpu or memory"));
    }
}

/// Validates a key and a value of a quota.
pub(super) fn quota_amount(
    name: &str,
    quantity: Quantity,
    path: &FieldPath<'_>,
    errors: &mut Errors,
) {
    standard_name(name, path, errors);
    let is_for_quotas = is_standard(name) && name != "storage";
    if !name.contains('/') && !is_for_quotas && !is_huge_pages_quota(name) {
        let detail = "must be a standard resource for quota";
        errors.push(FieldError::invalid(path, name, detail));
    }
    value(quantity, COUNTED.contains(&name) || is_counted(name), path, errors);
}

fn amount(name: &str, quantity: Quantity, path: &FieldPath<'_>, errors: &mut Errors) {
    resource_name(name, path, errors);
    value(quantity, is_counted(name), path, errors);
}

/// Validates a quantity. `is_counted` tells whether only integers are allowed.
fn value(quantity: Quantity, is_counted: bool, path: &FieldPath<'_>, errors: &mut Errors) {
    if quantity.is_negative() {
        let detail = "must be greater than or equal to 0";
        errors.push(FieldError::invalid(path, &quantity.to_string(), detail));
    }
    if is_counted && !quantity.is_integer() {
        errors.push(FieldError::invalid(path, &quantity.to_string(), "must be an integer"));
    }
}

fn resource_name(name: &str, path: &FieldPath<'_>, errors: &mut Errors) {
    standard_name(name, path, errors);
    let mut refuse = |detail: &str| errors.push(FieldError::invalid(path, name, detail));
    if !name.contains('/') {
        if !OF_CONTAINERS.contains(&name) && !is_huge_pages(name) {
            refuse("must be a standard resource for containers");
        }
    } else if !is_native(name) && !is_extended(name) {
        refuse("doesn't follow extended resource name standard");
    }
}

/// Rejects a name that is not qualified, and a name without a domain that Kubernetes does not define.
fn standard_name(name: &str, path: &FieldPath<'_>, errors: &mut Errors) {
    let found = names::check_qualified_name(name);
    let is_valid = found.is_empty();
    reasons(found, name, path, errors);
    let is_known = name.contains('/') || is_standard(name) || is_huge_pages_quota(name);
    if is_valid && !is_known {
        let detail = "must be a standard resource type or fully qualified";
        errors.push(FieldError::invalid(path, name, detail));
    }
}

fn against_limit(
    name: &str,
    request: Quantity,
    given: &ResourceRequirements,
    path: &FieldPath<'_>,
    errors: &mut Errors,
) {
    let may_overcommit = is_native(name) && !is_huge_pages(name);
    let requests = path.child("requests");
    match given.limits.get(name) {
        Some(limit) if request != *limit && !may_overcommit => {
            let detail = format!("must be equal to {name} limit of {limit}");
            errors.push(FieldError::invalid(&requests, &request.to_string(), detail));
        }
        Some(limit) if request > *limit => {
            let detail = format!("must be less than or equal to {name} limit of {limit}");
            errors.push(FieldError::invalid(&requests, &request.to_string(), detail));
        }
        None if !may_overcommit => {
            let detail = "Limit must be set for non overcommitable resources";
            errors.push(FieldError::required(&path.child("limits"), detail));
        }
        _ => {}
    }
}

/// Rejects an amount that is not a multiple of the huge page size.
fn divisible(name: &str, quantity: Quantity, path: &FieldPath<'_>, errors: &mut Errors) {
    let Some(size) = name.strip_prefix(HUGE_PAGES) else {
        return;
    };
    let size = Quantity::parse(size).ok().filter(|size| size.is_integer() && size.value() > 0);
    if size.is_none_or(|size| quantity.value() % size.value() != 0) {
        let detail = format!("{quantity} is not positive integer multiple of {name}");
        errors.push(FieldError::invalid(path, &quantity.to_string(), detail));
    }
}

/// Returns whether Kubernetes defines a name without a domain.
fn is_standard(name: &str) -> bool {
    MEASURED.contains(&name) || COUNTED.contains(&name)
}

fn is_huge_pages(name: &str) -> bool {
    name.starts_with(HUGE_PAGES)
}

/// Returns whether a name is one of huge pages in a quota.
fn is_huge_pages_quota(name: &str) -> bool {
    is_huge_pages(name.strip_prefix("requests.").unwrap_or(name))
}

fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

fn is_extended(name: &str) -> bool {
    !name.starts_with("requests.")
        && names::check_qualified_name(&format!("requests.{name}")).is_empty()
}

/// Returns whether a resource has integer amounts only: everything except cpu, memory and storage.
fn is_counted(name: &str) -> bool {
    is_extended(name) && !is_native(name)
}
