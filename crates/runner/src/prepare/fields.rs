//! The downward API: fields of a Pod and resources of its containers as text.

use std::fmt::Write as _;

use punctual_api::meta::StringMap;
use punctual_api::pod::Container;
use punctual_api::pod::container::{ObjectFieldSelector, ResourceFieldSelector};
use punctual_api::{Pod, Quantity};

use super::MachineResources;

/// The IP address of the node and of all its Pods.
pub(crate) const NODE_ADDRESS: &str = "127.0.0.1";

/// Why a field has no value. The texts are those of Kubernetes.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum FieldError {
    #[error("fieldPath {0:?} does not support subscript")]
    Subscript(String),
    #[error("unsupported fieldPath: {0}")]
    UnknownField(String),
    #[error("container {0} not found")]
    NoContainer(String),
    #[error("unsupported container resource : {0}")]
    UnknownResource(String),
}

/// The value of a field of the Pod.
pub(super) fn field(pod: &Pod, selector: &ObjectFieldSelector) -> Result<String, FieldError> {
    let meta = &pod.metadata;
    let spec = &pod.spec;
    let path = selector.field_path.as_str();
    if let Some((map, key)) = subscript(path) {
        let map = match map {
            "metadata.labels" => &meta.labels,
            "metadata.annotations" => &meta.annotations,
            _ => return Err(FieldError::Subscript(path.to_owned())),
        };
        return Ok(map.get(key).cloned().unwrap_or_default());
    }
    Ok(match path {
        "metadata.name" => meta.name.clone(),
        "metadata.namespace" => meta.namespace.clone(),
        "metadata.uid" => meta.uid.clone(),
        "metadata.labels" => format_map(&meta.labels),
        "metadata.annotations" => format_map(&meta.annotations),
        "spec.nodeName" => spec.node_name.clone(),
        "spec.serviceAccountName" => spec.service_account_name.clone(),
        "status.hostIP" | "status.hostIPs" | "status.podIP" | "status.podIPs" => {
            NODE_ADDRESS.to_owned()
        }
        _ => return Err(FieldError::UnknownField(path.to_owned())),
    })
}

/// Splits `metadata.labels['key']` into the field and the key.
fn subscript(path: &str) -> Option<(&str, &str)> {
    path.strip_suffix("']")?.split_once("['")
}

/// One line `key="value"` per entry, sorted by key.
fn format_map(map: &StringMap) -> String {
    let mut text = String::new();
    for (key, value) in map {
        let separator = if text.is_empty() { "" } else { "\n" };
        let _ = write!(text, "{separator}{key}={value:?}");
    }
    text
}

/// The amount of a container's resource in units of the divisor, rounded up.
pub(super) fn resource(
    pod: &Pod,
    container: &Container,
    selector: &ResourceFieldSelector,
    machine: MachineResources,
) -> Result<String, FieldError> {
    let name = selector.container_name.as_str();
    let mut others = pod.spec.containers_in_order().map(|(_, _, container)| container);
    let container = match name {
        "" => container,
        _ => others
            .find(|other| other.name == name)
            .ok_or_else(|| FieldError::NoContainer(name.to_owned()))?,
    };
    let unsupported = || FieldError::UnknownResource(selector.resource.clone());
    let (list, resource) = selector.resource.split_once('.').ok_or_else(unsupported)?;
    let amount = match list {
        "limits" => container.resources.limits.get(resource).copied(),
        "requests" => container.resources.requests.get(resource).copied(),
        _ => return Err(unsupported()),
    };
    let divisor = selector.divisor.filter(|divisor| divisor.milli_value() != 0);
    Ok(match resource {
        "cpu" => {
            let all = if list == "limits" { machine.cpus.saturating_mul(1000) } else { 0 };
            let divisor = divisor.map_or(1000, Quantity::milli_value);
            in_units(amount.map(Quantity::milli_value), all, divisor)
        }
        "memory" | "ephemeral-storage" => {
            let is_whole = list == "limits" && resource == "memory";
            let all = if is_whole { machine.memory_bytes } else { 0 };
            in_units(amount.map(Quantity::value), all, divisor.map_or(1, Quantity::value))
        }
        _ if resource.starts_with("hugepages-") => {
            in_units(amount.map(Quantity::value), 0, divisor.map_or(1, Quantity::value))
        }
        _ => return Err(unsupported()),
    })
}

fn in_units(amount: Option<i64>, all: u64, divisor: i64) -> String {
    let amount = amount.and_then(|amount| u64::try_from(amount).ok()).unwrap_or(all);
    let divisor = u64::try_from(divisor).unwrap_or(1).max(1);
    amount.div_ceil(divisor).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod() -> Pod {
        serde_json::from_value(json!({
            "metadata": {"name": "p", "namespace": "n", "uid": "u",
                "labels": {"b": "2", "a": "q\"uote"}, "annotations": {"k/x": "v"}},
            "spec": {"nodeName": "here", "containers": [{
                "name": "c",
                "resources": {"limits": {"cpu": "1500m", "memory": "100Mi"},
                    "requests": {"cpu": "250m"}},
            }]},
        }))
        .unwrap()
    }

    #[test]
    fn fields_have_the_text_that_a_kubelet_gives_them() {
        for (path, want) in [
            ("metadata.name", Ok("p")),
            ("metadata.labels['b']", Ok("2")),
            ("metadata.labels['none']", Ok("")),
            ("metadata.annotations['k/x']", Ok("v")),
            ("metadata.labels", Ok("a=\"q\\\"uote\"\nb=\"2\"")),
            ("spec.nodeName", Ok("here")),
            ("status.podIP", Ok("127.0.0.1")),
            ("spec.other", Err("unsupported fieldPath: spec.other".to_owned())),
        ] {
            let selector = ObjectFieldSelector { field_path: path.into(), ..Default::default() };
            let got = field(&pod(), &selector);
            assert_eq!(got.as_deref().map_err(ToString::to_string), want, "{path}");
        }
    }

    #[test]
    fn resources_are_rounded_up_to_the_unit_and_default_to_the_machine() {
        let machine = MachineResources { cpus: 4, memory_bytes: 1 << 30 };
        for (resource, divisor, want) in [
            ("limits.cpu", None, "2"),
            ("limits.cpu", Some("1m"), "1500"),
            ("requests.cpu", Some("1m"), "250"),
            ("limits.memory", Some("1Mi"), "100"),
            ("limits.memory", None, "104857600"),
            ("requests.memory", None, "0"),
        ] {
            let divisor = divisor.map(|text| Quantity::parse(text).unwrap());
            let selector = ResourceFieldSelector {
                container_name: String::new(),
                resource: resource.into(),
                divisor,
            };
            let pod = pod();
            let got = super::resource(&pod, &pod.spec.containers[0], &selector, machine);
            assert_eq!(got.as_deref(), Ok(want), "{resource}");
        }
        let bare = Container::default();
        let selector =
            ResourceFieldSelector { resource: "limits.cpu".into(), ..Default::default() };
        assert_eq!(super::resource(&pod(), &bare, &selector, machine).as_deref(), Ok("4"));
    }
}
