//! Changes of objects that exist.

use std::borrow::Cow;

use jiff::Timestamp;
use punctual_api::status::{Status, StatusReason};
use punctual_api::strategy::{self, AdmittedObject, ResourceKind};
use punctual_store::{Condition, Entry, Error, Op};
use serde_json::Value;

use super::create::Tracked;
use super::{ObjectRef, Registry, TRIES_MAX, WriteContext, Written, store_failed, text};
use crate::patch;
use crate::resource::Subresource;
use crate::stored::{Stored, encode, to_stored};

/// What a request makes of an object.
pub(crate) trait Change: Sync {
    /// The object after the change, and warnings; `None` is an object that does not exist yet. Both
    /// in the form that was asked for.
    fn apply(&self, old: Option<&Value>, now: Timestamp) -> Result<(Value, Vec<String>), Status>;

    /// Whether an object that does not exist is created.
    fn creates(&self) -> bool {
        false
    }

    /// Whether the change has said itself who manages what.
    fn tracks(&self) -> bool {
        false
    }
}

impl Registry {
    /// Changes an object; decided again as long as others change it at the same time.
    pub(crate) async fn update(
        &self,
        object: &ObjectRef,
        change: &dyn Change,
        context: &WriteContext,
    ) -> Result<Written, Status> {
        for _ in 0..TRIES_MAX {
            let tried = match self.store.get(&object.key()) {
                Some(entry) => self.try_update(object, change, context, &entry).await?,
                None if change.creates() => {
                    let (new, _) = change.apply(None, self.env.now())?;
                    let tracked = if change.tracks() { Tracked::ByApply } else { Tracked::No };
                    match self.create_tracked(&object.place, new, context, tracked).await {
                        Err(status) if status.reason == StatusReason::AlreadyExists => None,
                        result => return result,
                    }
                }
                None => return Err(object.not_found()),
            };
            if let Some(written) = tried {
                return Ok(written);
            }
        }
        Err(Status::object_modified(object.place.view.name(), &object.name))
    }

    /// None if somebody else was faster and it is to be tried again.
    async fn try_update(
        &self,
        object: &ObjectRef,
        change: &dyn Change,
        context: &WriteContext,
        entry: &Entry,
    ) -> Result<Option<Written>, Status> {
        let now = self.env.now();
        let current = Stored::of(object.place.view, entry);
        let old = current.tree()?;
        let old_served = match object.place.view.is_stored_form() {
            true => Cow::Borrowed(&old),
            false => Cow::Owned(current.served_tree()?),
        };
        let (mut new, doubts) = change.apply(Some(&old_served), now)?;
        strategy::check_name(&new, &object.name)?;
        strategy::check_namespace(&new, &object.place.namespace)?;
        to_stored(&mut new, &object.place.view);
        check_version(object, &new, &old, entry)?;
        let mut admitted = self.admit_update(object, new, &old, now)?;
        if !change.tracks() {
            self.track(Some(&old_served), &mut admitted.object, object, (context, now))?;
        }
        let kind = self.kind(&object.place.view)?;
        strategy::update_schedule_since(kind, &mut admitted.object, &old, &self.rules, now);
        patch::restore_unchanged_times(&old, &mut admitted.object);
        let value = encode(&admitted.object, object.place.view.resource);
        let warnings = doubts.into_iter().chain(admitted.warnings).collect();
        let written = |value, revision| {
            let object = Stored { view: object.place.view, value, revision };
            Written { object, warnings, is_new: false }
        };
        let ends = is_over(&admitted.object);
        if (value == entry.value && !ends) || context.is_dry_run {
            return Ok(Some(written(value, entry.modified)));
        }
        let key = object.key();
        let op = match ends {
            true => Op::delete(key, Condition::At(entry.modified)),
            false => Op::update(key, value.clone(), entry.modified),
        };
        match self.store.write(op).await {
            Ok(committed) => {
                let revision = if ends { entry.modified } else { committed.revision };
                Ok(Some(written(value, revision)))
            }
            Err(Error::Conflict(_)) => Ok(None),
            Err(other) => Err(store_failed(&other)),
        }
    }

    fn admit_update(
        &self,
        object: &ObjectRef,
        new: Value,
        old: &Value,
        now: Timestamp,
    ) -> Result<AdmittedObject, Status> {
        let kind = self.kind(&object.place.view)?;
        match object.below {
            Some(Subresource::Status) => strategy::update_status(kind, new, old),
            Some(Subresource::Finalize) => Ok(strategy::finalize_namespace(&new, old)),
            _ => strategy::update(kind, new, old, &self.rules, now),
        }
    }
}

/// Refuses a change of another object or another version than the one that is there.
fn check_version(
    object: &ObjectRef,
    new: &Value,
    old: &Value,
    entry: &Entry,
) -> Result<(), Status> {
    let view = object.place.view;
    let (wanted, found) = (text(new, "/metadata/uid"), text(old, "/metadata/uid"));
    if !wanted.is_empty() && wanted != found {
        let namespace = &object.place.namespace;
        return Err(Status::uid_mismatch(view.name(), namespace, &object.name, wanted, found));
    }
    let version = match text(new, "/metadata/resourceVersion") {
        "" => 0,
        version => strategy::parse_resource_version(version)?,
    };
    // No version, or zero, is whatever there is. A patch that says nothing of versions has the one
    // it was made from.
    if version == 0 || version == entry.modified {
        Ok(())
    } else {
        Err(Status::object_modified(view.name(), &object.name))
    }
}

/// Whether an object that is on its way out is held by nothing any more.
fn is_over(object: &Value) -> bool {
    let is_empty =
        |pointer: &str| object.pointer(pointer).and_then(Value::as_array).is_none_or(Vec::is_empty);
    let grace = object.pointer("/metadata/deletionGracePeriodSeconds").and_then(Value::as_i64);
    let is_namespace = ResourceKind::from_gvk(text(object, "/apiVersion"), text(object, "/kind"))
        == Some(ResourceKind::Namespace);
    object.pointer("/metadata/deletionTimestamp").is_some()
        && grace.unwrap_or(0) == 0
        && is_empty("/metadata/finalizers")
        && (!is_namespace || is_empty("/spec/finalizers"))
}
