//! Deletion of objects: immediately, after a grace period, or after the last finalizer is removed.

use jiff::{SignedDuration, Timestamp};
use punctual_api::pod::status::phase;
use punctual_api::status::{GroupResource, StatusDetails};
use punctual_api::well_known::finalizers;
use punctual_api::{Status, Time};
use punctual_store::{ArchiveOp, Error, Op, Precondition, StoreEntry, Transaction};
use serde_json::{Map, Value};

use super::{ATTEMPTS_MAX, CollectionRef, ObjectRef, Registry, store_error, text};
use crate::ledger::{self, OwnerId};
use crate::request::{DeleteOptions, Propagation};
use crate::resource::{
    CRON_JOBS, EVENT_RESOURCE, JOBS, NAMESPACES, PODS, RESOURCE_QUOTAS, SERVICE_ACCOUNTS,
    ServedResource,
};
use crate::selector::Selector;
use crate::stored::{StoredObject, encode};

/// Namespaces that cannot be deleted.
const PROTECTED_NAMESPACES: [&str; 3] = ["default", "kube-public", "kube-system"];

/// The outcome of a delete.
#[derive(Clone, Debug)]
pub(crate) enum DeleteResult {
    /// The object is deleted; the response is a status.
    Status(Box<Status>),
    /// The object is either deleted, and its kind returns the last state, or marked as terminating.
    Object(StoredObject),
}

impl Registry {
    /// Deletes an object, or marks it as terminating if it has finalizers or a grace period.
    pub(crate) async fn delete(
        &self,
        object: &ObjectRef,
        options: &DeleteOptions,
    ) -> Result<DeleteResult, Status> {
        let served = object.collection.served;
        if served.resource == &NAMESPACES && PROTECTED_NAMESPACES.contains(&object.name.as_str()) {
            let why = "this namespace may not be deleted";
            return Err(Status::forbidden(served.group_resource(), &object.name, why));
        }
        for _ in 0..ATTEMPTS_MAX {
            let entry = self.store.get(&object.key()).ok_or_else(|| object.not_found())?;
            if let Some(deleted) = self.try_delete(object, options, &entry).await? {
                return Ok(deleted);
            }
        }
        Err(Status::object_modified(object.collection.served.group_resource(), &object.name))
    }

    /// Deletes the selected objects of a collection. Returns their last states and the store's
    /// revision.
    pub(crate) async fn delete_collection(
        &self,
        collection: &CollectionRef,
        selector: &Selector,
        options: &DeleteOptions,
    ) -> Result<(Vec<StoredObject>, u64), Status> {
        let snapshot = self.store.snapshot();
        let mut deleted = Vec::new();
        for (key, entry) in snapshot.prefix(&collection.prefix()) {
            let stored = StoredObject::from_entry(collection.served, entry);
            let tree = stored.to_json()?;
            if !selector.matches(&tree) {
                continue;
            }
            let namespace = text(&tree, "/metadata/namespace").to_owned();
            let object = ObjectRef {
                collection: CollectionRef { served: collection.served, namespace },
                name: key.rsplit('/').next().unwrap_or_default().to_owned(),
                subresource: None,
            };
            match self.delete(&object, options).await {
                Ok(_) => deleted.push(stored),
                // Another client has deleted it meanwhile.
                Err(status) if status.code == 404 => {}
                Err(status) => return Err(status),
            }
        }
        Ok((deleted, self.store.revision()))
    }

    /// Tries to delete an object. Returns `None` if it has changed meanwhile.
    async fn try_delete(
        &self,
        object: &ObjectRef,
        options: &DeleteOptions,
        entry: &StoreEntry,
    ) -> Result<Option<DeleteResult>, Status> {
        let current = StoredObject::from_entry(object.collection.served, entry);
        let old = current.to_json()?;
        check_preconditions(object, options, &old, entry)?;
        let served = object.collection.served;
        let deletion = PendingDeletion::new(&served, &old, options, self.env.now());
        let condition = Precondition::At(entry.modified);
        let is_deleted = deletion.is_none();
        let archive_ops =
            if is_deleted { self.settle_deletion(object, &old, entry) } else { Vec::new() };
        let (op, result) = match deletion {
            None => (Op::delete(object.key(), condition), deleted(object, &old, current)),
            Some(deletion) => {
                let value = encode(&deletion.mark(&served, &old), served.resource);
                if value == entry.value {
                    return Ok(Some(DeleteResult::Object(current)));
                }
                let marked = StoredObject { value: value.clone(), ..current };
                (Op::put(object.key(), value, condition), DeleteResult::Object(marked))
            }
        };
        if options.is_dry_run {
            return Ok(Some(result));
        }
        let grown = ledger::archived_owner(&archive_ops);
        match self.store.write(Transaction::from(op).with_archive(archive_ops)).await {
            Ok(committed) => {
                self.note_commit(object, is_deleted, grown);
                Ok(Some(result.with_revision(committed.revision)))
            }
            Err(Error::Conflict(_)) => Ok(None),
            Err(other) => Err(store_error(&other)),
        }
    }
}

