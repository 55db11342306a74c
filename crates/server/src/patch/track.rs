//! Updates `managedFields` after a create, an update or a patch other than a server-side apply.

use serde_json::{Map, Value};

use super::FieldManager;
use super::compare::{FieldChanges, compare_objects};
use super::fields::{self, FieldSet};
use super::managed::{ManagedFields, ManagedOperation, ManagerKey};

/// Fields of the metadata that the server sets. They have no manager.
const UNOWNED_METADATA: [&str; 9] = [
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "clusterName",
    "generation",
    "managedFields",
    "resourceVersion",
];

/// Updates `managedFields` after a create, an update or a patch.
///
/// The manager of the write becomes the only owner of fields that are new or have another value;
/// removed fields lose their owners. A write that changes nothing leaves all entries unchanged, including their
/// times.
///
/// Entries that the client sent are accepted if they are valid, as in Kubernetes, so that clients
/// can move ownership (`kubectl` does when it switches to server-side apply). An empty list, or a
/// list with one empty entry, stops the updates of `managedFields` until the next apply.
pub fn track_fields(old: Option<&Value>, new: &mut Value, manager: &FieldManager<'_>) {
    let sent = metadata(new).and_then(|metadata| metadata.remove("managedFields"));
    let mut managers = managers_before_write(old, sent, manager);
    if old.is_some() && managers.0.is_empty() {
        return;
    }
    let changes = managed_changes(compare_objects(old, new, manager.schema), manager);
    let FieldChanges { set, removed } = changes;
    managers.take_from_others(None, &set);
    managers.take_from_others(None, &removed);
    managers.drop_empty();
    if !set.is_empty() {
        managers.add(ManagerKey::new(manager, ManagedOperation::Update), manager, set);
    }
    managers.limit_updates();
    write_managers(new, managers);
}

/// Returns the entries before the write: those that the client sent, or else those of the old
/// object.
fn managers_before_write(
    old: Option<&Value>,
    sent: Option<Value>,
    manager: &FieldManager<'_>,
) -> ManagedFields {
    let live = old.and_then(|old| old.pointer("/metadata/managedFields"));
    let parse_live = || ManagedFields::parse(live.cloned().unwrap_or_default()).unwrap_or_default();
    match sent {
        // A write to a subresource cannot change the metadata.
        Some(sent) if manager.subresource.is_empty() => {
            if is_reset(&sent) {
                return ManagedFields::default();
            }
            let is_unchanged = live == Some(&sent);
            let parse =
                if is_unchanged { ManagedFields::parse } else { ManagedFields::parse_untrusted };
            parse(sent).filter(|managers| !managers.0.is_empty()).unwrap_or_else(parse_live)
        }
        _ => parse_live(),
    }
}

fn is_reset(sent: &Value) -> bool {
    match sent.as_array().map(Vec::as_slice) {
        Some([]) => true,
        Some([only]) => only.as_object().is_some_and(Map::is_empty),
        _ => false,
    }
}

/// Returns the changes without fields that have no manager or that the write cannot change.
pub(super) fn managed_changes(
    mut changes: FieldChanges,
    manager: &FieldManager<'_>,
) -> FieldChanges {
    for fields in [&mut changes.set, &mut changes.removed] {
        drop_readonly_fields(fields, manager);
        drop_unowned_fields(fields);
    }
    changes
}

/// Drops fields that the write cannot change: the status in a write to the object, and the spec in
/// a write to its status.
pub(super) fn drop_readonly_fields(fields: &mut FieldSet, manager: &FieldManager<'_>) {
    let is_status = manager.subresource == "status";
    fields.remove(if is_status { "f:spec" } else { "f:status" });
    if is_status && manager.schema.name == "Pod" {
        drop_metadata(fields, &["deletionTimestamp", "ownerReferences"]);
    }
}

/// Drops fields that have no manager.
pub(super) fn drop_unowned_fields(fields: &mut FieldSet) {
    fields.remove("f:apiVersion");
    fields.remove("f:kind");
    drop_metadata(fields, &UNOWNED_METADATA);
}

/// Drops fields of the metadata, and the metadata itself if nothing remains.
fn drop_metadata(fields: &mut FieldSet, names: &[&str]) {
    let Some(Value::Object(metadata)) = fields.get_mut("f:metadata") else { return };
    metadata.remove(".");
    for name in names {
        metadata.remove(&fields::field_element(name));
    }
    if metadata.is_empty() {
        fields.remove("f:metadata");
    }
}

fn metadata(object: &mut Value) -> Option<&mut Map<String, Value>> {
    object.get_mut("metadata")?.as_object_mut()
}

/// Writes the entries into an object.
pub(super) fn write_managers(object: &mut Value, managers: ManagedFields) {
    if let (Some(metadata), Some(entries)) = (metadata(object), managers.encode()) {
        metadata.insert("managedFields".to_owned(), entries);
    }
}

/// Removes the entries from an object and returns them.
pub(super) fn take_managers(object: &mut Value) -> ManagedFields {
    let entries = metadata(object).and_then(|metadata| metadata.remove("managedFields"));
    ManagedFields::parse(entries.unwrap_or_default()).unwrap_or_default()
}

/// Restores the times of the old entries if nothing else changed, so that a write without effect
/// leaves the object identical.
pub fn restore_unchanged_times(old: &Value, new: &mut Value) {
    let (Some(Value::Array(before)), Some(Value::Array(after))) =
        (old.pointer("/metadata/managedFields"), new.pointer("/metadata/managedFields"))
    else {
        return;
    };
    let equals_except_time = |(a, b): (&Value, &Value)| {
        let (Some(a), Some(b)) = (a.as_object(), b.as_object()) else { return a == b };
        let is_compared = |(name, _): &(&String, &Value)| *name != "time";
        a.iter().filter(is_compared).eq(b.iter().filter(is_compared))
    };
    if before.len() != after.len() || !before.iter().zip(after).all(equals_except_time) {
        return;
    }
    if equals_except_managed_fields(old, new) {
        put_entries(new, before.clone());
    }
}

fn put_entries(object: &mut Value, entries: Vec<Value>) {
    if let Some(metadata) = metadata(object) {
        metadata.insert("managedFields".to_owned(), Value::Array(entries));
    }
}

/// Whether two objects differ at most in their `managedFields`.
pub(super) fn equals_except_managed_fields(a: &Value, b: &Value) -> bool {
    let (Some(a), Some(b)) = (a.as_object(), b.as_object()) else { return a == b };
    a.len() == b.len()
        && a.iter().zip(b).all(|((name, a), (other, b))| {
            name == other
                && match (name.as_str(), a, b) {
                    ("metadata", Value::Object(a), Value::Object(b)) => {
                        let is_compared = |(name, _): &(&String, &Value)| *name != "managedFields";
                        a.iter().filter(is_compared).eq(b.iter().filter(is_compared))
                    }
                    _ => a == b,
                }
        })
}

/// Returns the default field manager of a client: its user agent up to the first slash.
pub fn manager_from_user_agent(user_agent: &str) -> String {
    let product = user_agent.split('/').next().unwrap_or_default();
    product.chars().filter(|c| !c.is_control()).collect()
}

#[cfg(test)]
mod tests;
