//! Warnings about Pods and Pod templates (like `warningsForPodSpecAndMeta`).

use std::collections::{HashMap, HashSet};

use crate::field::FieldPath;
use crate::go_format;
use crate::meta::StringMap;
use crate::pod::container::{Container, ContainerPort, ResourceList};
use crate::pod::{PodSpec, Volume};
use crate::quantity::Quantity;

/// Annotations without effect, and their replacements.
const DEAD_ANNOTATIONS: [(&str, &str); 3] = [
    (
        "scheduler.alpha.kubernetes.io/critical-pod",
        "non-functional in v1.16+; use the \"priorityClassName\" field instead",
    ),
    (
        "security.alpha.kubernetes.io/sysctls",
        "non-functional in v1.11+; use the \"sysctls\" field instead",
    ),
    (
        "security.alpha.kubernetes.io/unsafe-sysctls",
        "non-functional in v1.11+; use the \"sysctls\" field instead",
    ),
];

/// Volume sources that no longer work, and the version in which they stopped working.
const DEAD_VOLUMES: [(&str, &str); 9] = [
    ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageos", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
];

/// Collects the warnings about a spec and its annotations.
pub(super) fn spec(
    spec: &PodSpec,
    annotations: &StringMap,
    path: &FieldPath<'_>,
    metadata: &FieldPath<'_>,
) -> Vec<String> {
    let mut warnings = Vec::new();
    let annotations_path = metadata.child("annotations");
    for (key, message) in DEAD_ANNOTATIONS {
        if annotations.contains_key(key) {
            warnings.push(format!("{}: {message}", annotations_path.key(key)));
        }
    }
    volumes(&spec.volumes, &path.child("volumes"), &mut warnings);
    repeated_names(spec, path, &mut warnings);
    for (list, i, container) in spec.containers_in_order() {
        let list = path.child(list);
        resources(container, &list.index(i), &mut warnings);
        environment(container, &list.index(i), &mut warnings);
    }
    ports(spec, path, &mut warnings);
    if spec.termination_grace_period_seconds.is_some_and(|seconds| seconds < 0) {
        let path = path.child("terminationGracePeriodSeconds");
        warnings.push(format!(
            "{path}: must be >= 0; negative values are invalid and will be treated as 1"
        ));
    }
    warnings
}

fn volumes(volumes: &[Volume], path: &FieldPath<'_>, warnings: &mut Vec<String>) {
    for (i, volume) in volumes.iter().enumerate() {
        let path = path.index(i);
        for (name, message) in DEAD_VOLUMES {
            if volume.extra.contains_key(name) {
                warnings.push(format!("{}: {message}", path.child(name)));
            }
        }
    }
    for volume in volumes {
        overlapping_files(volume, warnings);
    }
}

/// Warns about two keys that map to the same file, or to a file and its directory.
fn overlapping_files(volume: &Volume, warnings: &mut Vec<String>) {
    let (what, paths): (String, Vec<&str>) = if let Some(map) = &volume.config_map {
        let paths = map.items.iter().map(|item| item.path.as_str());
        (format!("ConfigMap {}", go_format::quoted(&map.name)), paths.collect())
    } else if let Some(secret) = &volume.secret {
        let paths = secret.items.iter().map(|item| item.path.as_str());
        (format!("Secret {}", go_format::quoted(&secret.secret_name)), paths.collect())
    } else if let Some(downward) = &volume.downward_api {
        let paths = downward.items.iter().map(|item| item.path.as_str());
        ("DownwardAPI".to_owned(), paths.collect())
    } else {
        return;
    };
    let name = go_format::quoted(&volume.name);
    let paths: Vec<_> = paths.into_iter().map(|path| path.trim_end_matches('/')).collect();
    for (i, path) in paths.iter().enumerate() {
        for earlier in paths.iter().take(i).filter(|earlier| overlap(path, earlier)) {
            let path = go_format::quoted(path);
            let earlier = go_format::quoted(earlier);
            warnings
                .push(format!("volume {name} ({what}): overlapping paths: {path} with {earlier}"));
        }
    }
}

fn overlap(one: &str, other: &str) -> bool {
    let is_below =
        |path: &str, above: &str| path.strip_prefix(above).is_some_and(|r| r.starts_with('/'));
    !one.is_empty()
        && !other.is_empty()
        && (one == other || is_below(one, other) || is_below(other, one))
}

