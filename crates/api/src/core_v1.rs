//! The small kinds around the batch ones: Namespace, ConfigMap, Secret, ServiceAccount, Node.
//!
//! Slim on purpose: what servers and runners look at is named, the rest stays in `extra`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::meta::{Extra, ObjectMeta, StringMap};

/// A namespace.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Namespace {
    /// Group and version.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Metadata.
    pub metadata: ObjectMeta,
    /// What must happen before it goes.
    pub spec: NamespaceSpec,
    /// Whether it is on its way out.
    pub status: NamespaceStatus,
    /// Fields not named here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What must happen before a namespace goes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NamespaceSpec {
    /// `kubernetes` until its content is gone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub finalizers: Vec<String>,
}

/// Whether a namespace is on its way out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NamespaceStatus {
    /// `Active` or `Terminating`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub phase: String,
    /// Fields not named here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A config map.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ConfigMap {
    /// Group and version.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Metadata.
    pub metadata: ObjectMeta,
    /// Values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub data: StringMap,
    /// Values that are not text, in base64.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub binary_data: StringMap,
    /// Whether it may change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub immutable: Option<bool>,
    /// Fields not named here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A secret. Its `Debug` shows no values.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Secret {
    /// Group and version.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Metadata.
    pub metadata: ObjectMeta,
    /// Values, in base64.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub data: StringMap,
    /// What the values are for.
    #[serde(rename = "type", skip_serializing_if = "String::is_empty")]
    pub secret_type: String,
    /// Whether it may change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub immutable: Option<bool>,
    /// Fields not named here.
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

/// An account that Pods act as.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ServiceAccount {
    /// Group and version.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Metadata.
    pub metadata: ObjectMeta,
    /// Fields not named here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A machine.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Node {
    /// Group and version.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Metadata.
    pub metadata: ObjectMeta,
    /// What is wanted of it.
    pub spec: Extra,
    /// What was seen of it.
    pub status: Extra,
    /// Fields not named here.
    #[serde(flatten)]
    pub extra: Extra,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_never_shows_its_values() {
        let text = r#"{"metadata":{"name":"s"},"data":{"key":"aHVzaA=="}}"#;
        let secret: Secret = serde_json::from_str(text).unwrap();
        let shown = format!("{secret:?}");
        assert!(shown.contains("key") && !shown.contains("aHVzaA"), "{shown}");
    }
}
