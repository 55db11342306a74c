//! Validation of containers and init containers.

use std::collections::HashSet;

use super::volume::Volumes;
use super::{Errors, env, in_range, one_of, probe, reasons, required, resources, volume};
use crate::field::{FieldError, FieldPath};
use crate::names;
use crate::pod::PodSpec;
use crate::pod::container::{Container, ContainerPort, SecurityContext};

const MESSAGE_POLICIES: [&str; 2] = ["File", "FallbackToLogsOnError"];
const PULL_POLICIES: [&str; 3] = ["Always", "IfNotPresent", "Never"];
const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];
const CONTAINER_RESTART_POLICIES: [&str; 3] = ["Always", "Never", "OnFailure"];
const ONLY_SIDECARS: &str = "may not be set for init containers without restartPolicy=Always";
const PORT_MAX: i64 = 65535;
const ID_MAX: i64 = i32::MAX as i64;

/// Validates all containers of a Pod.
pub(super) fn all(spec: &PodSpec, volumes: &Volumes, path: &FieldPath<'_>, errors: &mut Errors) {
    main(spec, volumes, &path.child("containers"), errors);
    init(spec, volumes, &path.child("initContainers"), errors);
}

fn main(spec: &PodSpec, volumes: &Volumes, path: &FieldPath<'_>, errors: &mut Errors) {
    if spec.containers.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    let mut seen = HashSet::new();
    for (i, container) in spec.containers.iter().enumerate() {
        let path = path.index(i);
        shared(container, volumes, &path, errors);
        if !seen.insert(&container.name) {
            errors.push(FieldError::duplicate(&path.child("name"), &container.name));
        }
        probes(container, spec.termination_grace_period_seconds, &path, errors);
        restart_policy(container, &path, errors);
    }
    unique_host_ports(&spec.containers, path, errors);
}

fn init(spec: &PodSpec, volumes: &Volumes, path: &FieldPath<'_>, errors: &mut Errors) {
    let mut seen: HashSet<_> = spec.containers.iter().map(|container| &container.name).collect();
    for (i, container) in spec.init_containers.iter().enumerate() {
        let item = path.index(i);
        shared(container, volumes, &item, errors);
        restart_policy(container, &item, errors);
        // A missing name is already reported.
        if !seen.insert(&container.name) && !container.name.is_empty() {
            errors.push(FieldError::duplicate(&item.child("name"), &container.name));
        }
        unique_host_ports(std::slice::from_ref(container), path, errors);
        if container.restart_policy.as_deref() == Some("Always") {
            probes(container, spec.termination_grace_period_seconds, &item, errors);
        } else {
            no_probes(container, &item, errors);
        }
    }
}

/// Validates the fields that all containers share (like `validateContainerCommon`).
fn shared(container: &Container, volumes: &Volumes, path: &FieldPath<'_>, errors: &mut Errors) {
    let name = path.child("name");
    if container.name.is_empty() {
        errors.push(FieldError::required(&name, ""));
    } else {
        reasons(names::check_dns_label(&container.name), &container.name, &name, errors);
    }
    required(&container.image, &path.child("image"), errors);
    let policy = path.child("terminationMessagePolicy");
    one_of(&container.termination_message_policy, &MESSAGE_POLICIES, &policy, errors);
    ports(&container.ports, &path.child("ports"), errors);
    env::variables(&container.env, &path.child("env"), errors);
    env::sources(&container.env_from, &path.child("envFrom"), errors);
    volume::mounts(container, volumes, &path.child("volumeMounts"), errors);
    volume::devices(container, volumes, &path.child("volumeDevices"), errors);
    let policy = path.child("imagePullPolicy");
    one_of(&container.image_pull_policy, &PULL_POLICIES, &policy, errors);
    resources::requirements(&container.resources, &path.child("resources"), errors);
    if let Some(context) = &container.security_context {
        security_context(context, &path.child("securityContext"), errors);
    }
}