fn repeated_names(spec: &PodSpec, path: &FieldPath<'_>, warnings: &mut Vec<String>) {
    let aliases = path.child("hostAliases");
    let mut seen = HashSet::new();
    for (i, alias) in spec.host_aliases.iter().enumerate() {
        if !seen.insert(&alias.ip) {
            let item = aliases.index(i);
            let ip = go_format::quoted(&alias.ip);
            warnings.push(format!("{}: duplicate ip {ip}", item.child("ip")));
        }
    }
    let secrets = path.child("imagePullSecrets");
    let mut seen = HashSet::new();
    for (i, secret) in spec.image_pull_secrets.iter().enumerate() {
        if !seen.insert(&secret.name) {
            let item = secrets.index(i);
            let name = go_format::quoted(&secret.name);
            warnings.push(format!("{}: duplicate name {name}", item.child("name")));
        }
    }
    for (i, _) in spec.image_pull_secrets.iter().enumerate().filter(|(_, s)| s.name.is_empty()) {
        let item = secrets.index(i);
        warnings.push(format!("{}: invalid empty name \"\"", item.child("name")));
    }
}

fn resources(container: &Container, path: &FieldPath<'_>, warnings: &mut Vec<String>) {
    let path = path.child("resources");
    let given = &container.resources;
    let mut check = |name: &str, list: &str, amounts: &ResourceList| {
        let is_fractional = |amount: &&Quantity| !amount.is_integer();
        if let Some(amount) = amounts.get(name).filter(is_fractional) {
            let list = path.child(list);
            warnings.push(format!(
                "{}: fractional byte value \"{amount}\" is invalid, must be an integer",
                list.key(name)
            ));
        }
    };
    for name in ["memory", "ephemeral-storage"] {
        check(name, "limits", &given.limits);
        check(name, "requests", &given.requests);
    }
}

/// Warns about a variable that hides an earlier one without referring to it.
fn environment(container: &Container, path: &FieldPath<'_>, warnings: &mut Vec<String>) {
    let env = path.child("env");
    let mut seen = HashSet::new();
    for (i, variable) in container.env.iter().enumerate() {
        if seen.insert(&variable.name) {
            continue;
        }
        let reference = format!("$({})", variable.name);
        let builds_on_it = variable.value_from.is_none()
            && variable.value != reference
            && variable.value.contains(&reference);
        if !builds_on_it {
            warnings.push(format!(
                "{}: hides previous definition of {}, which may be dropped when using apply",
                env.index(i),
                go_format::quoted(&variable.name)
            ));
        }
    }
}

/// Returns all ports of a Pod with their paths.
fn all_ports<'a>(spec: &'a PodSpec, path: &FieldPath<'_>) -> Vec<(String, &'a ContainerPort)> {
    let mut ports = Vec::new();
    for (list, i, container) in spec.containers_in_order() {
        let list = path.child(list);
        let item = list.index(i);
        let port_path = item.child("ports");
        let here = container.ports.iter().enumerate();
        ports.extend(here.map(|(j, port)| (port_path.index(j).to_string(), port)));
    }
    ports
}

fn ports(spec: &PodSpec, path: &FieldPath<'_>, warnings: &mut Vec<String>) {
    let ports = all_ports(spec, path);
    for (i, (path, port)) in ports.iter().enumerate() {
        for (earlier_path, earlier) in ports.iter().take(i) {
            let is_same_port =
                port.container_port == earlier.container_port && port.protocol == earlier.protocol;
            if is_same_port && let Some(how) = find_conflict(port, earlier) {
                warnings.push(format!("{path}: {how} port definition with {earlier_path}"));
            }
        }
    }
    let mut path_by_name: HashMap<&str, &str> = HashMap::new();
    for (path, port) in ports.iter().filter(|(_, port)| !port.name.is_empty()) {
        match path_by_name.get(port.name.as_str()) {
            Some(other) => warnings.push(format!(
                "{path}: duplicate port name {} with {other}, services and probes that select \
                 ports by name will use {other}",
                go_format::quoted(&port.name)
            )),
            None => {
                path_by_name.insert(&port.name, path);
            }
        }
    }
}

/// Returns how two definitions of a port conflict.
fn find_conflict(port: &ContainerPort, other: &ContainerPort) -> Option<&'static str> {
    let is_same_host_port = port.host_port == other.host_port;
    if is_same_host_port && port.host_ip == other.host_ip {
        Some("duplicate")
    } else if port.host_port == 0 || other.host_port == 0 {
        Some("overlapping")
    } else if is_same_host_port && port.host_ip.is_empty() != other.host_ip.is_empty() {
        Some("dangerously ambiguous")
    } else {
        None
    }
}
