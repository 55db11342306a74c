//! Validation of Pods and Pod templates (like `ValidatePodSpec` and `ValidatePodTemplateSpec`).

use super::{Errors, container, in_range, labels, meta, one_of, reasons, volume};
use crate::field::{FieldError, FieldPath};
use crate::names;
use crate::pod::{Container, Pod, PodSecurityContext, PodSpec, PodTemplateSpec, Toleration};

const DNS_POLICIES: [&str; 4] = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
const RESTART_POLICIES: [&str; 3] = ["Always", "OnFailure", "Never"];
const PREEMPTION_POLICIES: [&str; 2] = ["PreemptLowerPriority", "Never"];
const TAINT_EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
const SECONDS_MAX: i64 = i32::MAX as i64;

const POD_IS_FIXED: &str = "pod updates may not change fields other than \
     `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,\
     `spec.tolerations` (only additions to existing tolerations),\
     `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// Where a spec occurs; some rules apply only to Pods.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SpecOwner {
    Pod,
    Template,
}

pub(super) fn create(pod: &Pod) -> Errors {
    let mut errors = Errors::new();
    meta::create(&pod.metadata, true, &mut errors);
    let path = FieldPath::root("spec");
    spec(&pod.spec, SpecOwner::Pod, &path, &mut errors);
    errors
}

/// Validates an updated Pod: only images, deadline and tolerations may change. Kubernetes appends a
/// diff to its message; this function does not.
pub(super) fn update(new: &Pod, old: &Pod) -> Errors {
    let mut errors = Errors::new();
    meta::update(&new.metadata, &old.metadata, &mut errors);
    let path = FieldPath::root("spec");
    spec(&new.spec, SpecOwner::Pod, &path, &mut errors);
    let mut allowed = old.spec.clone();
    take_images(&mut allowed.containers, &new.spec.containers);
    take_images(&mut allowed.init_containers, &new.spec.init_containers);
    allowed.active_deadline_seconds = new.spec.active_deadline_seconds;
    if old.spec.tolerations.iter().all(|toleration| new.spec.tolerations.contains(toleration)) {
        allowed.tolerations = new.spec.tolerations.clone();
    }
    if new.spec != allowed {
        errors.push(FieldError::forbidden(&path, POD_IS_FIXED));
    }
    errors
}

fn take_images(to: &mut [Container], from: &[Container]) {
    for (to, from) in to.iter_mut().zip(from) {
        to.image = from.image.clone();
    }
}

/// Validates a Pod template. Like Kubernetes, reports the path of its labels without `metadata`.
pub(super) fn template(template: &PodTemplateSpec, path: &FieldPath<'_>, errors: &mut Errors) {
    labels(&template.metadata.labels, &path.child("labels"), errors);
    meta::annotations(&template.metadata.annotations, &path.child("annotations"), errors);
    let path = path.child("spec");
    spec(&template.spec, SpecOwner::Template, &path, errors);
    if !template.spec.ephemeral_containers.is_empty() {
        let path = path.child("ephemeralContainers");
        errors
            .push(FieldError::forbidden(&path, "ephemeral containers not allowed in pod template"));
    }
}

fn spec(spec: &PodSpec, owner: SpecOwner, path: &FieldPath<'_>, errors: &mut Errors) {
    if spec.termination_grace_period_seconds.is_none() {
        let path = path.child("terminationGracePeriodSeconds");
        errors.push(FieldError::required(&path, ""));
    }
    let volumes = volume::all(&spec.volumes, &path.child("volumes"), errors);
    container::all(spec, &volumes, path, errors);
    host_network(spec, owner, path, errors);
    one_of(&spec.restart_policy, &RESTART_POLICIES, &path.child("restartPolicy"), errors);
    one_of(&spec.dns_policy, &DNS_POLICIES, &path.child("dnsPolicy"), errors);
    labels(&spec.node_selector, &path.child("nodeSelector"), errors);
    if let Some(context) = &spec.security_context {
        security_context(context, &path.child("securityContext"), errors);
    }
    if spec.host_pid && spec.share_process_namespace == Some(true) {
        let detail = "ShareProcessNamespace and HostPID cannot both be enabled";
        errors.push(FieldError::invalid(&path.child("shareProcessNamespace"), true, detail));
    }
    names_of(spec, path, errors);
    if owner == SpecOwner::Pod {
        image_whitespace(spec, path, errors);
    }
}

fn names_of(spec: &PodSpec, path: &FieldPath<'_>, errors: &mut Errors) {
    let account = path.child("serviceAccountName");
    meta::subdomain_if_set(&spec.service_account_name, &account, errors);
    meta::subdomain_if_set(&spec.node_name, &path.child("nodeName"), errors);
    if let Some(seconds) = spec.active_deadline_seconds {
        let path = path.child("activeDeadlineSeconds");
        in_range(seconds, 1, SECONDS_MAX, &path, errors);
    }
    for (name, label) in [("hostname", &spec.hostname), ("subdomain", &spec.subdomain)] {
        if !label.is_empty() {
            reasons(names::check_dns_label(label), label, &path.child(name), errors);
        }
    }
    tolerations(&spec.tolerations, &path.child("tolerations"), errors);
    host_aliases(spec, &path.child("hostAliases"), errors);
    let priority = path.child("priorityClassName");
    meta::subdomain_if_set(&spec.priority_class_name, &priority, errors);
    if let Some(name) = &spec.runtime_class_name {
        reasons(names::check_dns_subdomain(name), name, &path.child("runtimeClassName"), errors);
    }
    if let Some(policy) = &spec.preemption_policy {
        one_of(policy, &PREEMPTION_POLICIES, &path.child("preemptionPolicy"), errors);
    }
}