fn ports(ports: &[ContainerPort], path: &FieldPath<'_>, errors: &mut Errors) {
    let mut seen = HashSet::new();
    for (i, port) in ports.iter().enumerate() {
        let path = path.index(i);
        port_name(port, &mut seen, &path.child("name"), errors);
        let number = path.child("containerPort");
        if port.container_port == 0 {
            errors.push(FieldError::required(&number, ""));
        } else {
            in_range(port.container_port.into(), 1, PORT_MAX, &number, errors);
        }
        if port.host_port != 0 {
            in_range(port.host_port.into(), 1, PORT_MAX, &path.child("hostPort"), errors);
        }
        one_of(&port.protocol, &PROTOCOLS, &path.child("protocol"), errors);
    }
}

fn port_name<'a>(
    port: &'a ContainerPort,
    seen: &mut HashSet<&'a str>,
    path: &FieldPath<'_>,
    errors: &mut Errors,
) {
    if port.name.is_empty() {
        return;
    }
    let found = names::check_port_name(&port.name);
    if found.is_empty() && !seen.insert(&port.name) {
        errors.push(FieldError::duplicate(path, &port.name));
    }
    reasons(found, &port.name, path, errors);
}

fn unique_host_ports(containers: &[Container], path: &FieldPath<'_>, errors: &mut Errors) {
    let mut seen = HashSet::new();
    for (i, container) in containers.iter().enumerate() {
        let item = path.index(i);
        let ports = item.child("ports");
        for (j, port) in container.ports.iter().enumerate().filter(|(_, p)| p.host_port != 0) {
            let shown = format!("{}/{}/{}", port.protocol, port.host_ip, port.host_port);
            let port_path = ports.index(j);
            if seen.contains(&shown) {
                errors.push(FieldError::duplicate(&port_path.child("hostPort"), &shown));
            }
            seen.insert(shown);
        }
    }
}

fn probes(container: &Container, grace: Option<i64>, path: &FieldPath<'_>, errors: &mut Errors) {
    if let Some(lifecycle) = &container.lifecycle {
        probe::lifecycle(lifecycle, grace, &path.child("lifecycle"), errors);
    }
    if let Some(probe) = &container.liveness_probe {
        probe::deciding(probe, grace, &path.child("livenessProbe"), errors);
    }
    if let Some(probe) = &container.readiness_probe {
        probe::readiness(probe, grace, &path.child("readinessProbe"), errors);
    }
    if let Some(probe) = &container.startup_probe {
        probe::deciding(probe, grace, &path.child("startupProbe"), errors);
    }
}

fn no_probes(container: &Container, path: &FieldPath<'_>, errors: &mut Errors) {
    for (name, is_set) in [
        ("lifecycle", container.lifecycle.is_some()),
        ("livenessProbe", container.liveness_probe.is_some()),
        ("readinessProbe", container.readiness_probe.is_some()),
        ("startupProbe", container.startup_probe.is_some()),
    ] {
        if is_set {
            errors.push(FieldError::forbidden(&path.child(name), ONLY_SIDECARS));
        }
    }
}

fn restart_policy(container: &Container, path: &FieldPath<'_>, errors: &mut Errors) {
    if let Some(policy) = &container.restart_policy
        && !CONTAINER_RESTART_POLICIES.contains(&policy.as_str())
    {
        let path = path.child("restartPolicy");
        errors.push(FieldError::not_supported(&path, policy, &CONTAINER_RESTART_POLICIES));
    }
}

fn security_context(context: &SecurityContext, path: &FieldPath<'_>, errors: &mut Errors) {
    for (name, id) in [("runAsUser", context.run_as_user), ("runAsGroup", context.run_as_group)] {
        if let Some(id) = id {
            in_range(id, 0, ID_MAX, &path.child(name), errors);
        }
    }
    if context.allow_privilege_escalation == Some(false) && context.privileged == Some(true) {
        let detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
        let value = super::job::internal(context, "SecurityContext");
        errors.push(FieldError::invalid(path, value, detail));
    }
}
