//! Defaults of Pods and Pod templates.

use serde_json::{Map, Value};

use super::{children, container, section_of, text, value, volume};

/// Fills in what a Pod template left out.
pub(super) fn template(template: &mut Map<String, Value>) {
    spec(section_of(template, "spec"));
}

/// Fills in what is filled in both in Pods and in templates.
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

/// The account has an old name that is kept in step; the new one wins.
fn service_account(spec: &mut Map<String, Value>) {
    if let Some(old) = spec.get("serviceAccount").and_then(Value::as_str) {
        let old = old.to_owned();
        text(spec, "serviceAccountName", &old);
    }
    if let Some(account) = spec.get("serviceAccountName").cloned() {
        spec.insert("serviceAccount".to_owned(), account);
    }
}

/// Fills in what is filled in only when a Pod is made: requests follow limits, and with the
/// machine's network a container's port is the machine's.
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
