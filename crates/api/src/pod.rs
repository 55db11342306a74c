//! The Pod (core `v1`): the fields that this project validates, defaults or runs.
//!
//! Fields that only matter for scheduling to several nodes (affinity, spread constraints, DNS,
//! resource claims) stay in `extra` and are written back unchanged.

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
    /// The API group and version.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The object metadata.
    pub metadata: ObjectMeta,
    /// The desired state.
    pub spec: PodSpec,
    /// The observed state.
    pub status: PodStatus,
    /// Undeclared fields, preserved as received.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The template of a Pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PodTemplateSpec {
    /// The labels and annotations of the Pod.
    pub metadata: TemplateMeta,
    /// The spec of the Pod.
    pub spec: PodSpec,
    /// Undeclared fields, preserved as received.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The desired state of a Pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodSpec {
    /// The volumes that containers may mount.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub volumes: Vec<Volume>,
    /// The init containers, which run one after the other before the containers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub init_containers: Vec<Container>,
    /// The containers.
    pub containers: Vec<Container>,
    /// Ephemeral containers for debugging; not allowed in templates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ephemeral_containers: Vec<Map<String, Value>>,
    /// `Always`, `OnFailure` or `Never`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub restart_policy: String,
    /// The grace period between `SIGTERM` and `SIGKILL`, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub termination_grace_period_seconds: Option<i64>,
    /// How many seconds the Pod may be active.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_deadline_seconds: Option<i64>,
    /// The DNS policy.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub dns_policy: String,
    /// The labels that the node must have.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: StringMap,
    /// The name of the ServiceAccount.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub service_account_name: String,
    /// The deprecated alias of `serviceAccountName`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub service_account: String,
    /// The node to which the Pod is assigned.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub node_name: String,
    /// Whether the Pod uses the network of the node.
    #[serde(skip_serializing_if = "is_false")]
    pub host_network: bool,
    /// Whether the Pod uses the process namespace of the node.
    #[serde(rename = "hostPID", skip_serializing_if = "is_false")]
    pub host_pid: bool,
    /// Whether the containers share one process namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share_process_namespace: Option<bool>,
    /// The security settings of all containers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub security_context: Option<PodSecurityContext>,
    /// The Secrets for pulling images.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub image_pull_secrets: Vec<LocalObjectReference>,
    /// The host name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub hostname: String,
    /// The subdomain.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub subdomain: String,
    /// The name of the scheduler.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub scheduler_name: String,
    /// The tolerations.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<Toleration>,
    /// Entries for the hosts file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub host_aliases: Vec<HostAlias>,
    /// The name of the priority class.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub priority_class_name: String,
    /// The name of the runtime class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime_class_name: Option<String>,
    /// Whether the Pod may preempt other Pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preemption_policy: Option<String>,
    /// Undeclared fields, preserved as received.
    #[serde(flatten)]
    pub extra: Extra,
}

impl PodSpec {
    /// Iterates over all containers that a template may have, each with the name of its list and
    /// its index. Init containers come first, as in Kubernetes.
    pub fn containers_in_order(
        &self,
    ) -> impl Iterator<Item = (&'static str, usize, &Container)> + Clone {
        let init = self.init_containers.iter().enumerate();
        let main = self.containers.iter().enumerate();
        init.map(|(i, c)| ("initContainers", i, c)).chain(main.map(|(i, c)| ("containers", i, c)))
    }
}

/// The security settings of all containers of a Pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodSecurityContext {
    /// The user ID of the processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_as_user: Option<i64>,
    /// The group ID of the processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_as_group: Option<i64>,
    /// Whether the kubelet refuses to run the container as root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_as_non_root: Option<bool>,
    /// The supplemental groups of the processes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub supplemental_groups: Vec<i64>,
    /// The group that owns the volumes.
    #[serde(rename = "fsGroup", skip_serializing_if = "Option::is_none")]
    pub fs_group: Option<i64>,
    /// Undeclared fields, preserved as received.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A reference to an object in the same namespace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LocalObjectReference {
    /// The name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
}

/// A toleration of a taint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Toleration {
    /// The taint key; all if empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// `Equal` or `Exists`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub operator: String,
    /// The taint value.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// The taint effect; all if empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub effect: String,
    /// How many seconds the taint is tolerated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toleration_seconds: Option<i64>,
}

/// An entry of the hosts file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostAlias {
    /// The IP address.
    pub ip: String,
    /// The host names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hostnames: Vec<String>,
}

/// For `skip_serializing_if`: Go omits `false`.
pub(crate) fn is_false(flag: &bool) -> bool {
    !*flag
}
