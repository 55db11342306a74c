//! Defaults of containers.

use serde_json::{Map, Value};

use super::{child, children, number, section_of, text, value};

/// Sets the defaults of a container.
pub(super) fn fill(container: &mut Map<String, Value>) {
    let image = container.get("image").and_then(Value::as_str).unwrap_or_default();
    let pull = if is_latest(image) { "Always" } else { "IfNotPresent" };
    text(container, "imagePullPolicy", pull);
    text(container, "terminationMessagePath", "/dev/termination-log");
    text(container, "terminationMessagePolicy", "File");
    for port in children(container, "ports") {
        text(port, "protocol", "TCP");
    }
    children(container, "env").for_each(env);
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = child(container, name) {
            fill_probe(probe);
        }
    }
    if let Some(lifecycle) = child(container, "lifecycle") {
        for name in ["postStart", "preStop"] {
            if let Some(handler) = child(lifecycle, name) {
                http_get(handler);
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
    let is_lowercase = !last.split(':').next().unwrap_or_default().contains(char::is_uppercase);
    match last.split_once(':') {
        Some((_, tag)) => tag == "latest",
        None => digest.is_none() && is_lowercase,
    }
}

fn env(variable: &mut Map<String, Value>) {
    let Some(source) = child(variable, "valueFrom") else {
        return;
    };
    if let Some(field) = child(source, "fieldRef") {
        text(field, "apiVersion", "v1");
    }
    if let Some(file) = child(source, "fileKeyRef") {
        value(file, "optional", false);
    }
}

fn fill_probe(probe: &mut Map<String, Value>) {
    number(probe, "timeoutSeconds", 1);
    number(probe, "periodSeconds", 10);
    number(probe, "successThreshold", 1);
    number(probe, "failureThreshold", 3);
    http_get(probe);
    if let Some(grpc) = child(probe, "grpc") {
        value(grpc, "service", "");
    }
}

fn http_get(handler: &mut Map<String, Value>) {
    if let Some(get) = child(handler, "httpGet") {
        text(get, "path", "/");
        text(get, "scheme", "HTTP");
    }
}

/// Sets missing requests to the limits.
pub(super) fn requests_from_limits(container: &mut Map<String, Value>) {
    let Some(resources) = child(container, "resources") else {
        return;
    };
    let Some(Value::Object(limits)) = resources.get("limits").cloned() else {
        return;
    };
    let requests = section_of(resources, "requests");
    for (name, limit) in limits {
        value(requests, &name, limit);
    }
}

/// Sets missing host ports to the container ports, for Pods on the host network.
pub(super) fn host_ports(container: &mut Map<String, Value>) {
    for port in children(container, "ports") {
        let same = port.get("containerPort").and_then(Value::as_i64).unwrap_or(0);
        number(port, "hostPort", i32::try_from(same).unwrap_or(0));
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
