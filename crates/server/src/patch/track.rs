//! Who owns the fields of an object after a write that was not an apply.

use serde_json::{Map, Value};

use super::FieldManager;
use super::compare::{Changes, changes};
use super::fields::{self, Fields};
use super::managed::{Manager, Managers, Operation};

/// Fields of the metadata that the server writes, and that nobody owns.
const NOBODYS: [&str; 9] = [
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

/// Records who owns the fields of an object after a create, an update or a patch.
///
/// The writer owns what is new or has another value, and nobody else does any more; what is gone
/// belongs to nobody. A write that changes nothing leaves everything as it was, the time too.
///
/// Entries that the client sent are taken if they are well formed, as Kubernetes does so that
/// clients can move ownership (`kubectl` does when it begins to apply on the server); an empty list
/// or a list of one empty entry ends the tracking of this object until it is applied to.
pub fn track_fields(old: Option<&Value>, new: &mut Value, writer: &FieldManager<'_>) {
    let sent = metadata(new).and_then(|metadata| metadata.remove("managedFields"));
    let mut managers = known(old, sent, writer);
    if old.is_some() && managers.0.is_empty() {
        return;
    }
    let Changes { set, gone } = visible(changes(old, new, writer.schema), writer);
    managers.take_from_others(None, &set);
    managers.take_from_others(None, &gone);
    managers.drop_empty();
    if !set.is_empty() {
        managers.add(Manager::new(writer, Operation::Update), writer, set);
    }
    managers.cap();
    put(new, managers);
}

/// The managers before the write.
fn known(old: Option<&Value>, sent: Option<Value>, writer: &FieldManager<'_>) -> Managers {
    let live = old.and_then(|old| old.pointer("/metadata/managedFields"));
    let read_live = || Managers::read(live.cloned().unwrap_or_default()).unwrap_or_default();
    match sent {
        // A subresource is no door to the metadata.
        Some(sent) if writer.subresource.is_empty() => {
            if is_reset(&sent) {
                return Managers::default();
            }
            let is_known = live == Some(&sent);
            let read = if is_known { Managers::read } else { Managers::read_foreign };
            read(sent).filter(|managers| !managers.0.is_empty()).unwrap_or_else(read_live)
        }
        _ => read_live(),
    }
}

fn is_reset(sent: &Value) -> bool {
    match sent.as_array().map(Vec::as_slice) {
        Some([]) => true,
        Some([only]) => only.as_object().is_some_and(Map::is_empty),
        _ => false,
    }
}

/// The changes without what nobody owns, and without what this door cannot change.
pub(super) fn visible(mut changes: Changes, writer: &FieldManager<'_>) -> Changes {
    for fields in [&mut changes.set, &mut changes.gone] {
        drop_closed(fields, writer);
        drop_nobodys(fields);
    }
    changes
}

/// Drops what a write by this door leaves as it was, whatever it says: the status by the object
/// itself, the rest by its status.
pub(super) fn drop_closed(fields: &mut Fields, writer: &FieldManager<'_>) {
    let is_status = writer.subresource == "status";
    fields.remove(if is_status { "f:spec" } else { "f:status" });
    if is_status && writer.schema.name == "Pod" {
        drop_metadata(fields, &["deletionTimestamp", "ownerReferences"]);
    }
}

/// Drops the fields that nobody owns.
pub(super) fn drop_nobodys(fields: &mut Fields) {
    fields.remove("f:apiVersion");
    fields.remove("f:kind");
    drop_metadata(fields, &NOBODYS);
}

/// Drops fields of the metadata with all that is below, and the metadata if that was all.
fn drop_metadata(fields: &mut Fields, names: &[&str]) {
    let Some(Value::Object(metadata)) = fields.get_mut("f:metadata") else { return };
    metadata.remove(".");
    for name in names {
        metadata.remove(&fields::named(name));
    }
    if metadata.is_empty() {
        fields.remove("f:metadata");
    }
}

fn metadata(object: &mut Value) -> Option<&mut Map<String, Value>> {
    object.get_mut("metadata")?.as_object_mut()
}

/// Writes the managers into an object.
pub(super) fn put(object: &mut Value, managers: Managers) {
    if let (Some(metadata), Some(entries)) = (metadata(object), managers.write()) {
        metadata.insert("managedFields".to_owned(), entries);
    }
}

/// Takes the managers out of an object.
pub(super) fn take(object: &mut Value) -> Managers {
    let entries = metadata(object).and_then(|metadata| metadata.remove("managedFields"));
    Managers::read(entries.unwrap_or_default()).unwrap_or_default()
}

/// Restores the times of the old entries if nothing else changed, so that a write without effect
/// leaves the very same object.
pub fn restore_unchanged_times(old: &Value, new: &mut Value) {
    let (Some(Value::Array(before)), Some(Value::Array(after))) =
        (old.pointer("/metadata/managedFields"), new.pointer("/metadata/managedFields"))
    else {
        return;
    };
    let is_same_but_time = |(a, b): (&Value, &Value)| {
        let (Some(a), Some(b)) = (a.as_object(), b.as_object()) else { return a == b };
        let rest = |(name, _): &(&String, &Value)| *name != "time";
        a.iter().filter(rest).eq(b.iter().filter(rest))
    };
    if before.len() != after.len() || !before.iter().zip(after).all(is_same_but_time) {
        return;
    }
    if is_same_but_managers(old, new) {
        put_entries(new, before.clone());
    }
}

fn put_entries(object: &mut Value, entries: Vec<Value>) {
    if let Some(metadata) = metadata(object) {
        metadata.insert("managedFields".to_owned(), Value::Array(entries));
    }
}

/// Whether two objects differ in their managers at most.
pub(super) fn is_same_but_managers(a: &Value, b: &Value) -> bool {
    let (Some(a), Some(b)) = (a.as_object(), b.as_object()) else { return a == b };
    a.len() == b.len()
        && a.iter().zip(b).all(|((name, a), (other, b))| {
            name == other
                && match (name.as_str(), a, b) {
                    ("metadata", Value::Object(a), Value::Object(b)) => {
                        let rest = |(name, _): &(&String, &Value)| *name != "managedFields";
                        a.iter().filter(rest).eq(b.iter().filter(rest))
                    }
                    _ => a == b,
                }
        })
}

/// The manager of a client that names none: its user agent up to the first slash.
pub fn manager_from_user_agent(user_agent: &str) -> String {
    let product = user_agent.split('/').next().unwrap_or_default();
    product.chars().filter(|c| !c.is_control()).collect()
}

#[cfg(test)]
mod tests;
