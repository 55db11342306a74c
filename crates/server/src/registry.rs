//! Reads and writes objects in the store.
//!
//! Every write uses optimistic concurrency: it is computed from the stored object and committed on
//! the condition that the object has not changed. If it has changed, the write is computed again.
//! `punctual_api::write_rules` decides what a write may change.

mod create;
mod delete;
mod list;
mod update;
mod watch;

use std::sync::Arc;

use jiff::Timestamp;
use punctual_api::decode::UnknownFields;
use punctual_api::status::{GroupResource, StatusCause, StatusReason};
use punctual_api::validate::ValidationOptions;
use punctual_api::write_rules::ResourceKind;
use punctual_api::{Dialect, Status, schema};
use punctual_store::{Error, Op, Precondition, Store};
use serde_json::Value;

pub(crate) use self::delete::DeleteResult;
pub(crate) use self::list::{ListMetadata, ListPage, too_large};
pub(crate) use self::update::ObjectUpdate;
pub(crate) use self::watch::{ObjectWatch, WatchEvent, watch_error};
use crate::env::ServerEnv;
use crate::ledger::Ledger;
use crate::patch::{self, FieldManager};
use crate::quota::UsageTracker;
use crate::resource::{NAMESPACES, Resource, ServedResource, Subresource};
use crate::stored::{StoredObject, convert_to_served, convert_to_stored};

/// The stored objects and the rules that writes must obey.
#[derive(Clone)]
pub(crate) struct Registry {
    pub(crate) store: Store,
    pub(crate) validation: ValidationOptions,
    pub(crate) env: Arc<dyn ServerEnv>,
    /// The node to which Pods without a `nodeName` are assigned, if any.
    pub(crate) node: Option<String>,
    /// Counts objects for the quotas.
    pub(crate) usage: Arc<UsageTracker>,
    pub(crate) ledger: Arc<Ledger>,
}

/// A collection of objects: a resource, in one namespace or at the cluster scope.
#[derive(Clone, Debug)]
pub(crate) struct CollectionRef {
    pub(crate) served: ServedResource,
    /// The namespace; empty for cluster-scoped resources and for lists over all namespaces.
    pub(crate) namespace: String,
}

/// An object, or a subresource of it.
#[derive(Clone, Debug)]
pub(crate) struct ObjectRef {
    pub(crate) collection: CollectionRef,
    pub(crate) name: String,
    pub(crate) subresource: Option<Subresource>,
}

/// Attributes of a write request that apply to all kinds.
#[derive(Clone, Debug, Default)]
pub(crate) struct WriteContext {
    pub(crate) manager: String,
    pub(crate) is_dry_run: bool,
}

/// The outcome of a create or an update.
#[derive(Clone, Debug)]
pub(crate) struct WriteResult {
    pub(crate) object: StoredObject,
    /// Warnings for the client.
    pub(crate) warnings: Vec<String>,
    pub(crate) is_new: bool,
}

impl CollectionRef {
    /// Returns the store key of an object in this collection.
    pub(crate) fn key(&self, name: &str) -> String {
        format!("{}{name}", self.prefix())
    }

    /// Returns the common prefix of the store keys of this collection.
    pub(crate) fn prefix(&self) -> String {
        match self.namespace.as_str() {
            "" => resource_prefix(self.served.resource),
            namespace => format!("{}{namespace}/", resource_prefix(self.served.resource)),
        }
    }
}

impl ObjectRef {
    pub(crate) fn key(&self) -> String {
        self.collection.key(&self.name)
    }

    /// Returns the field manager of a write to this object.
    pub(crate) fn field_manager<'a>(
        &self,
        manager: &'a str,
        now: Timestamp,
    ) -> Result<FieldManager<'a>, Status> {
        let served = self.collection.served;
        let schema = schema::find_kind(served.group_version.api_version, served.resource.kind)
            .ok_or_else(|| Status::internal("the kind has no schema"))?;
        let subresource = self.subresource.map_or("", Subresource::name);
        Ok(FieldManager {
            name: manager,
            api_version: served.group_version.api_version,
            subresource,
            schema,
            now,
        })
    }

    pub(crate) fn not_found(&self) -> Status {
        Status::not_found(self.collection.served.group_resource(), &self.name)
    }
}