impl Registry {
    /// Returns what the final deletion of an object changes in the slot ledger: the records of a CronJob
    /// outlive it, and those of a namespace do not.
    pub(super) fn settle_deletion(
        &self,
        object: &ObjectRef,
        last: &Value,
        entry: &StoreEntry,
    ) -> Vec<ArchiveOp> {
        let served = &object.collection.served;
        if served.resource == &NAMESPACES {
            return ledger::settle_namespace_deletion(&object.name, self.store.revision());
        }
        ledger::settle_deletion(served, entry, last)
    }

    /// Tells the ledger what a write has committed: a CronJob with newly archived records, or the deletion
    /// of a namespace.
    pub(super) fn note_commit(&self, object: &ObjectRef, is_deleted: bool, grown: Option<OwnerId>) {
        if let Some(owner) = grown {
            self.ledger.record_growth(owner);
        }
        if is_deleted && object.collection.served.resource == &NAMESPACES {
            self.ledger.note_namespace_deletion();
        }
    }
}

impl DeleteResult {
    fn with_revision(self, revision: u64) -> DeleteResult {
        match self {
            DeleteResult::Object(stored) => {
                DeleteResult::Object(StoredObject { revision, ..stored })
            }
            status => status,
        }
    }
}

/// Returns the result for an object that is deleted at once: some kinds return their last state.
fn deleted(object: &ObjectRef, old: &Value, last: StoredObject) -> DeleteResult {
    let served = object.collection.served;
    let returns_object = [&PODS, &RESOURCE_QUOTAS, &SERVICE_ACCOUNTS, &NAMESPACES];
    if returns_object.contains(&served.resource) {
        return DeleteResult::Object(last);
    }
    DeleteResult::Status(Box::new(Status::success(StatusDetails {
        name: object.name.clone(),
        group: served.group_version.group.to_owned(),
        kind: served.resource.plural.to_owned(),
        uid: text(old, "/metadata/uid").to_owned(),
        ..StatusDetails::default()
    })))
}

/// Checks the UID and resource version that the client expects.
fn check_preconditions(
    object: &ObjectRef,
    options: &DeleteOptions,
    old: &Value,
    entry: &StoreEntry,
) -> Result<(), Status> {
    let served = object.collection.served;
    let group_kind = served.group_kind();
    let kind = GroupResource { group: group_kind.group, name: group_kind.kind };
    let found = text(old, "/metadata/uid");
    let conflict = |what: &str, wanted: &str, found: &str| {
        let why = format!(
            "the {what} in the precondition ({wanted}) does not match the {what} in record \
             ({found}). The object might have been {}",
            if what == "UID" { "deleted and then recreated" } else { "modified" }
        );
        Status::conflict(kind, &object.name, &why)
    };
    if let Some(wanted) = options.uid.as_deref().filter(|wanted| *wanted != found) {
        return Err(conflict("UID", wanted, found));
    }
    let found = entry.modified.to_string();
    match options.version.as_deref().filter(|wanted| *wanted != found) {
        Some(wanted) => Err(conflict("ResourceVersion", wanted, &found)),
        None => Ok(()),
    }
}

/// A deletion that waits for finalizers or for the end of a grace period.
struct PendingDeletion {
    finalizers: Vec<String>,
    grace_seconds: i64,
    deleted_at: Timestamp,
}

