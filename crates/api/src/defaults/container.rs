//! Default values of containers: pull policy, ports, environment, probes and lifecycle hooks.

use serde_json::{Map, Value};

use super::{
    ensure_object_field, object_field, object_items, set_default, set_default_number,
    set_default_text,
};

/// Sets the defaults of a container.
pub(super) fn set_defaults(container: &mut Map<String, Value>) {
    let image = container.get("image").and_then(Value::as_str).unwrap_or_default();
    let pull = if is_latest(image) { "Always" } else { "IfNotPresent" };
    set_default_text(container, "imagePullPolicy", pull);
    set_default_text(container, "terminationMessagePath", "/dev/termination-log");
    set_default_text(container, "terminationMessagePolicy", "File");
    for port in object_items(container, "ports") {
        set_default_text(port, "protocol", "TCP");
    }
    object_items(container, "env").for_each(set_env_defaults);
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = object_field(container, name) {
            set_probe_defaults(probe);
        }
    }
    if let Some(lifecycle) = object_field(container, "lifecycle") {
        for name in ["postStart", "preStop"] {
            if let Some(handler) = object_field(lifecycle, name) {
                set_http_get_defaults(handler);
            }
        }
    }
}

/// Returns whether an image has the tag `latest`, or no tag and no digest. Returns `false` for a
/// malformed image name.
fn is_latest(image: &str) -> bool {
    let is_name = !image.is_empty() && !image.contains(char::is_whitespace);
    if !is_name {
        return false;
    }
    let (name, digest) = image.split_once('@').map_or((image, None), |(n, d)| (n, Some(d)));
    let last = name.rsplit('/').next().unwrap_or(name);
    // The reference syntax has no upper-case letters in repository names.
    let has_uppercase = last.split(':').next().unwrap_or_default().contains(char::is_uppercase);
    match last.split_once(':') {
        Some((_, tag)) => tag == "latest",
        None => digest.is_none() && !has_uppercase,
    }
}

/// Sets the defaults of the override of a container in a RunRequest.
pub(super) fn set_override_defaults(container: &mut Map<String, Value>) {
    object_items(container, "env").for_each(set_env_defaults);
}

fn set_env_defaults(variable: &mut Map<String, Value>) {
    let Some(source) = object_field(variable, "valueFrom") else {
        return;
    };
    if let Some(field) = object_field(source, "fieldRef") {
        set_default_text(field, "apiVersion", "v1");
    }
    if let Some(file) = object_field(source, "fileKeyRef") {
        set_default(file, "optional", false);
    }
}

fn set_probe_defaults(probe: &mut Map<String, Value>) {
    set_default_number(probe, "timeoutSeconds", 1);
    set_default_number(probe, "periodSeconds", 10);
    set_default_number(probe, "successThreshold", 1);
    set_default_number(probe, "failureThreshold", 3);
    set_http_get_defaults(probe);
    if let Some(grpc) = object_field(probe, "grpc") {
        set_default(grpc, "service", "");
    }
}

fn set_http_get_defaults(handler: &mut Map<String, Value>) {
    if let Some(get) = object_field(handler, "httpGet") {
        set_default_text(get, "path", "/");
        set_default_text(get, "scheme", "HTTP");
    }
}

/// Sets missing requests to the limits.
pub(super) fn set_requests_from_limits(container: &mut Map<String, Value>) {
    let Some(resources) = object_field(container, "resources") else {
        return;
    };
    let Some(Value::Object(limits)) = resources.get("limits").cloned() else {
        return;
    };
    let requests = ensure_object_field(resources, "requests");
    for (name, limit) in limits {
        set_default(requests, &name, limit);
    }
}

/// Sets missing host ports to the container ports, for Pods on the host network.
pub(super) fn set_host_ports(container: &mut Map<String, Value>) {
    for port in object_items(container, "ports") {
        let same = port.get("containerPort").and_then(Value::as_i64).unwrap_or(0);
        set_default_number(port, "hostPort", i32::try_from(same).unwrap_or(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_latest_image_is_always_pulled() {
        for (image, latest) in [
            ("busybox", true),
            ("busybox:latest", true),
            ("busybox:1.36", false),
            ("host:5000/a/b", true),
            ("host:5000/a/b:1", false),
            ("busybox@sha256:0123", false),
            ("busybox:latest@sha256:0123", true),
            ("", false),
            ("Not An Image", false),
            ("UPPER", false),
        ] {
            assert_eq!(is_latest(image), latest, "{image}");
        }
    }
}
