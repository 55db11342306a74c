//! Creates and updates the Node object of this machine.

use std::fs;

use jiff::Timestamp;
use punctual_api::Time;
use punctual_client::resources::NODES;
use punctual_client::{ApiClient, ApiError, Clock};
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::prepare::{MachineResources, NODE_ADDRESS};

/// The value of facts about the machine that cannot be read.
const UNKNOWN: &str = "unknown";

/// Creates or updates the Node with this name, ready and with room for this many Pods. Writes nothing if the
/// Node is up to date.
pub async fn register_node(
    api: &ApiClient,
    clock: &dyn Clock,
    name: &str,
    max_pods: usize,
) -> Result<(), ApiError> {
    let path = NODES.object_path("", name);
    let node = match api.find::<Value>(&path).await? {
        Some(node) => node,
        None => create_node(api, name).await?,
    };
    let old = node.get("status").cloned().unwrap_or_default();
    let new = node_status(&old, name, max_pods, clock.now());
    if contains(&old, &new) {
        return Ok(());
    }
    let patch = json!({ "status": new });
    api.merge_patch::<IgnoredAny>(&format!("{path}/status"), &patch).await.map(drop)
}

async fn create_node(api: &ApiClient, name: &str) -> Result<Value, ApiError> {
    let node = json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {
            "kubernetes.io/hostname": name,
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": architecture(),
        }},
    });
    match api.create(&NODES.collection_path(""), node.to_string()).await {
        Err(error) if error.is_conflict() => api.get(&NODES.object_path("", name)).await,
        result => result,
    }
}

/// The processors and memory of this machine.
pub(crate) fn machine_resources() -> MachineResources {
    let cpus = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse().ok());
    MachineResources { cpus, memory_bytes: kilobytes.unwrap_or(0_u64).saturating_mul(1024) }
}

fn node_status(old: &Value, name: &str, max_pods: usize, now: Timestamp) -> Value {
    let MachineResources { cpus, memory_bytes } = machine_resources();
    let amounts = json!({
        "cpu": cpus.to_string(),
        "memory": format!("{}Ki", memory_bytes / 1024),
        "pods": max_pods.to_string(),
    });
    json!({
        "capacity": amounts,
        "allocatable": amounts,
        "addresses": [
            {"type": "InternalIP", "address": NODE_ADDRESS},
            {"type": "Hostname", "address": name},
        ],
        "conditions": [ready_condition(old, now)],
        "nodeInfo": node_info(),
    })
}

/// The condition `Ready`, with its old times if it was true already.
fn ready_condition(old: &Value, now: Timestamp) -> Value {
    let before = old.get("conditions").and_then(Value::as_array).into_iter().flatten();
    let is_ready = |condition: &&Value| {
        let is = |field: &str, want: &str| condition.get(field).is_some_and(|value| value == want);
        is("type", "Ready") && is("status", "True")
    };
    let now = Value::String(Time::new(now).to_string());
    let before = before.clone().find(is_ready);
    let time = |field: &str| before.and_then(|it| it.get(field)).cloned().unwrap_or(now.clone());
    json!({
        "type": "Ready",
        "status": "True",
        "reason": "RunnerReady",
        "message": "Pods run as processes of this machine",
        "lastHeartbeatTime": time("lastHeartbeatTime"),
        "lastTransitionTime": time("lastTransitionTime"),
    })
}

fn node_info() -> Value {
    let version = concat!("punctual-", env!("CARGO_PKG_VERSION"));
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let release = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    json!({
        "architecture": architecture(),
        "bootID": read_text("/proc/sys/kernel/random/boot_id"),
        "containerRuntimeVersion": format!("punctual://{}", env!("CARGO_PKG_VERSION")),
        "kernelVersion": read_text("/proc/sys/kernel/osrelease"),
        "kubeProxyVersion": "",
        "kubeletVersion": version,
        "machineID": read_text("/etc/machine-id"),
        "operatingSystem": "linux",
        "osImage": release.map_or(UNKNOWN, |name| name.trim_matches('"')),
        "systemUUID": "",
    })
}

fn read_text(path: &str) -> String {
    fs::read_to_string(path).map_or_else(|_| UNKNOWN.to_owned(), |text| text.trim().to_owned())
}

/// The name that Go has for the architecture.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// Whether a JSON value has all fields of another with the same values.
fn contains(all: &Value, part: &Value) -> bool {
    match (all, part) {
        (Value::Object(all), Value::Object(part)) => {
            part.iter().all(|(key, value)| all.get(key).is_some_and(|found| contains(found, value)))
        }
        _ => all == part,
    }
}
