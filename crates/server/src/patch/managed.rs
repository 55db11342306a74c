//! The entries of `metadata.managedFields`: which manager owns which fields.

use std::collections::BTreeMap;

use punctual_api::Time;
use serde_json::{Map, Value};

use super::FieldManager;
use super::fields::{self, FieldSet};

/// Maximum number of `Update` entries. The oldest are merged.
const UPDATES_MAX: usize = 10;

/// Maximum length of manager names. Longer ones are truncated.
const MANAGER_BYTES_MAX: usize = 128;

/// The manager of merged old entries, as in Kubernetes.
const ANCIENT_CHANGES: &str = "ancient-changes";

/// How a manager acquired its fields. Entries are sorted in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ManagedOperation {
    /// By server-side apply.
    Apply,
    /// By another write.
    Update,
}

impl ManagedOperation {
    fn as_str(self) -> &'static str {
        match self {
            ManagedOperation::Apply => "Apply",
            ManagedOperation::Update => "Update",
        }
    }
}

/// The key of an entry. Writes with the same key share an entry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ManagerKey {
    /// The name of the manager.
    pub(super) name: String,
    /// The operation.
    pub(super) operation: ManagedOperation,
    /// The group and version; empty for `Apply`, whose entries do not depend on it.
    pub(super) api_version: String,
    /// The subresource.
    pub(super) subresource: String,
}

impl ManagerKey {
    /// Returns the key for writes of a field manager.
    pub(super) fn new(manager: &FieldManager<'_>, operation: ManagedOperation) -> ManagerKey {
        let name = match manager.name {
            "" => "unknown",
            name => name,
        };
        ManagerKey {
            name: truncate(name),
            operation,
            api_version: key_version(operation, manager.api_version).to_owned(),
            subresource: manager.subresource.to_owned(),
        }
    }
}

fn truncate(name: &str) -> String {
    let fits = |(start, c): &(usize, char)| start + c.len_utf8() <= MANAGER_BYTES_MAX;
    name.char_indices().take_while(fits).map(|(_, c)| c).collect()
}

fn key_version(operation: ManagedOperation, api_version: &str) -> &str {
    match operation {
        ManagedOperation::Apply => "",
        ManagedOperation::Update => api_version,
    }
}

/// The fields of one entry.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct OwnedFields {
    /// The group and version of the field names.
    pub(super) api_version: String,
    /// The time of the last change. Its text sorts chronologically.
    pub(super) time: Option<String>,
    /// The fields.
    pub(super) fields: FieldSet,
}

/// All entries of an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ManagedFields(pub(super) BTreeMap<ManagerKey, OwnedFields>);

impl ManagedFields {
    /// Parses the entries. Returns `None` if one is invalid.
    pub(super) fn parse(entries: Value) -> Option<ManagedFields> {
        match entries {
            Value::Null => Some(ManagedFields::default()),
            Value::Array(entries) => {
                entries.into_iter().map(parse_entry).collect::<Option<_>>().map(ManagedFields)
            }
            _ => None,
        }
    }

    /// Parses entries that a client wrote, and normalizes them. Returns `None` if one is invalid.
    pub(super) fn parse_untrusted(entries: Value) -> Option<ManagedFields> {
        let mut managers = ManagedFields::parse(entries)?;
        for owned in managers.0.values_mut() {
            owned.fields = fields::canonical(std::mem::take(&mut owned.fields))?;
        }
        Some(managers)
    }

    /// Removes fields from all managers but one.
    pub(super) fn take_from_others(&mut self, keeper: Option<&ManagerKey>, taken: &FieldSet) {
        for (manager, owned) in &mut self.0 {
            if Some(manager) != keeper {
                fields::subtract(&mut owned.fields, taken);
            }
        }
    }

    /// Removes entries without fields.
    pub(super) fn drop_empty(&mut self) {
        self.0.retain(|_, owned| !owned.fields.is_empty());
    }

    /// Adds the fields that an update changed to the entry of its manager.
    pub(super) fn add(&mut self, key: ManagerKey, manager: &FieldManager<'_>, changed: FieldSet) {
        let owned = self.0.entry(key).or_default();
        owned.api_version = manager.api_version.to_owned();
        owned.time = Some(Time::new(manager.now).to_string());
        fields::union_with(&mut owned.fields, changed);
    }

