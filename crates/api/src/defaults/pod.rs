//! Defaults of Pods and Pod templates.

use serde_json::{Map, Value};

use super::{children, container, section_of, text, value, volume};

/// Sets the defaults of a Pod template.
pub(super) fn template(template: &mut Map<String, Value>) {
    spec(section_of(template, "spec"));
}

/// Sets the defaults that Pods and Pod templates share.
pub(super) fn spec(spec: &mut Map<String, Value>) {
    service_account(spec);
    text(spec, "dnsPolicy", "ClusterFirst");
    text(spec, "restartPolicy", "Always");
    value(spec, "securityContext", Map::new());
    value(spec, "terminationGracePeriodSeconds", 30);
    text(spec, "schedulerName", "default-scheduler");
    children(spec, "volumes").for_each(volume::fill);
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        children(spec, list).for_each(container::fill);
    }
}

/// Keeps the deprecated alias equal to `serviceAccountName`, which takes precedence.
fn service_account(spec: &mut Map<String, Value>) {
    if let Some(old) = spec.get("serviceAccount").and_then(Value::as_str) {
        let old = old.to_owned();
        text(spec, "serviceAccountName", &old);
    }
    if let Some(account) = spec.get("serviceAccountName").cloned() {
        spec.insert("serviceAccount".to_owned(), account);
    }
}

/// Sets the defaults of Pods that templates do not have: requests equal limits, and host ports
/// equal container ports on the host network.
pub(super) fn only_in_pods(spec: &mut Map<String, Value>) {
    value(spec, "enableServiceLinks", true);
    let has_host_network = spec.get("hostNetwork") == Some(&Value::Bool(true));
    for list in ["initContainers", "containers"] {
        for container in children(spec, list) {
            container::requests_from_limits(container);
            if has_host_network {
                container::host_ports(container);
            }
        }
    }
}
