//! Validation of ResourceQuotas (like `ValidateResourceQuota`).

use super::{Errors, meta, resources};
use crate::core_v1::ResourceQuota;
use crate::field::{FieldError, FieldPath};

const SPEC: FieldPath<'static> = FieldPath::root("spec");
const NO_SCOPES: &str = "this server does not support scopes; omit the field";

pub(super) fn resource_quota(new: &ResourceQuota, old: Option<&ResourceQuota>) -> Errors {
    let mut errors = Errors::new();
    match old {
        Some(old) => meta::update(&new.metadata, &old.metadata, &mut errors),
        None => meta::create(&new.metadata, true, &mut errors),
    }
    let hard = SPEC.child("hard");
    for (name, quantity) in &new.spec.hard {
        resources::quota_amount(name, *quantity, &hard.key(name), &mut errors);
    }
    // Without its scopes a quota would count the wrong Pods.
    if !new.spec.scopes.is_empty() {
        errors.push(FieldError::forbidden(&SPEC.child("scopes"), NO_SCOPES));
    }
    if new.spec.scope_selector.is_some() {
        errors.push(FieldError::forbidden(&SPEC.child("scopeSelector"), NO_SCOPES));
    }
    errors
}