    /// Merges the oldest `Update` entries of each version until there are at most [`UPDATES_MAX`].
    pub(super) fn limit_updates(&mut self) {
        let mut updates: Vec<_> =
            self.0.iter().filter(|(m, _)| m.operation == ManagedOperation::Update).collect();
        let Some(mut excess) = updates.len().checked_sub(UPDATES_MAX).filter(|excess| *excess > 0)
        else {
            return;
        };
        updates.sort_by(|(_, a), (_, b)| a.time.cmp(&b.time));
        let oldest: Vec<_> = updates.into_iter().map(|(manager, _)| manager.clone()).collect();
        let mut firsts: BTreeMap<String, ManagerKey> = BTreeMap::new();
        for manager in oldest {
            if excess == 0 {
                break;
            }
            match firsts.get(&manager.api_version) {
                None => drop(firsts.insert(manager.api_version.clone(), manager)),
                Some(first) => {
                    self.merge_into_ancient_changes(first, &manager);
                    excess -= 1;
                }
            }
        }
    }

    /// Merges two entries into the entry `ancient-changes` of their version.
    fn merge_into_ancient_changes(&mut self, first: &ManagerKey, second: &ManagerKey) {
        let ancient = ManagerKey {
            name: ANCIENT_CHANGES.to_owned(),
            operation: ManagedOperation::Update,
            api_version: second.api_version.clone(),
            subresource: String::new(),
        };
        let Some(newer) = self.0.remove(second) else { return };
        if !self.0.contains_key(&ancient) {
            let older = self.0.remove(first).unwrap_or_default();
            self.0.insert(ancient.clone(), older);
        }
        let merged = self.0.entry(ancient).or_default();
        merged.api_version = newer.api_version;
        merged.time = newer.time;
        fields::union_with(&mut merged.fields, newer.fields);
    }

    /// Encodes the entries in the order of Kubernetes. Returns `None` if there are none.
    pub(super) fn encode(self) -> Option<Value> {
        let mut entries: Vec<_> = self.0.into_iter().collect();
        entries.sort_by(|(a, x), (b, y)| {
            let a = (a.operation, &x.time, &a.name, &x.api_version, &a.subresource);
            a.cmp(&(b.operation, &y.time, &b.name, &y.api_version, &b.subresource))
        });
        let entries: Vec<_> =
            entries.into_iter().map(|(manager, owned)| encode_entry(manager, owned)).collect();
        (!entries.is_empty()).then_some(Value::Array(entries))
    }
}

fn parse_entry(entry: Value) -> Option<(ManagerKey, OwnedFields)> {
    let Value::Object(mut entry) = entry else { return None };
    let mut text = |name: &str| match entry.remove(name) {
        None | Some(Value::Null) => Some(String::new()),
        Some(Value::String(text)) => Some(text),
        Some(_) => None,
    };
    let operation = match text("operation")?.as_str() {
        "Apply" => ManagedOperation::Apply,
        "Update" => ManagedOperation::Update,
        _ => return None,
    };
    let name = text("manager")?;
    let subresource = text("subresource")?;
    let api_version = text("apiVersion")?;
    if api_version.is_empty() || text("fieldsType")? != "FieldsV1" {
        return None;
    }
    let time = Some(text("time")?).filter(|time| !time.is_empty());
    let fields = match entry.remove("fieldsV1") {
        None | Some(Value::Null) => FieldSet::new(),
        Some(Value::Object(fields)) => fields,
        Some(_) => return None,
    };
    let key_version = key_version(operation, &api_version).to_owned();
    let manager = ManagerKey { name, operation, api_version: key_version, subresource };
    Some((manager, OwnedFields { api_version, time, fields }))
}

fn encode_entry(manager: ManagerKey, owned: OwnedFields) -> Value {
    let mut entry = Map::new();
    let mut text = |name: &str, value: String| {
        if !value.is_empty() {
            entry.insert(name.to_owned(), Value::String(value));
        }
    };
    text("manager", manager.name);
    text("operation", manager.operation.as_str().to_owned());
    text("apiVersion", owned.api_version);
    text("time", owned.time.unwrap_or_default());
    text("fieldsType", "FieldsV1".to_owned());
    text("subresource", manager.subresource);
    entry.insert("fieldsV1".to_owned(), Value::Object(owned.fields));
    Value::Object(entry)
}

#[cfg(test)]
mod tests;
