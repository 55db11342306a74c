//! The entries of `metadata.managedFields`: who owns which fields.

use std::collections::BTreeMap;

use punctual_api::Time;
use serde_json::{Map, Value};

use super::FieldManager;
use super::fields::{self, Fields};

/// More entries of updates than this are merged, the oldest first.
const UPDATES_MAX: usize = 10;

/// Longer names of managers are cut.
const MANAGER_BYTES_MAX: usize = 128;

/// The manager of what was merged because it was old.
const ANCIENT: &str = "ancient-changes";

/// How a manager came to own fields. In the order of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Operation {
    /// By applying a configuration.
    Apply,
    /// By any other write.
    Update,
}

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Operation::Apply => "Apply",
            Operation::Update => "Update",
        }
    }
}

/// Who owns: writes with the same identity share an entry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Manager {
    /// Name.
    pub(super) name: String,
    /// How it came to own.
    pub(super) operation: Operation,
    /// In which group and version. Not part of the identity of one who applies.
    pub(super) api_version: String,
    /// By which subresource.
    pub(super) subresource: String,
}

impl Manager {
    /// The writer as a manager.
    pub(super) fn new(writer: &FieldManager<'_>, operation: Operation) -> Manager {
        let name = match writer.manager {
            "" => "unknown",
            name => name,
        };
        Manager {
            name: cut(name),
            operation,
            api_version: version_in_identity(operation, writer.api_version).to_owned(),
            subresource: writer.subresource.to_owned(),
        }
    }
}

fn cut(name: &str) -> String {
    let fits = |(start, c): &(usize, char)| start + c.len_utf8() <= MANAGER_BYTES_MAX;
    name.char_indices().take_while(fits).map(|(_, c)| c).collect()
}

fn version_in_identity(operation: Operation, api_version: &str) -> &str {
    match operation {
        Operation::Apply => "",
        Operation::Update => api_version,
    }
}

/// What a manager owns.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Owned {
    /// In which group and version the fields are named.
    pub(super) api_version: String,
    /// When the manager last changed something. As text, which sorts like the instants.
    pub(super) time: Option<String>,
    /// The fields.
    pub(super) fields: Fields,
}

/// All managers of an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Managers(pub(super) BTreeMap<Manager, Owned>);

impl Managers {
    /// Reads the entries. None if one of them is wrong.
    pub(super) fn read(entries: Value) -> Option<Managers> {
        match entries {
            Value::Null => Some(Managers::default()),
            Value::Array(entries) => {
                entries.into_iter().map(read_entry).collect::<Option<_>>().map(Managers)
            }
            _ => None,
        }
    }

    /// Reads what a client wrote. None if an entry is wrong.
    pub(super) fn read_foreign(entries: Value) -> Option<Managers> {
        let mut managers = Managers::read(entries)?;
        for owned in managers.0.values_mut() {
            owned.fields = fields::canonical(std::mem::take(&mut owned.fields))?;
        }
        Some(managers)
    }

    /// Takes fields from everybody but one.
    pub(super) fn take_from_others(&mut self, keeper: Option<&Manager>, taken: &Fields) {
        for (manager, owned) in &mut self.0 {
            if Some(manager) != keeper {
                fields::subtract(&mut owned.fields, taken);
            }
        }
    }

    /// Forgets who owns nothing.
    pub(super) fn drop_empty(&mut self) {
        self.0.retain(|_, owned| !owned.fields.is_empty());
    }

    /// Adds what an update changed to what its manager owns.
    pub(super) fn add(&mut self, manager: Manager, writer: &FieldManager<'_>, changed: Fields) {
        let owned = self.0.entry(manager).or_default();
        owned.api_version = writer.api_version.to_owned();
        owned.time = Some(Time::new(writer.now).to_string());
        fields::unite(&mut owned.fields, changed);
    }

    /// Merges the oldest updates of each version until there are no more than allowed.
    pub(super) fn cap(&mut self) {
        let mut updates: Vec<_> =
            self.0.iter().filter(|(m, _)| m.operation == Operation::Update).collect();
        let Some(mut excess) = updates.len().checked_sub(UPDATES_MAX).filter(|excess| *excess > 0)
        else {
            return;
        };
        updates.sort_by(|(_, a), (_, b)| a.time.cmp(&b.time));
        let oldest: Vec<_> = updates.into_iter().map(|(manager, _)| manager.clone()).collect();
        let mut firsts: BTreeMap<String, Manager> = BTreeMap::new();
        for manager in oldest {
            if excess == 0 {
                break;
            }
            match firsts.get(&manager.api_version) {
                None => drop(firsts.insert(manager.api_version.clone(), manager)),
                Some(first) => {
                    self.merge_into_ancient(first, &manager);
                    excess -= 1;
                }
            }
        }
    }

    /// Merges two updates into the one entry of its version for what is old.
    fn merge_into_ancient(&mut self, first: &Manager, second: &Manager) {
        let ancient = Manager {
            name: ANCIENT.to_owned(),
            operation: Operation::Update,
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
        fields::unite(&mut merged.fields, newer.fields);
    }

    /// The entries, in the order of Kubernetes. None if there are none.
    pub(super) fn write(self) -> Option<Value> {
        let mut entries: Vec<_> = self.0.into_iter().collect();
        entries.sort_by(|(a, x), (b, y)| {
            let a = (a.operation, &x.time, &a.name, &x.api_version, &a.subresource);
            a.cmp(&(b.operation, &y.time, &b.name, &y.api_version, &b.subresource))
        });
        let entries: Vec<_> = entries.into_iter().map(write_entry).collect();
        (!entries.is_empty()).then_some(Value::Array(entries))
    }
}

fn read_entry(entry: Value) -> Option<(Manager, Owned)> {
    let Value::Object(mut entry) = entry else { return None };
    let mut text = |name: &str| match entry.remove(name) {
        None | Some(Value::Null) => Some(String::new()),
        Some(Value::String(text)) => Some(text),
        Some(_) => None,
    };
    let operation = match text("operation")?.as_str() {
        "Apply" => Operation::Apply,
        "Update" => Operation::Update,
        _ => return None,
    };
    let (name, subresource, api_version) =
        (text("manager")?, text("subresource")?, text("apiVersion")?);
    if api_version.is_empty() || text("fieldsType")? != "FieldsV1" {
        return None;
    }
    let time = Some(text("time")?).filter(|time| !time.is_empty());
    let fields = match entry.remove("fieldsV1") {
        None | Some(Value::Null) => Fields::new(),
        Some(Value::Object(fields)) => fields,
        Some(_) => return None,
    };
    let identity = version_in_identity(operation, &api_version).to_owned();
    let manager = Manager { name, operation, api_version: identity, subresource };
    Some((manager, Owned { api_version, time, fields }))
}

fn write_entry((manager, owned): (Manager, Owned)) -> Value {
    let mut entry = Map::new();
    let mut text = |name: &str, value: String| {
        if !value.is_empty() {
            entry.insert(name.to_owned(), Value::String(value));
        }
    };
    text("manager", manager.name);
    text("operation", manager.operation.name().to_owned());
    text("apiVersion", owned.api_version);
    text("time", owned.time.unwrap_or_default());
    text("fieldsType", "FieldsV1".to_owned());
    text("subresource", manager.subresource);
    entry.insert("fieldsV1".to_owned(), Value::Object(owned.fields));
    Value::Object(entry)
}

#[cfg(test)]
mod tests;
