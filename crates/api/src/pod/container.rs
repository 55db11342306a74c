//! Containers: what to run, with which environment, resources, probes and rights.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::is_false;
use super::volume::VolumeMount;
use crate::int_or_string::IntOrString;
use crate::meta::{Extra, is_zero};
use crate::quantity::Quantity;

/// A container.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Container {
    /// Name, unique in the Pod.
    pub name: String,
    /// Image it is made from.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub image: String,
    /// Program and arguments, in place of the image's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Arguments, in place of the image's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Folder it starts in.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub working_dir: String,
    /// Ports it listens on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<ContainerPort>,
    /// Environment taken from whole config maps and secrets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env_from: Vec<EnvFromSource>,
    /// Environment, variable by variable; later ones see earlier ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<EnvVar>,
    /// What it needs and what it may take.
    pub resources: ResourceRequirements,
    /// `Always` makes an init container a sidecar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart_policy: Option<String>,
    /// Volumes it sees.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub volume_mounts: Vec<VolumeMount>,
    /// Raw devices it sees.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub volume_devices: Vec<VolumeDevice>,
    /// Restarted when this fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub liveness_probe: Option<Probe>,
    /// Not ready while this fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub readiness_probe: Option<Probe>,
    /// The other probes wait for this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub startup_probe: Option<Probe>,
    /// What to do after start and before stop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifecycle: Option<Lifecycle>,
    /// File whose content becomes the termination message.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub termination_message_path: String,
    /// `File` or `FallbackToLogsOnError`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub termination_message_policy: String,
    /// `Always`, `IfNotPresent` or `Never`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub image_pull_policy: String,
    /// Rights of the processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub security_context: Option<SecurityContext>,
    /// Whether standard input is kept open.
    #[serde(skip_serializing_if = "is_false")]
    pub stdin: bool,
    /// Whether it has a terminal.
    #[serde(skip_serializing_if = "is_false")]
    pub tty: bool,
    /// Fields not named here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A port a container listens on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerPort {
    /// Name, unique in the Pod.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Port of the machine.
    #[serde(skip_serializing_if = "is_zero")]
    pub host_port: i32,
    /// Port of the container.
    pub container_port: i32,
    /// `TCP`, `UDP` or `SCTP`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub protocol: String,
    /// Address of the machine.
    #[serde(rename = "hostIP", skip_serializing_if = "String::is_empty")]
    pub host_ip: String,
}

/// A variable of the environment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EnvVar {
    /// Name of the variable.
    pub name: String,
    /// Value, in which `$(OTHER)` stands for another variable.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// Where else the value comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_from: Option<EnvVarSource>,
}

/// Where a variable's value comes from: exactly one of these.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EnvVarSource {
    /// A field of the Pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field_ref: Option<ObjectFieldSelector>,
    /// A request or limit of a container.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_field_ref: Option<ResourceFieldSelector>,
    /// A key of a config map.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_map_key_ref: Option<KeySelector>,
    /// A key of a secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_key_ref: Option<KeySelector>,
    /// A key of a file on a volume.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_key_ref: Option<FileKeySelector>,
}

/// A field of an object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectFieldSelector {
    /// Version in whose terms the path is written.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    /// The path, such as `metadata.name`.
    pub field_path: String,
}

/// A request or limit of a container.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceFieldSelector {
    /// The container; this one when empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub container_name: String,
    /// Such as `limits.cpu`.
    pub resource: String,
    /// Unit in which it is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub divisor: Option<Quantity>,
}

/// A key of a config map or secret.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct KeySelector {
    /// Name of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The key.
    pub key: String,
    /// Whether it may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

/// A key of a file on a volume.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FileKeySelector {
    /// The volume.
    pub volume_name: String,
    /// The file on it.
    pub path: String,
    /// The key in it.
    pub key: String,
    /// Whether it may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

/// Environment taken from a whole config map or secret: exactly one of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EnvFromSource {
    /// Put before each name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub prefix: String,
    /// The config map.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_map_ref: Option<EnvSource>,
    /// The secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<EnvSource>,
}

/// A config map or secret to take an environment from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EnvSource {
    /// Name of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Whether it may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

/// Quantities by name of resource.
pub type ResourceList = BTreeMap<String, Quantity>;

/// What a container needs and what it may take.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ResourceRequirements {
    /// What it may take at most.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: ResourceList,
    /// What it needs at least.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub requests: ResourceList,
    /// Fields not named here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A raw device a container sees.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VolumeDevice {
    /// The volume.
    pub name: String,
    /// Where the container sees it.
    pub device_path: String,
}

/// A check of a container.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Probe {
    /// What to do for the check.
    #[serde(flatten)]
    pub handler: Handler,
    /// Wait before the first check.
    #[serde(skip_serializing_if = "is_zero")]
    pub initial_delay_seconds: i32,
    /// Time for one check.
    #[serde(skip_serializing_if = "is_zero")]
    pub timeout_seconds: i32,
    /// Time between checks.
    #[serde(skip_serializing_if = "is_zero")]
    pub period_seconds: i32,
    /// Successes in a row that make it good.
    #[serde(skip_serializing_if = "is_zero")]
    pub success_threshold: i32,
    /// Failures in a row that make it bad.
    #[serde(skip_serializing_if = "is_zero")]
    pub failure_threshold: i32,
    /// Grace when this check kills.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub termination_grace_period_seconds: Option<i64>,
}

/// What to do for a check or a hook: exactly one of these.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Handler {
    /// Run a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exec: Option<ExecAction>,
    /// Ask by HTTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_get: Option<HttpGetAction>,
    /// Open a connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp_socket: Option<TcpSocketAction>,
    /// Ask by gRPC; probes only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grpc: Option<GrpcAction>,
    /// Wait; hooks only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sleep: Option<SleepAction>,
}

/// A command to run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExecAction {
    /// Program and arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
}

/// A question by HTTP.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HttpGetAction {
    /// Path to ask for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// Port, by number or name.
    pub port: IntOrString,
    /// Host; the Pod when empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub host: String,
    /// `HTTP` or `HTTPS`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub scheme: String,
    /// Headers to send.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub http_headers: Vec<HttpHeader>,
    /// Fields not named here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A header to send.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HttpHeader {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// A connection to open.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TcpSocketAction {
    /// Port, by number or name.
    pub port: IntOrString,
    /// Host; the Pod when empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub host: String,
}

/// A question by gRPC.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GrpcAction {
    /// Port.
    pub port: i32,
    /// Service to ask for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// Fields not named here.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A wait.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SleepAction {
    /// How long.
    pub seconds: i64,
}

/// What to do after start and before stop.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Lifecycle {
    /// Right after the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post_start: Option<Handler>,
    /// Before the polite signal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pre_stop: Option<Handler>,
    /// The polite signal, if not `SIGTERM`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_signal: Option<String>,
}

/// Rights of a container's processes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SecurityContext {
    /// Whether it may do everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub privileged: Option<bool>,
    /// User the processes run as.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_as_user: Option<i64>,
    /// Group the processes run as.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_as_group: Option<i64>,
    /// Whether running as root is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_as_non_root: Option<bool>,
    /// Whether processes may gain rights.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_privilege_escalation: Option<bool>,
    /// Fields not named here.
    #[serde(flatten)]
    pub extra: Extra,
}
