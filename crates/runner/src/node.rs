//! The node that this machine is to the API.

use std::fs;

use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::prepare::{ADDRESS, Machine};

/// What is said about a machine that does not say it itself.
const UNKNOWN: &str = "unknown";

/// Makes sure that the API has a node of this name that is ready and takes Pods, and writes only
/// what is not so already.
pub async fn register_node(client: kube::Client, name: &str, max_pods: usize) -> kube::Result<()> {
    let resource = ApiResource {
        group: String::new(),
        version: "v1".to_owned(),
        api_version: "v1".to_owned(),
        kind: "Node".to_owned(),
        plural: "nodes".to_owned(),
    };
    let nodes: Api<DynamicObject> = Api::all_with(client, &resource);
    let found = match nodes.get_opt(name).await? {
        Some(found) => found,
        None => create(&nodes, &resource, name).await?,
    };
    let old = found.data.get("status").cloned().unwrap_or_default();
    let new = status(&old, name, max_pods);
    if contains(&old, &new) {
        return Ok(());
    }
    let patch = Patch::Merge(json!({ "status": new }));
    nodes.patch_status(name, &PatchParams::default(), &patch).await.map(drop)
}

async fn create(
    nodes: &Api<DynamicObject>,
    resource: &ApiResource,
    name: &str,
) -> kube::Result<DynamicObject> {
    let mut node = DynamicObject::new(name, resource);
    let labels = [
        ("kubernetes.io/hostname", name),
        ("kubernetes.io/os", "linux"),
        ("kubernetes.io/arch", architecture()),
    ];
    let labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned()));
    node.metadata.labels = Some(labels.into());
    match nodes.create(&PostParams::default(), &node).await {
        Err(kube::Error::Api(status)) if status.code == 409 => nodes.get(name).await,
        other => other,
    }
}

/// What the machine has.
pub(crate) fn machine() -> Machine {
    let cpus = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse().ok());
    Machine { cpus, memory_bytes: kilobytes.unwrap_or(0_u64).saturating_mul(1024) }
}

fn status(old: &Value, name: &str, max_pods: usize) -> Value {
    let Machine { cpus, memory_bytes } = machine();
    let amounts = json!({
        "cpu": cpus.to_string(),
        "memory": format!("{}Ki", memory_bytes / 1024),
        "pods": max_pods.to_string(),
    });
    json!({
        "capacity": amounts,
        "allocatable": amounts,
        "addresses": [
            {"type": "InternalIP", "address": ADDRESS},
            {"type": "Hostname", "address": name},
        ],
        "conditions": [ready(old)],
        "nodeInfo": info(),
    })
}

/// The condition `Ready`, with the instant at which it came to be so.
fn ready(old: &Value) -> Value {
    let before = old.get("conditions").and_then(Value::as_array).into_iter().flatten();
    let is_ready = |condition: &&Value| {
        let is = |field: &str, want: &str| condition.get(field).is_some_and(|value| value == want);
        is("type", "Ready") && is("status", "True")
    };
    let now = Value::String(punctual_api::Time::new(crate::clock::now()).to_string());
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

fn info() -> Value {
    let version = concat!("punctual-", env!("CARGO_PKG_VERSION"));
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let release = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    json!({
        "architecture": architecture(),
        "bootID": text_of("/proc/sys/kernel/random/boot_id"),
        "containerRuntimeVersion": format!("punctual://{}", env!("CARGO_PKG_VERSION")),
        "kernelVersion": text_of("/proc/sys/kernel/osrelease"),
        "kubeProxyVersion": "",
        "kubeletVersion": version,
        "machineID": text_of("/etc/machine-id"),
        "operatingSystem": "linux",
        "osImage": release.map_or(UNKNOWN, |name| name.trim_matches('"')),
        "systemUUID": "",
    })
}

fn text_of(path: &str) -> String {
    fs::read_to_string(path).map_or_else(|_| UNKNOWN.to_owned(), |text| text.trim().to_owned())
}

/// As Go calls it.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// Whether everything in one object is in the other too.
fn contains(all: &Value, part: &Value) -> bool {
    match (all, part) {
        (Value::Object(all), Value::Object(part)) => {
            part.iter().all(|(key, value)| all.get(key).is_some_and(|found| contains(found, value)))
        }
        _ => all == part,
    }
}
