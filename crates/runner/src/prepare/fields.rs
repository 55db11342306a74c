//! The downward API: a Pod's own fields and its containers' resources, as texts.

use std::fmt::Write as _;

use punctual_api::meta::StringMap;
use punctual_api::pod::Container;
use punctual_api::pod::container::{ObjectFieldSelector, ResourceFieldSelector};
use punctual_api::{Pod, Quantity};

use super::Machine;

/// The address of this machine, as far as Pods are concerned.
pub(crate) const ADDRESS: &str = "127.0.0.1";

/// The text of a field of the Pod.
pub(super) fn field(pod: &Pod, selector: &ObjectFieldSelector) -> Result<String, String> {
    let (meta, spec) = (&pod.metadata, &pod.spec);
    let path = selector.field_path.as_str();
    if let Some((map, key)) = subscript(path) {
        let map = match map {
            "metadata.labels" => &meta.labels,
            "metadata.annotations" => &meta.annotations,
            _ => return Err(format!("fieldPath {path:?} does not support subscript")),
        };
        return Ok(map.get(key).cloned().unwrap_or_default());
    }
    Ok(match path {
        "metadata.name" => meta.name.clone(),
        "metadata.namespace" => meta.namespace.clone(),
        "metadata.uid" => meta.uid.clone(),
        "metadata.labels" => lines(&meta.labels),
        "metadata.annotations" => lines(&meta.annotations),
        "spec.nodeName" => spec.node_name.clone(),
        "spec.serviceAccountName" => spec.service_account_name.clone(),
        "status.hostIP" | "status.hostIPs" | "status.podIP" | "status.podIPs" => ADDRESS.to_owned(),
        _ => return Err(format!("unsupported fieldPath: {path}")),
    })
}

/// `metadata.labels['key']` in its two parts.
fn subscript(path: &str) -> Option<(&str, &str)> {
    path.strip_suffix("']")?.split_once("['")
}

/// One `key="value"` per line, sorted by key.
fn lines(map: &StringMap) -> String {
    let mut text = String::new();
    for (key, value) in map {
        let separator = if text.is_empty() { "" } else { "\n" };
        let _ = write!(text, "{separator}{key}={value:?}");
    }
    text
}

/// The amount of a container's resource in the unit asked for, rounded up.
pub(super) fn resource(
    pod: &Pod,
    container: &Container,
    selector: &ResourceFieldSelector,
    machine: Machine,
) -> Result<String, String> {
    let name = selector.container_name.as_str();
    let mut others = pod.spec.containers_in_order().map(|(_, _, container)| container);
    let container = match name {
        "" => container,
        _ => {
            others.find(|other| other.name == name).ok_or(format!("container {name} not found"))?
        }
    };
    let unsupported = || format!("unsupported container resource : {}", selector.resource);
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
    fn fields_are_told_as_a_kubelet_does() {
        for (path, want) in [
            ("metadata.name", Ok("p")),
            ("metadata.labels['b']", Ok("2")),
            ("metadata.labels['none']", Ok("")),
            ("metadata.annotations['k/x']", Ok("v")),
            ("metadata.labels", Ok("a=\"q\\\"uote\"\nb=\"2\"")),
            ("spec.nodeName", Ok("here")),
            ("status.podIP", Ok("127.0.0.1")),
            ("spec.other", Err("unsupported fieldPath: spec.other")),
        ] {
            let selector = ObjectFieldSelector { field_path: path.into(), ..Default::default() };
            let got = field(&pod(), &selector);
            assert_eq!(got.as_deref().map_err(String::as_str), want, "{path}");
        }
    }

    #[test]
    fn resources_are_rounded_up_to_the_unit_and_default_to_the_machine() {
        let machine = Machine { cpus: 4, memory_bytes: 1 << 30 };
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
