//! Volumes and where containers see them.
//!
//! The sources that one machine can provide are typed; the others (network storage, clouds,
//! projections) stay in `extra` under their own names and are counted, not looked into.

use serde::{Deserialize, Serialize};

use super::container::{ObjectFieldSelector, ResourceFieldSelector};
use super::is_false;
use crate::meta::Extra;
use crate::quantity::Quantity;

/// A volume: a name and exactly one source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Volume {
    /// Name, unique in the Pod.
    pub name: String,
    /// An empty folder that lives as long as the Pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub empty_dir: Option<EmptyDir>,
    /// A path of the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_path: Option<HostPath>,
    /// Files from a secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<SecretVolume>,
    /// Files from a config map.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_map: Option<ConfigMapVolume>,
    /// Files from the Pod's own fields.
    #[serde(rename = "downwardAPI", skip_serializing_if = "Option::is_none")]
    pub downward_api: Option<DownwardApiVolume>,
    /// Storage that was claimed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persistent_volume_claim: Option<ClaimVolume>,
    /// Sources not named here, by name.
    #[serde(flatten)]
    pub extra: Extra,
}

/// An empty folder.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EmptyDir {
    /// `Memory` or the default.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub medium: String,
    /// The most it may hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_limit: Option<Quantity>,
    /// Fields not named here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A path of the machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostPath {
    /// The path.
    pub path: String,
    /// What must be there, such as `DirectoryOrCreate`.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub path_type: Option<String>,
}

/// Files from a secret.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SecretVolume {
    /// Name of the secret.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub secret_name: String,
    /// Which keys; all when empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<KeyToPath>,
    /// Mode of the files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_mode: Option<i32>,
    /// Whether it may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

/// Files from a config map.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ConfigMapVolume {
    /// Name of the config map.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Which keys; all when empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<KeyToPath>,
    /// Mode of the files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_mode: Option<i32>,
    /// Whether it may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

/// A key and the file it becomes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct KeyToPath {
    /// The key.
    pub key: String,
    /// The file, relative to the volume.
    pub path: String,
    /// Mode of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<i32>,
}

/// Files from the Pod's own fields.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DownwardApiVolume {
    /// The files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<DownwardApiFile>,
    /// Mode of the files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_mode: Option<i32>,
}

/// A file from one of the Pod's own fields.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DownwardApiFile {
    /// The file, relative to the volume.
    pub path: String,
    /// A field of the Pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field_ref: Option<ObjectFieldSelector>,
    /// A request or limit of a container.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_field_ref: Option<ResourceFieldSelector>,
    /// Mode of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<i32>,
}

/// Storage that was claimed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClaimVolume {
    /// Name of the claim.
    pub claim_name: String,
    /// Whether it is mounted read-only.
    #[serde(skip_serializing_if = "is_false")]
    pub read_only: bool,
}

/// Where a container sees a volume.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VolumeMount {
    /// The volume.
    pub name: String,
    /// Whether the container may only read.
    #[serde(skip_serializing_if = "is_false")]
    pub read_only: bool,
    /// Where the container sees it.
    pub mount_path: String,
    /// The part of the volume that it sees.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub sub_path: String,
    /// The same, with variables.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub sub_path_expr: String,
    /// Whether later mounts spread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mount_propagation: Option<String>,
    /// Whether mounts below are read-only too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recursive_read_only: Option<String>,
    /// Fields not named here.
    #[serde(flatten)]
    pub extra: Extra,
}
