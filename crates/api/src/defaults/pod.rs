//! Default values of Pods and Pod templates. Those of containers and volumes are in `container` and
//! `volume`.

use serde_json::{Map, Value};

use super::{container, ensure_object_field, object_items, set_default, set_default_text, volume};

/// Sets the defaults of a Pod template.
pub(super) fn set_template_defaults(template: &mut Map<String, Value>) {
    set_defaults(ensure_object_field(template, "spec"));
}

/// Sets the defaults that Pods and Pod templates share.
pub(super) fn set_defaults(spec: &mut Map<String, Value>) {
    sync_service_account(spec);
    set_default_text(spec, "dnsPolicy", "ClusterFirst");
    set_default_text(spec, "restartPolicy", "Always");
    set_default(spec, "securityContext", Map::new());
    set_default(spec, "terminationGracePeriodSeconds", 30);
    set_default_text(spec, "schedulerName", "default-scheduler");
    object_items(spec, "volumes").for_each(volume::set_defaults);
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        object_items(spec, list).for_each(container::set_defaults);
    }
}

/// Keeps the deprecated alias equal to `serviceAccountName`, which takes precedence.
fn sync_service_account(spec: &mut Map<String, Value>) {
    if let Some(old) = spec.get("serviceAccount").and_then(Value::as_str) {
        let old = old.to_owned();
        set_default_text(spec, "serviceAccountName", &old);
    }
    if let Some(account) = spec.get("serviceAccountName").cloned() {
        spec.insert("serviceAccount".to_owned(), account);
    }
}

/// Sets the defaults of Pods that templates do not have: requests equal limits, and host ports
/// equal container ports on the host network.
pub(super) fn set_pod_only_defaults(spec: &mut Map<String, Value>) {
    set_default(spec, "enableServiceLinks", true);
    let has_host_network = spec.get("hostNetwork") == Some(&Value::Bool(true));
    for list in ["initContainers", "containers"] {
        for container in object_items(spec, list) {
            container::set_requests_from_limits(container);
            if has_host_network {
                container::set_host_ports(container);
            }
        }
    }
}
