//! Updates existing objects, for updates and patches, and computes an update again if the object
//! changed meanwhile.

use std::borrow::Cow;

use jiff::Timestamp;
use punctual_api::status::{Status, StatusReason};
use punctual_api::write_rules::{self, AdmittedObject, ResourceKind};
use punctual_store::{Error, Op, Precondition, StoreEntry, Transaction};
use serde_json::Value;

use super::create::FieldTracking;
use super::{
    ATTEMPTS_MAX, ObjectRef, Registry, WriteContext, WriteResult, store_error, text, track_fields,
};
use crate::ledger;
use crate::patch;
use crate::resource::Subresource;
use crate::stored::{StoredObject, convert_to_stored, encode};

/// How a request changes an object.
pub(crate) trait ObjectUpdate: Sync {
    /// Returns the changed object and warnings. `old` is `None` if the object does not exist. Both
    /// objects are in the API version of the request. Must not have side effects, since it is
    /// called again after a conflict.
    fn apply(&self, old: Option<&Value>, now: Timestamp) -> Result<(Value, Vec<String>), Status>;

    /// Whether the request creates an object that does not exist.
    fn allows_create(&self) -> bool {
        false
    }

    /// Whether [`ObjectUpdate::apply`] sets `managedFields` itself.
    fn sets_managed_fields(&self) -> bool {
        false
    }
}

impl Registry {
    /// Updates an object. Retries if other clients change it at the same time.
    pub(crate) async fn update(
        &self,
        object: &ObjectRef,
        update: &dyn ObjectUpdate,
        context: &WriteContext,
    ) -> Result<WriteResult, Status> {
        for _ in 0..ATTEMPTS_MAX {
            let result = match self.store.get(&object.key()) {
                Some(entry) => self.try_update(object, update, context, &entry).await?,
                None if update.allows_create() => {
                    let (new, _) = update.apply(None, self.env.now())?;
                    let tracking = if update.sets_managed_fields() {
                        FieldTracking::SetByApply
                    } else {
                        FieldTracking::TrackCreate
                    };
                    match self.create_tracked(&object.collection, new, context, tracking).await {
                        Err(status) if status.reason == StatusReason::AlreadyExists => None,
                        result => return result,
                    }
                }
                None => return Err(object.not_found()),
            };
            if let Some(result) = result {
                return Ok(result);
            }
        }
        Err(Status::object_modified(object.collection.served.group_resource(), &object.name))
    }

    /// Tries to update an object. Returns `None` if it has changed meanwhile.
    async fn try_update(
        &self,
        object: &ObjectRef,
        update: &dyn ObjectUpdate,
        context: &WriteContext,
        entry: &StoreEntry,
    ) -> Result<Option<WriteResult>, Status> {
        let now = self.env.now();
        let current = StoredObject::from_entry(object.collection.served, entry);
        let old = current.to_json()?;
        let old_served = if object.collection.served.is_storage_version() {
            Cow::Borrowed(&old)
        } else {
            Cow::Owned(current.to_served_json()?)
        };
        let (mut new, field_warnings) = update.apply(Some(&old_served), now)?;
        write_rules::check_name(&new, &object.name)?;
        write_rules::check_namespace(&new, &object.collection.namespace)?;
        convert_to_stored(&mut new, &object.collection.served);
        check_version(object, &new, &old, entry)?;
        let mut admitted = self.admit_update(object, new, &old, now)?;
        let served = &object.collection.served;
        let mut archive_ops = ledger::settle_update(served, entry, &old, &mut admitted.object)?;
        if !update.sets_managed_fields() {
            let manager = object.field_manager(&context.manager, now)?;
            track_fields(Some(&old_served), &mut admitted.object, served, &manager);
        }
        let kind = self.resource_kind(&object.collection.served)?;
        write_rules::update_schedule_annotation(
            kind,
            &mut admitted.object,
            &old,
            &self.validation,
            now,
        );
        patch::restore_unchanged_times(&old, &mut admitted.object);
        let value = encode(&admitted.object, object.collection.served.resource);
        let warnings = field_warnings.into_iter().chain(admitted.warnings).collect();
        let result = |value, revision| {
            let object = StoredObject { served: object.collection.served, value, revision };
            WriteResult { object, warnings, is_new: false }
        };
        let is_deleted = is_deletion_complete(&admitted.object);
        let is_unchanged = value == entry.value && !is_deleted && archive_ops.is_empty();
        if is_unchanged || context.is_dry_run {
            return Ok(Some(result(value, entry.modified)));
        }
        let key = object.key();
        let op = if is_deleted {
            archive_ops.extend(self.settle_deletion(object, &admitted.object, entry));
            Op::delete(key, Precondition::At(entry.modified))
        } else {
            Op::update(key, value.clone(), entry.modified)
        };
        let grown = ledger::archived_owner(&archive_ops);
        match self.store.write(Transaction::from(op).with_archive(archive_ops)).await {
            Ok(committed) => {
                self.note_commit(object, is_deleted, grown);
                let revision = if is_deleted { entry.modified } else { committed.revision };
                Ok(Some(result(value, revision)))
            }
            Err(Error::Conflict(_)) => Ok(None),
            Err(other) => Err(store_error(&other)),
        }
    }

    fn admit_update(
        &self,
        object: &ObjectRef,
        new: Value,
        old: &Value,
        now: Timestamp,
    ) -> Result<AdmittedObject, Status> {
        let kind = self.resource_kind(&object.collection.served)?;
        match object.subresource {
            Some(Subresource::Status) => write_rules::update_status(kind, new, old),
            Some(Subresource::Finalize) => Ok(write_rules::finalize_namespace(&new, old)),
            _ => write_rules::update(kind, new, old, &self.validation, now),
        }
    }
}

/// Checks the UID and the resource version in the request against the stored object.
fn check_version(
    object: &ObjectRef,
    new: &Value,
    old: &Value,
    entry: &StoreEntry,
) -> Result<(), Status> {
    let served = object.collection.served;
    let wanted = text(new, "/metadata/uid");
    let found = text(old, "/metadata/uid");
    if !wanted.is_empty() && wanted != found {
        let namespace = &object.collection.namespace;
        return Err(Status::uid_mismatch(
            served.group_resource(),
            namespace,
            &object.name,
            wanted,
            found,
        ));
    }
    let version = match text(new, "/metadata/resourceVersion") {
        "" => 0,
        version => write_rules::parse_resource_version(version)?,
    };
    // Without a version, or with version zero, the update applies to any version. A patch without a
    // version keeps the version of the object it was applied to.
    if version == 0 || version == entry.modified {
        Ok(())
    } else {
        Err(Status::object_modified(served.group_resource(), &object.name))
    }
}

/// Whether a terminating object has neither finalizers nor a grace period left.
fn is_deletion_complete(object: &Value) -> bool {
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
