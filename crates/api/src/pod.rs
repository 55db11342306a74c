//! The Pod (core `v1`), as far as the Job controller and a runner of processes need it.
//!
//! Named here are the fields that are validated, defaulted or run. Scheduling to nodes (affinity,
//! spread constraints, DNS, resource claims) means nothing to one machine: those fields stay in
//! `extra`, untouched and written back.

pub mod container;
mod qos;
pub mod status;
pub mod volume;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use self::container::{Container, EnvFromSource, EnvVar, ResourceRequirements};
pub use self::qos::QosClass;
pub use self::status::{ContainerState, ContainerStatus, PodCondition, PodStatus};
pub use self::volume::{Volume, VolumeMount};
use crate::meta::{Extra, ObjectMeta, StringMap, TemplateMeta};

/// A Pod.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Pod {
    /// Group and version.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Metadata.
    pub metadata: ObjectMeta,
    /// What is wanted.
    pub spec: PodSpec,
    /// What was seen.
    pub status: PodStatus,
    /// Fields not named here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A Pod to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PodTemplateSpec {
    /// Labels and annotations for the Pod.
    pub metadata: TemplateMeta,
    /// Spec for the Pod.
    pub spec: PodSpec,
    /// Fields not named here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What is wanted of a Pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodSpec {
    /// Volumes that containers may mount.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub volumes: Vec<Volume>,
    /// Containers that run first, one after the other.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub init_containers: Vec<Container>,
    /// Containers that run together.
    pub containers: Vec<Container>,
    /// Containers added for debugging; not allowed in templates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ephemeral_containers: Vec<Map<String, Value>>,
    /// `Always`, `OnFailure` or `Never`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub restart_policy: String,
    /// Time between the polite and the final signal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub termination_grace_period_seconds: Option<i64>,
    /// How long the Pod may be active.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_deadline_seconds: Option<i64>,
    /// Where names are looked up.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub dns_policy: String,
    /// Labels that the node must have.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: StringMap,
    /// Account the Pod acts as.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub service_account_name: String,
    /// The same, under its old name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub service_account: String,
    /// Node the Pod was given to.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub node_name: String,
    /// Whether the Pod shares the machine's network.
    #[serde(skip_serializing_if = "is_false")]
    pub host_network: bool,
    /// Whether the Pod sees the machine's processes.
    #[serde(rename = "hostPID", skip_serializing_if = "is_false")]
    pub host_pid: bool,
    /// Whether the containers see each other's processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share_process_namespace: Option<bool>,
    /// Rights of all containers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub security_context: Option<PodSecurityContext>,
    /// Secrets for pulling images.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub image_pull_secrets: Vec<LocalObjectReference>,
    /// Host name of the Pod.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub hostname: String,
    /// Domain of the Pod below the cluster's.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub subdomain: String,
    /// Scheduler that is to place the Pod.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub scheduler_name: String,
    /// Taints the Pod puts up with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<Toleration>,
    /// Lines for the hosts file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub host_aliases: Vec<HostAlias>,
    /// Importance, by name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub priority_class_name: String,
    /// Runtime, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime_class_name: Option<String>,
    /// Whether the Pod may displace others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preemption_policy: Option<String>,
    /// Fields not named here.
    #[serde(flatten)]
    pub extra: Extra,
}

impl PodSpec {
    /// All containers that a template may have, with the list they are in and their place there:
    /// init containers first, as Kubernetes visits them.
    pub fn containers_in_order(
        &self,
    ) -> impl Iterator<Item = (&'static str, usize, &Container)> + Clone {
        let init = self.init_containers.iter().enumerate();
        let main = self.containers.iter().enumerate();
        init.map(|(i, c)| ("initContainers", i, c)).chain(main.map(|(i, c)| ("containers", i, c)))
    }
}

/// Rights of all containers of a Pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodSecurityContext {
    /// User the processes run as.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_as_user: Option<i64>,
    /// Group the processes run as.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_as_group: Option<i64>,
    /// Whether running as root is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_as_non_root: Option<bool>,
    /// Further groups of the processes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub supplemental_groups: Vec<i64>,
    /// Group that owns the volumes.
    #[serde(rename = "fsGroup", skip_serializing_if = "Option::is_none")]
    pub fs_group: Option<i64>,
    /// Fields not named here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A reference by name alone, in the same namespace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LocalObjectReference {
    /// Name of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
}

/// A taint that a Pod puts up with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Toleration {
    /// Key of the taint; all when empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// `Equal` or `Exists`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub operator: String,
    /// Value of the taint.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// Effect of the taint; all when empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub effect: String,
    /// For how long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toleration_seconds: Option<i64>,
}

/// A line for the hosts file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostAlias {
    /// The address.
    pub ip: String,
    /// Its names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hostnames: Vec<String>,
}

/// For `skip_serializing_if`: Go leaves `false` out.
pub(crate) fn is_false(flag: &bool) -> bool {
    !*flag
}
