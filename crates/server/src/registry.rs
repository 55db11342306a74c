//! The objects in the store: what may be done to them, and what then happens.
//!
//! Every write is decided on what the store holds now and committed under the condition that it
//! still holds it; where it does not, the write is decided again. What a write does to the object is
//! `punctual_api::strategy`'s business, what others may know of it `watch`'s and `list`'s.

mod create;
mod delete;
mod list;
mod update;
mod watch;

use std::sync::Arc;

use jiff::Timestamp;
use punctual_api::decode::UnknownFields;
use punctual_api::status::{StatusCause, StatusReason};
use punctual_api::strategy::ResourceKind;
use punctual_api::validate::ValidationOptions;
use punctual_api::{Dialect, Status, schema};
use punctual_store::{Condition, Error, Op, Store};
use serde_json::Value;

pub(crate) use self::delete::Deleted;
pub(crate) use self::list::Page;
pub(crate) use self::update::Change;
pub(crate) use self::watch::{Feed, Seen};
use crate::env::ServerEnv;
use crate::patch::{self, FieldManager};
use crate::resource::{NAMESPACES, Resource, Subresource, View};
use crate::stored::{Stored, to_served, to_stored};

/// The objects and the rules for them.
#[derive(Clone)]
pub(crate) struct Registry {
    pub(crate) store: Store,
    pub(crate) rules: ValidationOptions,
    pub(crate) env: Arc<dyn ServerEnv>,
    /// The node of Pods that name none.
    pub(crate) node: Option<String>,
}

/// Where an object is or will be.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) view: View,
    /// Empty where there is none.
    pub(crate) namespace: String,
}

/// An object by its name.
#[derive(Clone, Debug)]
pub(crate) struct ObjectRef {
    pub(crate) place: Place,
    pub(crate) name: String,
    pub(crate) below: Option<Subresource>,
}

/// Who writes, and whether it is meant.
#[derive(Clone, Debug, Default)]
pub(crate) struct WriteContext {
    pub(crate) manager: String,
    pub(crate) is_dry_run: bool,
}

/// What a write left behind.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub(crate) object: Stored,
    pub(crate) warnings: Vec<String>,
    pub(crate) is_new: bool,
}

impl Place {
    /// The key of an object here.
    pub(crate) fn key(&self, name: &str) -> String {
        format!("{}{name}", self.prefix())
    }

    /// What the keys of all objects here begin with.
    pub(crate) fn prefix(&self) -> String {
        match self.namespace.as_str() {
            "" => collection(self.view.resource),
            namespace => format!("{}{namespace}/", collection(self.view.resource)),
        }
    }
}

impl ObjectRef {
    pub(crate) fn key(&self) -> String {
        self.place.key(&self.name)
    }

    /// Somebody who writes this object.
    pub(crate) fn writer<'a>(
        &self,
        manager: &'a str,
        now: Timestamp,
    ) -> Result<FieldManager<'a>, Status> {
        let view = self.place.view;
        let shape = schema::find_kind(view.served.api_version, view.resource.kind)
            .ok_or_else(|| Status::internal("the kind has no schema"))?;
        let subresource = self.below.map_or("", Subresource::name);
        Ok(FieldManager { manager, api_version: view.served.api_version, subresource, shape, now })
    }

    pub(crate) fn not_found(&self) -> Status {
        Status::not_found(self.place.view.name(), &self.name)
    }
}

/// What the keys of a resource begin with.
pub(crate) fn collection(resource: &Resource) -> String {
    match resource.stored().group {
        "" => format!("/{}/", resource.plural),
        group => format!("/{}.{group}/", resource.plural),
    }
}

/// Tries before a write that loses every race is given back to its sender.
const TRIES_MAX: usize = 64;

impl Registry {
    /// One object.
    pub(crate) fn get(&self, object: &ObjectRef) -> Result<Stored, Status> {
        let entry = self.store.get(&object.key()).ok_or_else(|| object.not_found())?;
        Ok(Stored::of(object.place.view, &entry))
    }

    /// The strategy of a resource under the name it is written by.
    fn kind(&self, view: &View) -> Result<ResourceKind, Status> {
        ResourceKind::from_gvk(view.resource.stored().api_version, view.resource.kind)
            .ok_or_else(|| Status::internal("the kind has no strategy"))
    }

    /// Fields that nobody knows are kept, unless we are to be told from kube-apiserver by nothing.
    pub(crate) fn unknown_fields(&self) -> UnknownFields {
        match self.rules.dialect {
            Dialect::Punctual => UnknownFields::Keep,
            Dialect::Strict => UnknownFields::Drop,
        }
    }

    /// The condition that a namespace takes new objects, if there is one to ask.
    fn activate_namespace(&self, place: &Place, name: &str) -> Result<Option<Op>, Status> {
        if place.namespace.is_empty() {
            return Ok(None);
        }
        let key = namespace_key(&place.namespace);
        let missing = || Status::not_found(NAMESPACES_NAME, &place.namespace);
        let entry = self.store.get(&key).ok_or_else(missing)?;
        let namespace: Value = serde_json::from_slice(&entry.value).unwrap_or_default();
        if namespace.pointer("/status/phase").and_then(Value::as_str) == Some("Terminating") {
            return Err(terminating(place, name));
        }
        Ok(Some(Op::check(key, Condition::At(entry.modified))))
    }

    /// Writes down who wrote what. Managers are told by the fields they wrote, under the names they
    /// wrote them.
    fn track(
        &self,
        old: Option<&Value>,
        new: &mut Value,
        object: &ObjectRef,
        (context, now): (&WriteContext, Timestamp),
    ) -> Result<(), Status> {
        let view = &object.place.view;
        let writer = object.writer(&context.manager, now)?;
        to_served(new, view);
        patch::track_fields(old, new, &writer);
        to_stored(new, view);
        Ok(())
    }
}

const NAMESPACES_NAME: punctual_api::status::GroupResource<'static> =
    punctual_api::status::GroupResource { group: "", name: "namespaces" };

fn namespace_key(name: &str) -> String {
    format!("{}{name}", collection(&NAMESPACES))
}

fn terminating(place: &Place, name: &str) -> Status {
    let namespace = &place.namespace;
    let why = format!(
        "unable to create new content in namespace {namespace} because it is being terminated"
    );
    let mut status = Status::forbidden(place.view.name(), name, &why);
    if let Some(details) = &mut status.details {
        details.causes.push(StatusCause {
            reason: "NamespaceTerminating".to_owned(),
            message: format!("namespace {namespace} is being terminated"),
            field: "metadata.namespace".to_owned(),
        });
    }
    status
}

/// What a client is told about a store that cannot do what it should.
pub(crate) fn store_failed(error: &Error) -> Status {
    match error {
        Error::Busy => Status::too_many_requests("too many writes are waiting", 1),
        Error::Invalid(why) => Status::failure(StatusReason::RequestEntityTooLarge, why.clone()),
        Error::Closed => {
            Status::failure(StatusReason::ServiceUnavailable, "the server is shutting down")
        }
        other => {
            tracing::error!(error = %chain(other), "the store failed");
            Status::failure(StatusReason::ServiceUnavailable, format!("the store failed: {other}"))
        }
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
