//! Server-side apply: a client says which fields it wants, and owns exactly these.

mod check;
mod conflict;
mod last_applied;
mod merge;
mod prune;

use punctual_api::{Status, Time};
use serde_json::Value;

use self::conflict::Conflict;
use super::FieldManager;
use super::compare::{changes, members};
use super::fields::{self, Fields};
use super::managed::{Manager, Managers, Operation, Owned};
use super::track::{drop_closed, drop_nobodys, put, take, visible};

/// Owns what an object had before it was applied to, if nobody knows who did.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// Applies a configuration to an object, or creates the object from it.
///
/// What the configuration says is set and owned by the writer. What it said before and no longer
/// says is removed, unless somebody else owns it. Setting a field that another manager owns with
/// another value is a conflict, unless `force` takes it away; fields of equal value are shared.
///
/// The result has its `managedFields`; it is to be checked and defaulted, but not to be tracked.
/// The configuration must be of the writer's version and kind, of known fields and right types.
pub fn server_side_apply(
    live: Option<&Value>,
    config: Value,
    writer: &FieldManager<'_>,
    force: bool,
) -> Result<Value, Status> {
    if config.pointer("/metadata/managedFields").is_some_and(|entries| !entries.is_null()) {
        return Err(Status::bad_request("metadata.managedFields must be nil"));
    }
    check::identities(&config, writer)?;
    let mut before = live.cloned().unwrap_or_default();
    let mut managers = take(&mut before);
    if live.is_some() && managers.0.is_empty() {
        adopt(&before, &mut managers, writer);
    }
    let apply = Apply { before, config, writer, manager: Manager::new(writer, Operation::Apply) };
    let mut object = apply.run(live.is_none(), &mut managers, force)?;
    last_applied::renew(&mut object, &apply.config, writer);
    put(&mut object, managers);
    Ok(object)
}

/// Gives what an object has to a manager that stands for its unknown past.
fn adopt(object: &Value, managers: &mut Managers, writer: &FieldManager<'_>) {
    let past = FieldManager { manager: BEFORE_FIRST_APPLY, ..*writer };
    let fields = visible(changes(None, object, writer.schema), writer).set;
    if !fields.is_empty() {
        managers.add(Manager::new(&past, Operation::Update), &past, fields);
    }
}

/// One apply.
struct Apply<'a> {
    before: Value,
    config: Value,
    writer: &'a FieldManager<'a>,
    manager: Manager,
}

impl Apply<'_> {
    /// The object after the apply, and who owns what.
    fn run(&self, is_create: bool, managers: &mut Managers, force: bool) -> Result<Value, Status> {
        let last = managers.0.remove(&self.manager).unwrap_or_default();
        let wanted = self.wanted();
        let object = self.merged(managers, &last.fields, &wanted);
        self.claim(&object, managers, force)?;
        let is_changed = is_create || object != self.before;
        let time = if is_changed { Some(self.now()) } else { last.time };
        self.own(managers, wanted, time);
        Ok(object)
    }

    /// The fields that the configuration is about.
    fn wanted(&self) -> Fields {
        let mut wanted = members(&self.config, self.writer.schema);
        drop_closed(&mut wanted, self.writer);
        wanted
    }

    /// The object with the configuration merged in and what is no longer wanted taken out.
    fn merged(&self, managers: &Managers, last: &Fields, wanted: &Fields) -> Value {
        let schema = self.writer.schema;
        let merged = merge::merge(self.before.clone(), &self.config, schema);
        if last.is_empty() {
            return merged;
        }
        let mut owned = wanted.clone();
        for other in managers.0.values() {
            fields::unite(&mut owned, other.fields.clone());
        }
        prune::prune(merged, schema, last, &owned)
    }

    /// Takes what changes from those who own it, or says that it is theirs.
    fn claim(&self, object: &Value, managers: &mut Managers, force: bool) -> Result<(), Status> {
        let changes = visible(changes(Some(&self.before), object, self.writer.schema), self.writer);
        if !force {
            let conflicts = conflict::find(managers, &changes.set);
            self.settle(conflicts)?;
        }
        managers.take_from_others(None, &changes.set);
        managers.take_from_others(None, &changes.gone);
        Ok(())
    }

    /// Refuses conflicts, but for those that are none because the writer once applied these very
    /// values on its own side.
    fn settle(&self, conflicts: Vec<Conflict<'_>>) -> Result<(), Status> {
        let allowed = match conflicts.is_empty() {
            true => return Ok(()),
            false => last_applied::unchanged(&self.before, self.writer),
        };
        let conflicts: Vec<_> =
            conflicts.into_iter().filter_map(|conflict| conflict.without(&allowed)).collect();
        if conflicts.is_empty() { Ok(()) } else { Err(conflict::status(&conflicts)) }
    }

    fn own(&self, managers: &mut Managers, mut wanted: Fields, time: Option<String>) {
        drop_nobodys(&mut wanted);
        let owned = Owned { api_version: self.writer.api_version.to_owned(), time, fields: wanted };
        managers.0.insert(self.manager.clone(), owned);
        managers.drop_empty();
    }

    fn now(&self) -> String {
        Time::new(self.writer.now).to_string()
    }
}

#[cfg(test)]
mod tests;