/// Validates host ports. On the host network they must equal the container ports; a template may
/// omit them.
fn host_network(spec: &PodSpec, owner: SpecOwner, path: &FieldPath<'_>, errors: &mut Errors) {
    if !spec.host_network {
        return;
    }
    let containers = path.child("containers");
    for (i, container) in spec.containers.iter().enumerate() {
        let item = containers.index(i);
        let ports = item.child("ports");
        for (j, port) in container.ports.iter().enumerate() {
            let may_be_open = owner == SpecOwner::Template && port.host_port == 0;
            if !may_be_open && port.host_port != port.container_port {
                let port_path = ports.index(j);
                let detail = "must match `containerPort` when `hostNetwork` is true";
                let path = port_path.child("hostPort");
                errors.push(FieldError::invalid(&path, port.host_port, detail));
            }
        }
    }
}

fn security_context(context: &PodSecurityContext, path: &FieldPath<'_>, errors: &mut Errors) {
    for (name, id) in [
        ("fsGroup", context.fs_group),
        ("runAsUser", context.run_as_user),
        ("runAsGroup", context.run_as_group),
    ] {
        if let Some(id) = id {
            in_range(id, 0, SECONDS_MAX, &path.child(name), errors);
        }
    }
    let groups = path.child("supplementalGroups");
    for (i, group) in context.supplemental_groups.iter().enumerate() {
        in_range(*group, 0, SECONDS_MAX, &groups.index(i), errors);
    }
}

fn tolerations(tolerations: &[Toleration], path: &FieldPath<'_>, errors: &mut Errors) {
    for (i, toleration) in tolerations.iter().enumerate() {
        let path = path.index(i);
        if toleration.key.is_empty() {
            keyless(toleration, &path, errors);
        } else {
            let found = names::check_qualified_name(&toleration.key);
            reasons(found, &toleration.key, &path.child("key"), errors);
        }
        if toleration.toleration_seconds.is_some() && toleration.effect != "NoExecute" {
            let detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            let path = path.child("effect");
            errors.push(FieldError::invalid(&path, &toleration.effect, detail));
        }
        toleration_operator(toleration, &path.child("operator"), errors);
        if !toleration.effect.is_empty() {
            one_of(&toleration.effect, &TAINT_EFFECTS, &path.child("effect"), errors);
        }
    }
}

fn keyless(toleration: &Toleration, path: &FieldPath<'_>, errors: &mut Errors) {
    if toleration.operator != "Exists" {
        let detail = "operator must be Exists when `key` is empty, which means \"match all values \
                      and all keys\"";
        errors.push(FieldError::invalid(&path.child("operator"), &toleration.operator, detail));
    }
}

fn toleration_operator(toleration: &Toleration, path: &FieldPath<'_>, errors: &mut Errors) {
    match toleration.operator.as_str() {
        "Equal" | "" => {
            let found = names::check_label_value(&toleration.value);
            if !found.is_empty() {
                errors.push(FieldError::invalid(path, &toleration.value, found.join(";")));
            }
        }
        "Exists" => {
            if !toleration.value.is_empty() {
                let detail = "value must be empty when `operator` is 'Exists'";
                errors.push(FieldError::invalid(path, &toleration.value, detail));
            }
        }
        "Lt" | "Gt" => {
            let words = ["Equal", "Exists", "Lt", "Gt"];
            errors.push(FieldError::not_supported(path, &toleration.operator, &words));
        }
        operator => errors.push(FieldError::not_supported(path, operator, &["Equal", "Exists"])),
    }
}

fn host_aliases(spec: &PodSpec, path: &FieldPath<'_>, errors: &mut Errors) {
    for (i, alias) in spec.host_aliases.iter().enumerate() {
        let path = path.index(i);
        if alias.ip.parse::<std::net::IpAddr>().is_err() {
            let detail = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
            errors.push(FieldError::invalid(&path.child("ip"), &alias.ip, detail));
        }
        let hostnames = path.child("hostnames");
        for (j, name) in alias.hostnames.iter().enumerate() {
            reasons(names::check_dns_subdomain(name), name, &hostnames.index(j), errors);
        }
    }
}

/// Checks Pods only, because stored templates may have such images.
fn image_whitespace(spec: &PodSpec, path: &FieldPath<'_>, errors: &mut Errors) {
    for (list, i, container) in spec.containers_in_order() {
        if container.image.trim() != container.image {
            let list = path.child(list);
            let detail = "must not have leading or trailing whitespace";
            let item = list.index(i);
            errors.push(FieldError::invalid(&item.child("image"), &container.image, detail));
        }
    }
}
