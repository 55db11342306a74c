//! Finds the conflicts of a server-side apply: fields that it would change although another manager
//! owns them.

use punctual_api::Status;
use punctual_api::status::{StatusCause, StatusDetails, StatusReason};
use serde_json::Value;

use crate::patch::fields::{self, FieldSet};
use crate::patch::managed::{ManagedFields, ManagedOperation, ManagerKey};

/// The conflicting fields of one manager.
pub(super) struct FieldConflict<'a> {
    manager: &'a ManagerKey,
    fields: FieldSet,
}

impl FieldConflict<'_> {
    /// Removes allowed fields. Returns `None` if no conflict remains.
    pub(super) fn without(mut self, allowed: &FieldSet) -> Option<Self> {
        fields::subtract(&mut self.fields, allowed);
        (!self.fields.is_empty()).then_some(self)
    }
}

/// Returns the conflicts of a change, by manager.
pub(super) fn find<'a>(managers: &'a ManagedFields, changed: &FieldSet) -> Vec<FieldConflict<'a>> {
    let conflicts = managers.0.iter().map(|(manager, owned)| FieldConflict {
        manager,
        fields: fields::intersection(&owned.fields, changed),
    });
    conflicts.filter(|conflict| !conflict.fields.is_empty()).collect()
}

/// Returns kube-apiserver's error for conflicts.
pub(super) fn status(conflicts: &[FieldConflict<'_>]) -> Status {
    let found: Vec<_> = conflicts
        .iter()
        .map(|conflict| (format_manager(conflict.manager), fields::paths(&conflict.fields)))
        .collect();
    let causes: Vec<_> = found
        .iter()
        .flat_map(|(manager, paths)| paths.iter().map(|path| cause(manager, path)))
        .collect();
    let mut status = Status::failure(StatusReason::Conflict, message(&found, causes.len()));
    status.details = Some(Box::new(StatusDetails { causes, ..StatusDetails::default() }));
    status
}

fn cause(manager: &str, path: &str) -> StatusCause {
    StatusCause {
        reason: "FieldManagerConflict".to_owned(),
        message: format!("conflict with {manager}"),
        field: path.to_owned(),
    }
}

fn message(found: &[(String, Vec<String>)], count: usize) -> String {
    if let [(manager, paths)] = found
        && let [path] = paths.as_slice()
    {
        return format!("Apply failed with 1 conflict: conflict with {manager}: {path}");
    }
    let mut lines = Vec::new();
    for (manager, paths) in found {
        lines.push(format!("conflicts with {manager}:"));
        lines.extend(paths.iter().map(|path| format!("- {path}")));
    }
    format!("Apply failed with {count} conflicts: {}", lines.join("\n"))
}

/// Formats a manager for error messages.
fn format_manager(manager: &ManagerKey) -> String {
    let quote = |text: &str| Value::from(text).to_string();
    let mut formatted = quote(&manager.name);
    if !manager.subresource.is_empty() {
        formatted = format!("{formatted} with subresource {}", quote(&manager.subresource));
    }
    match manager.operation {
        ManagedOperation::Apply => formatted,
        ManagedOperation::Update => format!("{formatted} using {}", manager.api_version),
    }
}
