//! Fields that an apply would change although another manager owns them.

use punctual_api::Status;
use punctual_api::status::{StatusCause, StatusDetails, StatusReason};
use serde_json::Value;

use crate::patch::fields::{self, Fields};
use crate::patch::managed::{Manager, Managers, Operation};

/// What an apply would change of what one manager owns.
pub(super) struct Conflict<'a> {
    manager: &'a Manager,
    fields: Fields,
}

impl Conflict<'_> {
    /// What remains of it if some fields may be changed.
    pub(super) fn without(mut self, allowed: &Fields) -> Option<Self> {
        fields::subtract(&mut self.fields, allowed);
        (!self.fields.is_empty()).then_some(self)
    }
}

/// The conflicts of a change, by manager.
pub(super) fn find<'a>(managers: &'a Managers, changed: &Fields) -> Vec<Conflict<'a>> {
    let conflicts = managers.0.iter().map(|(manager, owned)| Conflict {
        manager,
        fields: fields::intersection(&owned.fields, changed),
    });
    conflicts.filter(|conflict| !conflict.fields.is_empty()).collect()
}

/// Says with whom and where there are conflicts.
pub(super) fn status(conflicts: &[Conflict<'_>]) -> Status {
    let found: Vec<_> = conflicts
        .iter()
        .map(|conflict| (shown(conflict.manager), fields::paths(&conflict.fields)))
        .collect();
    let causes: Vec<_> =
        found.iter().flat_map(|(who, paths)| paths.iter().map(|path| cause(who, path))).collect();
    let mut status = Status::failure(StatusReason::Conflict, message(&found, causes.len()));
    status.details = Some(Box::new(StatusDetails { causes, ..StatusDetails::default() }));
    status
}

fn cause(who: &str, path: &str) -> StatusCause {
    StatusCause {
        reason: "FieldManagerConflict".to_owned(),
        message: format!("conflict with {who}"),
        field: path.to_owned(),
    }
}

fn message(found: &[(String, Vec<String>)], count: usize) -> String {
    if let [(who, paths)] = found
        && let [path] = paths.as_slice()
    {
        return format!("Apply failed with 1 conflict: conflict with {who}: {path}");
    }
    let mut lines = Vec::new();
    for (who, paths) in found {
        lines.push(format!("conflicts with {who}:"));
        lines.extend(paths.iter().map(|path| format!("- {path}")));
    }
    format!("Apply failed with {count} conflicts: {}", lines.join("\n"))
}

/// A manager as messages name it.
fn shown(manager: &Manager) -> String {
    let quoted = |text: &str| Value::from(text).to_string();
    let mut shown = quoted(&manager.name);
    if !manager.subresource.is_empty() {
        shown = format!("{shown} with subresource {}", quoted(&manager.subresource));
    }
    match manager.operation {
        Operation::Apply => shown,
        Operation::Update => format!("{shown} using {}", manager.api_version),
    }
}