impl PendingDeletion {
    /// Returns the pending deletion of an object, or `None` if the object is deleted at once.
    fn new(
        served: &ServedResource,
        old: &Value,
        options: &DeleteOptions,
        now: Timestamp,
    ) -> Option<PendingDeletion> {
        let finalizers = remaining_finalizers(served, old, options);
        let is_terminating = old.pointer("/metadata/deletionTimestamp").is_some();
        let before = old.pointer("/metadata/deletionGracePeriodSeconds").and_then(Value::as_i64);
        let requested = grace_seconds(served, old, options);
        // A second delete can shorten the grace period but not extend it.
        let grace_seconds = if !is_terminating {
            requested
        } else if options.grace_seconds.is_none() {
            before.unwrap_or(0)
        } else {
            requested.min(before.unwrap_or(0))
        };
        let has_spec_finalizers = served.resource == &NAMESPACES
            && old
                .pointer("/spec/finalizers")
                .and_then(Value::as_array)
                .is_some_and(|f| !f.is_empty());
        let is_pending = !finalizers.is_empty() || grace_seconds > 0 || has_spec_finalizers;
        let deleted_at =
            now.saturating_add(SignedDuration::from_secs(grace_seconds)).unwrap_or(now);
        is_pending.then_some(PendingDeletion { finalizers, grace_seconds, deleted_at })
    }

    /// Returns the object marked as terminating.
    fn mark(&self, served: &ServedResource, old: &Value) -> Value {
        let mut object = old.clone();
        if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
            self.mark_metadata(served, metadata);
        }
        if served.resource == &NAMESPACES
            && let Some(Value::Object(status)) = object.get_mut("status")
        {
            status.insert("phase".to_owned(), "Terminating".into());
        }
        object
    }

    fn mark_metadata(&self, served: &ServedResource, metadata: &mut Map<String, Value>) {
        let is_new = !metadata.contains_key("deletionTimestamp");
        let before = metadata.get("deletionGracePeriodSeconds").and_then(Value::as_i64);
        if is_new || before != Some(self.grace_seconds) && served.resource != &NAMESPACES {
            let deletion_time = Time::new(self.deleted_at).to_string();
            metadata.insert("deletionTimestamp".to_owned(), deletion_time.into());
            if served.resource != &NAMESPACES {
                let grace = self.grace_seconds.into();
                metadata.insert("deletionGracePeriodSeconds".to_owned(), grace);
            }
        }
        let generation = metadata.get("generation").and_then(Value::as_i64);
        if let Some(generation) = generation
            && is_new
        {
            metadata.insert("generation".to_owned(), (generation + 1).into());
        }
        if self.finalizers.is_empty() {
            metadata.remove("finalizers");
        } else {
            metadata.insert("finalizers".to_owned(), self.finalizers.clone().into());
        }
    }
}

/// Returns the finalizers of an object after a delete request.
fn remaining_finalizers(
    served: &ServedResource,
    old: &Value,
    options: &DeleteOptions,
) -> Vec<String> {
    let old = old.pointer("/metadata/finalizers").and_then(Value::as_array);
    let old: Vec<&str> = old.into_iter().flatten().filter_map(Value::as_str).collect();
    let is_propagation =
        |name: &&str| [finalizers::ORPHAN, finalizers::FOREGROUND_DELETION].contains(name);
    let chosen = match options.propagation {
        _ if served.resource == &EVENT_RESOURCE => None,
        Some(Propagation::Background) => None,
        Some(Propagation::Orphan) => Some(finalizers::ORPHAN),
        Some(Propagation::Foreground) => Some(finalizers::FOREGROUND_DELETION),
        None => old.iter().copied().find(is_propagation).or_else(|| default_propagation(served)),
    };
    let others = old.iter().copied().filter(|name| !is_propagation(name));
    others.chain(chosen).map(str::to_owned).collect()
}

/// Returns the propagation finalizer for a delete without a policy: Jobs orphan their Pods, as in
/// kube-apiserver.
fn default_propagation(served: &ServedResource) -> Option<&'static str> {
    let orphans = served.resource == &JOBS
        || (served.resource == &CRON_JOBS && served.group_version.version == "v1beta1");
    orphans.then_some(finalizers::ORPHAN)
}

/// Returns the grace period of a deletion. Only Pods that may be running have one.
fn grace_seconds(served: &ServedResource, old: &Value, options: &DeleteOptions) -> i64 {
    let is_finished = [phase::SUCCEEDED, phase::FAILED].contains(&text(old, "/status/phase"));
    if served.resource != &PODS || text(old, "/spec/nodeName").is_empty() || is_finished {
        return 0;
    }
    let own = old.pointer("/spec/terminationGracePeriodSeconds").and_then(Value::as_i64);
    match options.grace_seconds.or(own).unwrap_or(30) {
        seconds if seconds < 0 => 1,
        seconds => seconds,
    }
}
