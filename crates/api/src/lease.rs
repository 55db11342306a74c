//! The Lease (`coordination.k8s.io/v1`), the object with which processes elect a leader.

use serde::{Deserialize, Serialize};

use crate::meta::{Extra, ObjectMeta};
use crate::time::MicroTime;

/// A Lease.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Lease {
    /// The API group and version.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The object metadata.
    pub metadata: ObjectMeta,
    /// The desired state.
    pub spec: LeaseSpec,
    /// Undeclared fields, preserved as received.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The holder of a Lease and its term.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LeaseSpec {
    /// The identity of the holder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder_identity: Option<String>,
    /// How many seconds other candidates wait after the last renewal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_duration_seconds: Option<i32>,
    /// When the holder acquired the Lease.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acquire_time: Option<MicroTime>,
    /// When the holder last renewed the Lease.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renew_time: Option<MicroTime>,
    /// How many times the holder changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_transitions: Option<i32>,
    /// Undeclared fields, preserved as received.
    #[serde(flatten)]
    pub extra: Extra,
}