/// Returns the common prefix of the store keys of a resource.
pub(crate) fn resource_prefix(resource: &Resource) -> String {
    match resource.storage_version().group {
        "" => format!("/{}/", resource.plural),
        group => format!("/{}.{group}/", resource.plural),
    }
}

/// How often a write is tried before it fails because other writers always come first.
const ATTEMPTS_MAX: usize = 64;

impl Registry {
    /// Returns one object.
    pub(crate) fn get(&self, object: &ObjectRef) -> Result<StoredObject, Status> {
        let entry = self.store.get(&object.key()).ok_or_else(|| object.not_found())?;
        Ok(StoredObject::from_entry(object.collection.served, &entry))
    }

    /// Returns the kind whose write rules apply to a resource.
    fn resource_kind(&self, served: &ServedResource) -> Result<ResourceKind, Status> {
        ResourceKind::from_gvk(served.resource.storage_version().api_version, served.resource.kind)
            .ok_or_else(|| Status::internal("the kind has no write rules"))
    }

    /// Keeps unknown fields unless the dialect is strict.
    pub(crate) fn unknown_fields(&self) -> UnknownFields {
        match self.validation.dialect {
            Dialect::Punctual => UnknownFields::Keep,
            Dialect::Kubernetes => UnknownFields::Drop,
        }
    }

    /// Checks that the namespace of a new object exists and is not terminating. Returns a
    /// precondition that makes the commit fail if the namespace has changed meanwhile.
    fn check_namespace_active(
        &self,
        collection: &CollectionRef,
        name: &str,
    ) -> Result<Option<Op>, Status> {
        if collection.namespace.is_empty() {
            return Ok(None);
        }
        let key = namespace_key(&collection.namespace);
        let missing = || Status::not_found(NAMESPACES_NAME, &collection.namespace);
        let entry = self.store.get(&key).ok_or_else(missing)?;
        let namespace: Value = serde_json::from_slice(&entry.value).unwrap_or_default();
        if namespace.pointer("/status/phase").and_then(Value::as_str) == Some("Terminating") {
            return Err(terminating(collection, name));
        }
        Ok(Some(Op::check(key, Precondition::At(entry.modified))))
    }
}

/// Records in `managedFields` which fields a write changed. Ownership is recorded in the API version
/// of the request.
fn track_fields(
    old: Option<&Value>,
    new: &mut Value,
    served: &ServedResource,
    manager: &FieldManager<'_>,
) {
    convert_to_served(new, served);
    patch::track_fields(old, new, manager);
    convert_to_stored(new, served);
}

const NAMESPACES_NAME: GroupResource<'static> = GroupResource { group: "", name: "namespaces" };

fn namespace_key(name: &str) -> String {
    format!("{}{name}", resource_prefix(&NAMESPACES))
}

fn terminating(collection: &CollectionRef, name: &str) -> Status {
    let namespace = &collection.namespace;
    let why = format!(
        "unable to create new content in namespace {namespace} because it is being terminated"
    );
    let mut status = Status::forbidden(collection.served.group_resource(), name, &why);
    if let Some(details) = &mut status.details {
        details.causes.push(StatusCause {
            reason: "NamespaceTerminating".to_owned(),
            message: format!("namespace {namespace} is being terminated"),
            field: "metadata.namespace".to_owned(),
        });
    }
    status
}

/// Converts an error of the store to a response.
pub(crate) fn store_error(error: &Error) -> Status {
    match error {
        Error::QueueFull => Status::too_many_requests("too many writes are waiting", 1),
        Error::InvalidTransaction(why) => {
            Status::failure(StatusReason::RequestEntityTooLarge, why.clone())
        }
        Error::Closed => {
            Status::failure(StatusReason::ServiceUnavailable, "the server is shutting down")
        }
        other => {
            tracing::error!(error = %error_chain(other), "the store failed; writes are refused");
            Status::failure(StatusReason::ServiceUnavailable, format!("the store failed: {other}"))
        }
    }
}

/// Joins an error and its sources to one text.
fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

/// Returns the text at a JSON pointer, or an empty text.
fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
