//! The columns of Namespaces and Nodes in the tables that `kubectl get` shows.

use std::collections::BTreeSet;

use serde_json::Value;

use super::row::{NONE, TableRow, text};
use super::{AGE, Column, NAME, TableLayout};

const ROLE_PREFIX: &str = "node-role.kubernetes.io/";
const ROLE_LABEL: &str = "kubernetes.io/role";
const UNKNOWN: &str = "<unknown>";

pub(super) static NAMESPACE: TableLayout = TableLayout::new(&[
    NAME,
    Column::text("Status", "Whether it is active or terminating.", |row| {
        row.text("/status/phase").into()
    }),
    AGE,
]);

pub(super) static NODE: TableLayout = TableLayout::new(&[
    NAME,
    Column::text("Status", "Whether it can run pods.", node_status),
    Column::text("Roles", "The roles in its labels.", roles),
    AGE,
    Column::text("Version", "The version of the kubelet.", |row| {
        row.text("/status/nodeInfo/kubeletVersion").into()
    }),
    Column::wide("Internal-IP", "Its address inside the cluster.", |row| {
        address(row, "InternalIP").into()
    }),
    Column::wide("External-IP", "Its address for clients outside the cluster.", |row| {
        address(row, "ExternalIP").into()
    }),
    Column::wide("OS-Image", "Its operating system.", |row| {
        row.text_or("/status/nodeInfo/osImage", UNKNOWN).into()
    }),
    Column::wide("Kernel-Version", "Its kernel and architecture.", kernel),
    Column::wide("Container-Runtime", "Its container runtime.", |row| {
        row.text_or("/status/nodeInfo/containerRuntimeVersion", UNKNOWN).into()
    }),
]);

fn node_status(row: &TableRow<'_>) -> Value {
    // The last condition of the type counts, as in kube-apiserver.
    let ready = row.items("/status/conditions").iter().rfind(|it| text(it, "/type") == "Ready");
    let status = match ready {
        None => "Unknown",
        Some(condition) if text(condition, "/status") == "True" => "Ready",
        Some(_) => "NotReady",
    };
    let is_cordoned = row.object.pointer("/spec/unschedulable") == Some(&Value::Bool(true));
    if is_cordoned { format!("{status},SchedulingDisabled").into() } else { status.into() }
}

fn roles(row: &TableRow<'_>) -> Value {
    let labels = row.object.pointer("/metadata/labels").and_then(Value::as_object);
    let roles: BTreeSet<&str> = labels
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| match key.strip_prefix(ROLE_PREFIX) {
            Some(role) => Some(role),
            None if key == ROLE_LABEL => value.as_str(),
            None => None,
        })
        .filter(|role| !role.is_empty())
        .collect();
    if roles.is_empty() {
        return NONE.into();
    }
    roles.into_iter().collect::<Vec<_>>().join(",").into()
}

fn address<'a>(row: &TableRow<'a>, ty: &str) -> &'a str {
    let mut addresses = row.items("/status/addresses").iter();
    addresses.find(|it| text(it, "/type") == ty).map_or(NONE, |found| text(found, "/address"))
}

fn kernel(row: &TableRow<'_>) -> Value {
    let version = row.text_or("/status/nodeInfo/kernelVersion", UNKNOWN);
    match row.text("/status/nodeInfo/architecture") {
        "" => version.into(),
        architecture => format!("{version} ({architecture})").into(),
    }
}
