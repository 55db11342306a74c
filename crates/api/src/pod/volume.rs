//! Volumes and volume mounts.
//!
//! The volume sources that a single node can provide are typed. All other sources (network and
//! cloud storage, projections) stay in `extra` under their names; validation counts them but does
//! not inspect them.

use serde::{Deserialize, Serialize};

use super::container::{ObjectFieldSelector, ResourceFieldSelector};
use super::is_false;
use crate::meta::Extra;
use crate::quantity::Quantity;

/// A volume: a name and exactly one source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Volume {
    /// The name, unique in the Pod.
    pub name: String,
    /// An empty directory that lives as long as the Pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub empty_dir: Option<EmptyDir>,
    /// A path on the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_path: Option<HostPath>,
    /// Files with the values of a Secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<SecretVolume>,
    /// Files with the values of a ConfigMap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_map: Option<ConfigMapVolume>,
    /// Files with fields of the Pod (downward API).
    #[serde(rename = "downwardAPI", skip_serializing_if = "Option::is_none")]
    pub downward_api: Option<DownwardApiVolume>,
    /// A PersistentVolumeClaim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persistent_volume_claim: Option<ClaimVolume>,
    /// The other sources, by name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// An empty directory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EmptyDir {
    /// The storage medium: `Memory`, or empty for the default.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub medium: String,
    /// The maximum size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_limit: Option<Quantity>,
    /// Undeclared fields, preserved as received.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A path on the node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostPath {
    /// The path.
    pub path: String,
    /// The required file type, such as `DirectoryOrCreate`.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub path_type: Option<String>,
}

/// Files with the values of a Secret.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SecretVolume {
    /// The name of the Secret.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub secret_name: String,
    /// The selected keys; all if empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<KeyToPath>,
    /// The default mode of the files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_mode: Option<i32>,
    /// Whether the object may be absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

/// Files with the values of a ConfigMap.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ConfigMapVolume {
    /// The name of the ConfigMap.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The selected keys; all if empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<KeyToPath>,
    /// The default mode of the files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_mode: Option<i32>,
    /// Whether the object may be absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

/// A key and the path of its file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct KeyToPath {
    /// The key.
    pub key: String,
    /// The path of the file, relative to the volume.
    pub path: String,
    /// The mode of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<i32>,
}

/// Files with fields of the Pod (downward API).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DownwardApiVolume {
    /// The files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<DownwardApiFile>,
    /// The default mode of the files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_mode: Option<i32>,
}

/// A file with a field of the Pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DownwardApiFile {
    /// The path of the file, relative to the volume.
    pub path: String,
    /// A field of the Pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field_ref: Option<ObjectFieldSelector>,
    /// A request or limit of a container.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_field_ref: Option<ResourceFieldSelector>,
    /// The mode of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<i32>,
}

/// A PersistentVolumeClaim.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClaimVolume {
    /// The name of the claim.
    pub claim_name: String,
    /// Whether the volume is mounted read-only.
    #[serde(skip_serializing_if = "is_false")]
    pub read_only: bool,
}

/// The mount of a volume in a container.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VolumeMount {
    /// The name of the volume.
    pub name: String,
    /// Whether the mount is read-only.
    #[serde(skip_serializing_if = "is_false")]
    pub read_only: bool,
    /// The path inside the container.
    pub mount_path: String,
    /// The path inside the volume.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub sub_path: String,
    /// The path inside the volume, with environment variables to expand.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub sub_path_expr: String,
    /// The mount propagation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mount_propagation: Option<String>,
    /// Whether nested mounts are read-only too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recursive_read_only: Option<String>,
    /// Undeclared fields, preserved as received.
    #[serde(flatten)]
    pub extra: Extra,
}
