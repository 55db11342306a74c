//! Server-side apply: a client declares the fields it wants, and owns exactly these.

mod check;
mod conflict;
mod last_applied;
mod merge;
mod prune;

use punctual_api::{Status, Time};
use serde_json::Value;

use self::conflict::FieldConflict;
use super::FieldManager;
use super::compare::{collect_fields, compare_objects};
use super::fields::{self, FieldSet};
use super::managed::{ManagedFields, ManagedOperation, ManagerKey, OwnedFields};
use super::track::{
    drop_readonly_fields, drop_unowned_fields, managed_changes, take_managers, write_managers,
};

/// The manager of the fields that an object without `managedFields` had before its first apply.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// Applies a configuration to an object, or creates the object from it.
///
/// Fields in the configuration are set and owned by the manager. Fields that the manager applied
/// before and that are no longer in the configuration are removed, unless another manager owns
/// them. Changing a field that another manager owns is a conflict, unless `force` is set. Fields
/// with equal values are shared.
///
/// The caller must default and validate the result, but must not update its `managedFields` again. The
/// configuration must have the API version and kind of the request, and be valid in them.
pub fn server_side_apply(
    live: Option<&Value>,
    config: Value,
    manager: &FieldManager<'_>,
    force: bool,
) -> Result<Value, Status> {
    if config.pointer("/metadata/managedFields").is_some_and(|entries| !entries.is_null()) {
        return Err(Status::bad_request("metadata.managedFields must be nil"));
    }
    check::list_keys(&config, manager)?;
    let mut before = live.cloned().unwrap_or_default();
    let mut managers = take_managers(&mut before);
    if live.is_some() && managers.0.is_empty() {
        adopt(&before, &mut managers, manager);
    }
    let apply = ApplyOperation {
        before,
        config,
        manager,
        manager_key: ManagerKey::new(manager, ManagedOperation::Apply),
    };
    let mut object = apply.run(live.is_none(), &mut managers, force)?;
    last_applied::update_annotation(&mut object, &apply.config, manager);
    write_managers(&mut object, managers);
    Ok(object)
}

/// Assigns all fields of an object without managers to the manager `before-first-apply`.
fn adopt(object: &Value, managers: &mut ManagedFields, manager: &FieldManager<'_>) {
    let before = FieldManager { name: BEFORE_FIRST_APPLY, ..*manager };
    let fields = managed_changes(compare_objects(None, object, manager.schema), manager).set;
    if !fields.is_empty() {
        managers.add(ManagerKey::new(&before, ManagedOperation::Update), &before, fields);
    }
}

/// One server-side apply.
struct ApplyOperation<'a> {
    before: Value,
    config: Value,
    manager: &'a FieldManager<'a>,
    manager_key: ManagerKey,
}

impl ApplyOperation<'_> {
    /// Returns the object after the apply, and updates the managers.
    fn run(
        &self,
        is_create: bool,
        managers: &mut ManagedFields,
        force: bool,
    ) -> Result<Value, Status> {
        let last = managers.0.remove(&self.manager_key).unwrap_or_default();
        let wanted = self.config_fields();
        let object = self.merge_config(managers, &last.fields, &wanted);
        self.claim(&object, managers, force)?;
        let is_changed = is_create || object != self.before;
        let time = if is_changed { Some(self.now()) } else { last.time };
        self.set_owned(managers, wanted, time);
        Ok(object)
    }

    /// Returns the fields in the configuration.
    fn config_fields(&self) -> FieldSet {
        let mut wanted = collect_fields(&self.config, self.manager.schema);
        drop_readonly_fields(&mut wanted, self.manager);
        wanted
    }

    /// Merges the configuration into the object and removes fields that are no longer applied.
    fn merge_config(&self, managers: &ManagedFields, last: &FieldSet, wanted: &FieldSet) -> Value {
        let schema = self.manager.schema;
        let merged = merge::merge(self.before.clone(), &self.config, schema);
        if last.is_empty() {
            return merged;
        }
        let mut owned = wanted.clone();
        for other in managers.0.values() {
            fields::union_with(&mut owned, other.fields.clone());
        }
        prune::prune(merged, schema, last, &owned)
    }

    /// Takes the changed fields from their managers. Fails on conflicts unless `force` is set.
    fn claim(
        &self,
        object: &Value,
        managers: &mut ManagedFields,
        force: bool,
    ) -> Result<(), Status> {
        let changes = compare_objects(Some(&self.before), object, self.manager.schema);
        let changes = managed_changes(changes, self.manager);
        if !force {
            let conflicts = conflict::find(managers, &changes.set);
            self.check_conflicts(conflicts)?;
        }
        managers.take_from_others(None, &changes.set);
        managers.take_from_others(None, &changes.removed);
        Ok(())
    }

    /// Fails on conflicts, except with values that the manager applied before with client-side
    /// apply.
    fn check_conflicts(&self, conflicts: Vec<FieldConflict<'_>>) -> Result<(), Status> {
        if conflicts.is_empty() {
            return Ok(());
        }
        let allowed = last_applied::unchanged_fields(&self.before, self.manager);
        let conflicts: Vec<_> =
            conflicts.into_iter().filter_map(|conflict| conflict.without(&allowed)).collect();
        if conflicts.is_empty() { Ok(()) } else { Err(conflict::status(&conflicts)) }
    }

    fn set_owned(&self, managers: &mut ManagedFields, mut wanted: FieldSet, time: Option<String>) {
        drop_unowned_fields(&mut wanted);
        let owned =
            OwnedFields { api_version: self.manager.api_version.to_owned(), time, fields: wanted };
        managers.0.insert(self.manager_key.clone(), owned);
        managers.drop_empty();
    }

    fn now(&self) -> String {
        Time::new(self.manager.now).to_string()
    }
}

#[cfg(test)]
mod tests;
