//! Core `v1` kinds that CronJobs and Jobs depend on: Namespace, ConfigMap, Secret, ServiceAccount,
//! Node, ResourceQuota.
//!
//! The types declare only the fields that servers and runners read; all other fields stay in
//! `extra`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::meta::{Extra, ObjectMeta, StringMap};
use crate::pod::container::ResourceList;

/// A Namespace.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Namespace {
    /// The API group and version.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The object metadata.
    pub metadata: ObjectMeta,
    /// The desired state.
    pub spec: NamespaceSpec,
    /// The observed state.
    pub status: NamespaceStatus,
    /// Undeclared fields, preserved as received.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The desired state of a Namespace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NamespaceSpec {
    /// Finalizers; `kubernetes` blocks deletion until the namespace is empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub finalizers: Vec<String>,
}

/// The observed state of a Namespace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NamespaceStatus {
    /// `Active` or `Terminating`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub phase: String,
    /// Undeclared fields, preserved as received.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A ConfigMap.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ConfigMap {
    /// The API group and version.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The object metadata.
    pub metadata: ObjectMeta,
    /// The text values by key.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub data: StringMap,
    /// The binary values by key, in base64.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub binary_data: StringMap,
    /// Whether updates of the data are rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub immutable: Option<bool>,
    /// Undeclared fields, preserved as received.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A Secret. Its `Debug` output omits the values.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Secret {
    /// The API group and version.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The object metadata.
    pub metadata: ObjectMeta,
    /// The values by key, in base64.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub data: StringMap,
    /// The type, such as `Opaque` or `kubernetes.io/tls`.
    #[serde(rename = "type", skip_serializing_if = "String::is_empty")]
    pub secret_type: String,
    /// Whether updates of the data are rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub immutable: Option<bool>,
    /// Undeclared fields, preserved as received.
    #[serde(flatten)]
    pub extra: Extra,
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secret")
            .field("name", &self.metadata.name)
            .field("keys", &self.data.keys())
            .finish_non_exhaustive()
    }
}

/// A ServiceAccount.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ServiceAccount {
    /// The API group and version.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The object metadata.
    pub metadata: ObjectMeta,
    /// Undeclared fields, preserved as received.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A Node.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Node {
    /// The API group and version.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The object metadata.
    pub metadata: ObjectMeta,
    /// The desired state.
    pub spec: Extra,
    /// The observed state.
    pub status: Extra,
    /// Undeclared fields, preserved as received.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A ResourceQuota.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceQuota {
    /// The API group and version.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The object metadata.
    pub metadata: ObjectMeta,
    /// The limits.
    pub spec: ResourceQuotaSpec,
    /// The enforced limits and the current usage.
    pub status: ResourceQuotaStatus,
    /// Undeclared fields, preserved as received.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The limits of a ResourceQuota.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceQuotaSpec {
    /// The limit of each resource. See [`CountedObjects`](crate::quota::CountedObjects).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub hard: ResourceList,
    /// The scopes, which are not supported.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// The scope selector, which is not supported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope_selector: Option<Extra>,
    /// Undeclared fields, preserved as received.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The usage of a ResourceQuota.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ResourceQuotaStatus {
    /// The limits that are enforced.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub hard: ResourceList,
    /// The number of objects that count towards each limit.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub used: ResourceList,
    /// Undeclared fields, preserved as received.
    #[serde(flatten)]
    pub extra: Extra,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_debug_output_of_a_secret_omits_its_values() {
        let text = r#"{"metadata":{"name":"s"},"data":{"key":"aHVzaA=="}}"#;
        let secret: Secret = serde_json::from_str(text).unwrap();
        let shown = format!("{secret:?}");
        assert!(shown.contains("key") && !shown.contains("aHVzaA"), "{shown}");
    }
}
