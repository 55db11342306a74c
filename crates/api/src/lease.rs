//! Leases: who leads (`coordination.k8s.io/v1`).

use serde::{Deserialize, Serialize};

use crate::meta::{Extra, ObjectMeta};
use crate::time::MicroTime;

/// A lease.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Lease {
    /// Group and version.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Metadata.
    pub metadata: ObjectMeta,
    /// Who holds it.
    pub spec: LeaseSpec,
    /// Fields not named here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Who holds a lease.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LeaseSpec {
    /// The holder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder_identity: Option<String>,
    /// How long others must wait after the last renewal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_duration_seconds: Option<i32>,
    /// Since when the holder holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acquire_time: Option<MicroTime>,
    /// When the holder last renewed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renew_time: Option<MicroTime>,
    /// How often the holder changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_transitions: Option<i32>,
    /// Fields not named here.
    #[serde(flatten)]
    pub extra: Extra,
}
