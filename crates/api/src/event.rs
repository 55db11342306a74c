//! Events: what happened to an object, for people (core `v1`, also served as `events.k8s.io/v1`).

mod pending_event;

use serde::{Deserialize, Serialize};

use crate::meta::{Extra, ObjectMeta, ObjectReference, is_zero};
use crate::time::{MicroTime, Time};

pub use self::pending_event::{EventType, PendingEvent};

/// An event.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Event {
    /// Group and version.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Metadata.
    pub metadata: ObjectMeta,
    /// The object it happened to.
    pub involved_object: ObjectReference,
    /// One word for programs.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// A sentence for people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Who reports it.
    pub source: EventSource,
    /// When it first happened.
    pub first_timestamp: Option<Time>,
    /// When it last happened.
    pub last_timestamp: Option<Time>,
    /// How often it happened.
    #[serde(skip_serializing_if = "is_zero")]
    pub count: i32,
    /// `Normal` or `Warning`.
    #[serde(rename = "type", skip_serializing_if = "String::is_empty")]
    pub event_type: String,
    /// When it happened, for reporters of the newer kind.
    pub event_time: Option<MicroTime>,
    /// Who reports it, for reporters of the newer kind.
    pub reporting_component: String,
    /// Which of them.
    pub reporting_instance: String,
    /// Fields not named here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Who reports an event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EventSource {
    /// The program.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub component: String,
    /// The machine.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub host: String,
}
