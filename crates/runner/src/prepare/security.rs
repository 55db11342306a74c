//! Turns the security settings of a container into a plan, and refuses those that cannot be applied.
//!
//! A setting that was ignored would leave a container with more rights than its manifest says.

use punctual_api::Pod;
use punctual_api::meta::Extra;
use punctual_api::pod::Container;
use rustix::thread::CapabilitySet;
use serde_json::Value;

use super::PrepareError;
use crate::pod_plan::SecurityPlan;

/// Settings that nothing here can apply.
const REFUSED_FIELDS: [&str; 3] = ["seLinuxOptions", "windowsOptions", "sysctls"];

/// The security settings of a container. `is_root` is whether this process runs as root.
pub(super) fn security_plan(
    pod: &Pod,
    container: &Container,
    is_root: bool,
) -> Result<SecurityPlan, PrepareError> {
    let no_fields = Extra::default();
    let context = container.security_context.as_ref();
    let own = context.map_or(&no_fields, |context| &context.extra);
    let pod_context = pod.spec.security_context.as_ref();
    let of_pod = pod_context.map_or(&no_fields, |context| &context.extra);
    check_refused(pod, container, [own, of_pod])?;
    if context.is_some_and(|context| context.privileged == Some(true)) && !is_root {
        return Err(refused("privileged: true requires that punctual runs as root"));
    }
    let capabilities = own.get("capabilities");
    Ok(SecurityPlan {
        dropped_capabilities: capability_set(capabilities, "drop")?.bits(),
        added_capabilities: capability_set(capabilities, "add")?.bits(),
        is_root_read_only: own.get("readOnlyRootFilesystem") == Some(&Value::Bool(true)),
        has_seccomp: has_seccomp(own.get("seccompProfile").or(of_pod.get("seccompProfile")))?,
    })
}

fn refused(why: impl std::fmt::Display) -> PrepareError {
    PrepareError::Unsupported(format!("securityContext: {why}"))
}

fn check_refused(
    pod: &Pod,
    container: &Container,
    contexts: [&Extra; 2],
) -> Result<(), PrepareError> {
    for context in contexts {
        let is_set = |field: &&&str| context.get(**field).is_some_and(|value| !is_empty(value));
        if let Some(field) = REFUSED_FIELDS.iter().find(is_set) {
            return Err(refused(format!("{field} is not supported; remove it")));
        }
        let profile = context.get("appArmorProfile").and_then(|profile| profile.get("type"));
        if profile.is_some_and(|kind| kind != "Unconfined") {
            return Err(refused("only the appArmorProfile Unconfined is supported"));
        }
    }
    if pod.spec.extra.get("hostUsers") == Some(&Value::Bool(false)) {
        return Err(PrepareError::Unsupported("hostUsers: false is not supported".to_owned()));
    }
    if !container.volume_devices.is_empty() {
        let message = format!("container {:?}: volumeDevices are not supported", container.name);
        return Err(PrepareError::Unsupported(message));
    }
    Ok(())
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

/// The capabilities in a list such as `["NET_RAW"]` or `["ALL"]`.
fn capability_set(
    capabilities: Option<&Value>,
    field: &str,
) -> Result<CapabilitySet, PrepareError> {
    let names = capabilities.and_then(|it| it.get(field)).and_then(Value::as_array);
    let mut set = CapabilitySet::empty();
    for name in names.into_iter().flatten().filter_map(Value::as_str) {
        let plain = name.strip_prefix("CAP_").unwrap_or(name);
        set |= match plain {
            "ALL" => CapabilitySet::all(),
            plain => CapabilitySet::from_name(plain)
                .ok_or_else(|| refused(format!("there is no capability {name:?}")))?,
        };
    }
    Ok(set)
}

fn has_seccomp(profile: Option<&Value>) -> Result<bool, PrepareError> {
    match profile.and_then(|profile| profile.get("type")).and_then(Value::as_str) {
        None | Some("Unconfined") => Ok(false),
        Some("RuntimeDefault") => Ok(true),
        Some(other) => Err(refused(format!("the seccompProfile {other} is not supported"))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn plan(spec: Value, context: Value) -> Result<SecurityPlan, String> {
        let mut spec = spec;
        spec["containers"] = json!([{"name": "c", "securityContext": context}]);
        let pod: Pod = serde_json::from_value(json!({"spec": spec})).unwrap();
        security_plan(&pod, &pod.spec.containers[0], false).map_err(|error| error.to_string())
    }

    #[test]
    fn settings_are_honoured_or_refused() {
        let context = json!({
            "capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE", "CAP_CHOWN"]},
            "readOnlyRootFilesystem": true, "allowPrivilegeEscalation": false,
        });
        let profile = json!({"securityContext": {"seccompProfile": {"type": "RuntimeDefault"}}});
        let found = plan(profile, context).unwrap();
        assert_eq!(found.dropped_capabilities, CapabilitySet::all().bits());
        let added = CapabilitySet::NET_BIND_SERVICE | CapabilitySet::CHOWN;
        assert_eq!(found.added_capabilities, added.bits());
        assert!(found.is_root_read_only && found.has_seccomp);
        assert_eq!(plan(json!({}), json!({})).unwrap(), SecurityPlan::default());
        for (spec, context, want) in [
            (json!({}), json!({"capabilities": {"add": ["FLY"]}}), "FLY"),
            (json!({}), json!({"seccompProfile": {"type": "Localhost"}}), "Localhost"),
            (json!({}), json!({"seLinuxOptions": {"level": "s0"}}), "seLinuxOptions"),
            (json!({}), json!({"appArmorProfile": {"type": "RuntimeDefault"}}), "appArmor"),
            (json!({}), json!({"privileged": true}), "privileged"),
            (json!({"hostUsers": false}), json!({}), "hostUsers"),
            (
                json!({"securityContext": {"sysctls": [{"name": "a", "value": "b"}]}}),
                json!({}),
                "sysctls",
            ),
        ] {
            let error = plan(spec, context).unwrap_err();
            assert!(error.contains(want), "{error}");
        }
    }
}
