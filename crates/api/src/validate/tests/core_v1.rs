//! Tests of the validation of Namespaces, ConfigMaps, Secrets, Leases and Events.

use super::*;

fn meta() -> Value {
    json!({"name": "x", "namespace": "n", "resourceVersion": "1"})
}

#[test]
fn lease_durations_and_transitions_are_validated() {
    let lease_of = |spec: Value| -> Lease {
        serde_json::from_value(json!({"metadata": meta(), "spec": spec})).unwrap()
    };
    check(lease(&lease_of(json!({"leaseDurationSeconds": 15})), None), &[]);
    check(
        lease(&lease_of(json!({"leaseDurationSeconds": 0, "leaseTransitions": -1})), None),
        &[
            "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
            "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
        ],
    );
}

#[test]
fn config_map_keys_are_validated_and_immutable_data_cannot_change() {
    let map_of = |content: Value| -> ConfigMap {
        serde_json::from_value(with(content, &[("/metadata", meta())])).unwrap()
    };
    let fixed = map_of(json!({"data": {"a": "1"}, "immutable": true}));
    check(config_map(&fixed, Some(&fixed)), &[]);
    let changed = map_of(json!({"data": {"a": "2"}, "binaryData": {"a": "", "..b": ""}}));
    check(
        config_map(&changed, Some(&fixed)),
        &[
            "immutable: Forbidden: field is immutable when `immutable` is set",
            "data: Forbidden: field is immutable when `immutable` is set",
            "binaryData: Forbidden: field is immutable when `immutable` is set",
            "data[a]: Invalid value: \"a\": duplicate of key present in binaryData",
            "binaryData[..b]: Invalid value: \"..b\": must not start with '..'",
        ],
    );
    let large = map_of(json!({"data": {"a": "x".repeat(1024 * 1024 + 1)}}));
    check(config_map(&large, None), &[": Too long: may not be more than 1048576 bytes"]);
}

#[test]
fn a_secret_must_have_the_keys_of_its_type() {
    let secret_of = |purpose: &str| -> Secret {
        serde_json::from_value(json!({"metadata": meta(), "type": purpose})).unwrap()
    };
    check(
        secret(&secret_of("kubernetes.io/tls"), Some(&secret_of("Opaque"))),
        &[
            "type: Invalid value: \"kubernetes.io/tls\": field is immutable",
            "data[tls.crt]: Required value",
            "data[tls.key]: Required value",
        ],
    );
}

#[test]
fn the_name_of_a_namespace_must_be_a_dns_label() {
    let named = |name: &str| -> Namespace {
        serde_json::from_value(json!({"metadata": {"name": name}})).unwrap()
    };
    check(namespace_create(&named("a-b")), &[]);
    check(
        namespace_create(&named("a.b")),
        &["metadata.name: Invalid value: \"a.b\": must not contain dots"],
    );
    check(
        namespace_create(&named("")),
        &["metadata.name: Required value: name or generateName is required"],
    );
}

/// The messages are those of kube-apiserver v1.36, except for scopes.
#[test]
fn the_keys_and_values_of_a_quota_are_validated() {
    let quota_of = |spec: Value| -> ResourceQuota {
        serde_json::from_value(json!({"metadata": meta(), "spec": spec})).unwrap()
    };
    let create = |spec: Value, want: &[&str]| check(resource_quota(&quota_of(spec), None), want);
    create(json!({}), &[]);
    create(
        json!({"hard": {"pods": "10", "count/jobs.batch": "1k", "limits.cpu": "500m",
            "hugepages-2Mi": "1", "requests.hugepages-2Mi": "1", "example.com/gpu": "2"}}),
        &[],
    );
    create(
        json!({"hard": {"bogus": "1", "storage": "1"}}),
        &[
            "spec.hard[bogus]: Invalid value: \"bogus\": must be a standard resource type or fully \
             qualified",
            "spec.hard[bogus]: Invalid value: \"bogus\": must be a standard resource for quota",
            "spec.hard[storage]: Invalid value: \"storage\": must be a standard resource for quota",
        ],
    );
    create(
        json!({"hard": {"pods": "1.5", "secrets": "-1", "count/jobs.batch": "500m"}}),
        &[
            "spec.hard[count/jobs.batch]: Invalid value: \"500m\": must be an integer",
            "spec.hard[pods]: Invalid value: \"1500m\": must be an integer",
            "spec.hard[secrets]: Invalid value: \"-1\": must be greater than or equal to 0",
        ],
    );
    create(
        json!({"scopes": ["BestEffort"], "scopeSelector": {"matchExpressions": []}}),
        &[
            "spec.scopes: Forbidden: this server does not support scopes; omit the field",
            "spec.scopeSelector: Forbidden: this server does not support scopes; omit the field",
        ],
    );
}
