//! The Event (core `v1`, also served as `events.k8s.io/v1`).

mod pending_event;

use serde::{Deserialize, Serialize};

use crate::meta::{Extra, ObjectMeta, ObjectReference, is_zero};
use crate::time::{MicroTime, Time};

pub use self::pending_event::{EventType, PendingEvent};

/// An Event.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Event {
    /// The API group and version.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The object metadata.
    pub metadata: ObjectMeta,
    /// The object that the event is about.
    pub involved_object: ObjectReference,
    /// Machine-readable reason in CamelCase.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Human-readable message.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The component that reports the event.
    pub source: EventSource,
    /// When the event first occurred.
    pub first_timestamp: Option<Time>,
    /// When the event last occurred.
    pub last_timestamp: Option<Time>,
    /// How many times the event occurred.
    #[serde(skip_serializing_if = "is_zero")]
    pub count: i32,
    /// `Normal` or `Warning`.
    #[serde(rename = "type", skip_serializing_if = "String::is_empty")]
    pub event_type: String,
    /// When the event occurred, set by reporters that use `events.k8s.io/v1`.
    pub event_time: Option<MicroTime>,
    /// The reporting controller, set by reporters that use `events.k8s.io/v1`.
    pub reporting_component: String,
    /// The instance of the reporting controller.
    pub reporting_instance: String,
    /// Undeclared fields, preserved as received.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The component that reports an event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EventSource {
    /// The name of the component.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub component: String,
    /// The node on which the component runs.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub host: String,
}
