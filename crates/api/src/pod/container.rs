//! Containers: command, environment, resources, probes and security settings.

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
    /// The name, unique in the Pod.
    pub name: String,
    /// The image.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub image: String,
    /// The command, which replaces the entry point of the image.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// The arguments, which replace those of the image.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// The working directory.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub working_dir: String,
    /// The ports.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<ContainerPort>,
    /// The environment variables from whole ConfigMaps and Secrets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env_from: Vec<EnvFromSource>,
    /// The environment variables; a variable may refer to earlier ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<EnvVar>,
    /// The resource requests and limits.
    pub resources: ResourceRequirements,
    /// The restart policy; `Always` makes an init container a sidecar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart_policy: Option<String>,
    /// The volume mounts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub volume_mounts: Vec<VolumeMount>,
    /// The block devices.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub volume_devices: Vec<VolumeDevice>,
    /// The liveness probe: its failure restarts the container.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub liveness_probe: Option<Probe>,
    /// The readiness probe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub readiness_probe: Option<Probe>,
    /// The startup probe: the other probes wait for its success.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub startup_probe: Option<Probe>,
    /// The `postStart` and `preStop` hooks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifecycle: Option<Lifecycle>,
    /// The file that contains the termination message.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub termination_message_path: String,
    /// `File` or `FallbackToLogsOnError`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub termination_message_policy: String,
    /// `Always`, `IfNotPresent` or `Never`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub image_pull_policy: String,
    /// The security settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub security_context: Option<SecurityContext>,
    /// Whether standard input stays open.
    #[serde(skip_serializing_if = "is_false")]
    pub stdin: bool,
    /// Whether the container has a terminal.
    #[serde(skip_serializing_if = "is_false")]
    pub tty: bool,
    /// Undeclared fields, preserved as received.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A port of a container.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerPort {
    /// The name, unique in the Pod.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The port on the node.
    #[serde(skip_serializing_if = "is_zero")]
    pub host_port: i32,
    /// The port of the container.
    pub container_port: i32,
    /// `TCP`, `UDP` or `SCTP`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub protocol: String,
    /// The IP address of the node.
    #[serde(rename = "hostIP", skip_serializing_if = "String::is_empty")]
    pub host_ip: String,
}

/// An environment variable.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EnvVar {
    /// The name.
    pub name: String,
    /// The value; `$(OTHER)` expands to another variable.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// The source of the value, instead of `value`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_from: Option<EnvVarSource>,
}

/// The source of a variable: exactly one of the fields is set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EnvVarSource {
    /// A field of the Pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field_ref: Option<ObjectFieldSelector>,
    /// A request or limit of a container.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_field_ref: Option<ResourceFieldSelector>,
    /// A key of a ConfigMap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_map_key_ref: Option<KeySelector>,
    /// A key of a Secret.
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
    /// The API version of the path.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    /// The path, such as `metadata.name`.
    pub field_path: String,
}

/// A request or limit of a container.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceFieldSelector {
    /// The container; the container itself if empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub container_name: String,
    /// The resource, such as `limits.cpu`.
    pub resource: String,
    /// The unit of the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub divisor: Option<Quantity>,
}

/// A key of a ConfigMap or Secret.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct KeySelector {
    /// The name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The key.
    pub key: String,
    /// Whether the object may be absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

/// A key of a file on a volume.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FileKeySelector {
    /// The volume.
    pub volume_name: String,
    /// The path of the file in the volume.
    pub path: String,
    /// The key in the file.
    pub key: String,
    /// Whether the object may be absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

/// Environment variables from a whole ConfigMap or Secret: exactly one of them is set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EnvFromSource {
    /// The prefix of each variable name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub prefix: String,
    /// The ConfigMap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_map_ref: Option<EnvSource>,
    /// The Secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<EnvSource>,
}

/// A ConfigMap or Secret that provides environment variables.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EnvSource {
    /// The name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Whether the object may be absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

/// Quantities by resource name.
pub type ResourceList = BTreeMap<String, Quantity>;

/// The resource requests and limits of a container.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ResourceRequirements {
    /// The limits.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: ResourceList,
    /// The requests.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub requests: ResourceList,
    /// Undeclared fields, preserved as received.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A block device of a container.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VolumeDevice {
    /// The volume.
    pub name: String,
    /// The path inside the container.
    pub device_path: String,
}

/// A probe of a container.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Probe {
    /// The action of the probe.
    #[serde(flatten)]
    pub handler: Handler,
    /// The delay before the first probe, in seconds.
    #[serde(skip_serializing_if = "is_zero")]
    pub initial_delay_seconds: i32,
    /// The timeout of one probe, in seconds.
    #[serde(skip_serializing_if = "is_zero")]
    pub timeout_seconds: i32,
    /// The interval between probes, in seconds.
    #[serde(skip_serializing_if = "is_zero")]
    pub period_seconds: i32,
    /// How many consecutive successes make the probe succeed.
    #[serde(skip_serializing_if = "is_zero")]
    pub success_threshold: i32,
    /// How many consecutive failures make the probe fail.
    #[serde(skip_serializing_if = "is_zero")]
    pub failure_threshold: i32,
    /// The grace period when this probe stops the container.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub termination_grace_period_seconds: Option<i64>,
}

/// The action of a probe or hook: exactly one of the fields is set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Handler {
    /// Runs a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exec: Option<ExecAction>,
    /// Sends an HTTP request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_get: Option<HttpGetAction>,
    /// Opens a TCP connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp_socket: Option<TcpSocketAction>,
    /// Calls the gRPC health service; probes only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grpc: Option<GrpcAction>,
    /// Waits; hooks only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sleep: Option<SleepAction>,
}

/// An action that runs a command.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExecAction {
    /// The program and its arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
}

/// An action that sends an HTTP request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HttpGetAction {
    /// The request path.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// The port number or port name.
    pub port: IntOrString,
    /// The host; the Pod's address if empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub host: String,
    /// `HTTP` or `HTTPS`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub scheme: String,
    /// The request headers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub http_headers: Vec<HttpHeader>,
    /// Undeclared fields, preserved as received.
    #[serde(flatten)]
    pub extra: Extra,
}

/// An HTTP request header.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HttpHeader {
    /// The name.
    pub name: String,
    /// The value.
    pub value: String,
}

/// An action that opens a TCP connection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TcpSocketAction {
    /// The port number or port name.
    pub port: IntOrString,
    /// The host; the Pod's address if empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub host: String,
}

/// An action that calls the gRPC health service.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GrpcAction {
    /// The port number.
    pub port: i32,
    /// The name of the service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// Undeclared fields, preserved as received.
    #[serde(flatten)]
    pub extra: Extra,
}

/// An action that waits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SleepAction {
    /// How many seconds to wait.
    pub seconds: i64,
}

/// The `postStart` and `preStop` hooks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Lifecycle {
    /// Runs right after the container starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post_start: Option<Handler>,
    /// Runs before the container gets its stop signal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pre_stop: Option<Handler>,
    /// The stop signal, if it is not `SIGTERM`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_signal: Option<String>,
}

/// The security settings of a container.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SecurityContext {
    /// Whether the container is privileged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub privileged: Option<bool>,
    /// The user ID of the processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_as_user: Option<i64>,
    /// The group ID of the processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_as_group: Option<i64>,
    /// Whether the kubelet refuses to run the container as root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_as_non_root: Option<bool>,
    /// Whether processes may gain more privileges than their parent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_privilege_escalation: Option<bool>,
    /// Undeclared fields, preserved as received.
    #[serde(flatten)]
    pub extra: Extra,
}
