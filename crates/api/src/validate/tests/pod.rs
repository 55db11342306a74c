//! Tests of the validation of Pod templates: containers, environment, probes, resources and
//! volumes.

use super::*;

const SPEC: &str = "spec.template.spec";

/// Errors of a Job whose Pod has these changes, with paths from the Pod's spec.
#[track_caller]
fn pod(changes: &[(&str, Value)], want: &[&str]) {
    let mut object = job();
    for (pointer, value) in changes {
        set(&mut object, &format!("/spec/template/spec{pointer}"), value.clone());
    }
    let errors = job_create(&read_job(object));
    let got: Vec<_> = errors.iter().map(FieldError::to_string).collect();
    let want: Vec<_> = want.iter().map(|text| format!("{SPEC}.{text}")).collect();
    assert_eq!(got, want);
}

/// The same for the first container.
#[track_caller]
fn container(changes: &[(&str, Value)], want: &[&str]) {
    let changes: Vec<_> =
        changes.iter().map(|(at, value)| (format!("/containers/0{at}"), value.clone())).collect();
    let changes: Vec<_> = changes.iter().map(|(at, value)| (at.as_str(), value.clone())).collect();
    let want: Vec<_> = want.iter().map(|text| format!("containers[0].{text}")).collect();
    pod(&changes, &want.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn container_names_images_and_policies_are_validated() {
    container(
        &[
            ("/name", json!("A")),
            ("/image", json!("")),
            ("/terminationMessagePolicy", json!("Shout")),
            ("/imagePullPolicy", json!("Sometimes")),
        ],
        &[
            "name: Invalid value: \"A\": a lowercase RFC 1123 label must consist of lower case \
             alphanumeric characters or '-', and must start and end with an alphanumeric character \
             (e.g. 'my-name',  or '123-abc', regex used for validation is \
             '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
            "image: Required value",
            "terminationMessagePolicy: Unsupported value: \"Shout\": supported values: \"File\", \
             \"FallbackToLogsOnError\"",
            "imagePullPolicy: Unsupported value: \"Sometimes\": supported values: \"Always\", \
             \"IfNotPresent\", \"Never\"",
        ],
    );
}

#[test]
fn init_containers_share_names_with_containers_and_have_no_probes() {
    pod(
        &[(
            "/initContainers",
            json!([
                {"name": "c", "image": "x", "lifecycle": {"preStop": {"sleep": {"seconds": 1}}}},
                {"name": "side", "image": "x", "restartPolicy": "Always",
                 "livenessProbe": {"exec": {"command": ["true"]}}},
                {"name": "odd", "image": "x", "restartPolicy": "Maybe"},
            ]),
        )],
        &[
            "initContainers[0].name: Duplicate value: \"c\"",
            "initContainers[0].lifecycle: Forbidden: may not be set for init containers without \
             restartPolicy=Always",
            "initContainers[2].restartPolicy: Unsupported value: \"Maybe\": supported values: \
             \"Always\", \"Never\", \"OnFailure\"",
        ],
    );
}

#[test]
fn port_numbers_and_names_are_validated() {
    container(
        &[(
            "/ports",
            json!([
                {"name": "Bad_Name", "containerPort": 70000},
                {"containerPort": 0, "hostPort": -1, "protocol": "FTP"},
                {"name": "a", "containerPort": 1, "hostPort": 5},
                {"name": "a", "containerPort": 2, "hostPort": 5},
            ]),
        )],
        &[
            "ports[0].name: Invalid value: \"Bad_Name\": must contain only alpha-numeric \
             characters \
             (a-z, 0-9), and hyphens (-)",
            "ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
            "ports[1].containerPort: Required value",
            "ports[1].hostPort: Invalid value: -1: must be between 1 and 65535, inclusive",
            "ports[1].protocol: Unsupported value: \"FTP\": supported values: \"SCTP\", \"TCP\", \
             \"UDP\"",
            "ports[3].name: Duplicate value: \"a\"",
            "ports[3].hostPort: Duplicate value: \"TCP//5\"",
        ],
    );
}

#[test]
fn each_variable_has_one_source() {
    container(
        &[(
            "/env",
            json!([
                {"name": "", "value": "x"},
                {"name": "A=B"},
                {"name": "C", "valueFrom": {}},
                {"name": "D", "value": "x",
                    "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                {"name": "E", "valueFrom": {"fieldRef": {"fieldPath": "spec.unknown"}}},
                {"name": "F", "valueFrom": {"fieldRef": {"fieldPath": "status.phase"}}},
                {"name": "G", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['a b']"}}},
                {"name": "H", "valueFrom": {"secretKeyRef": {"name": "s", "key": "a/b"}}},
                {"name": "I", "valueFrom": {"resourceFieldRef": {"resource": "limits.gpu"}}},
                {"name": "J", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu",
                    "divisor": "2"}}},
                {"name": "K",
                    "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['x.io/Y']"}}},
            ]),
        )],
        &[
            "env[0].name: Required value",
            "env[1].name: Invalid value: \"A=B\": a valid environment variable name must consist \
             only \
             of printable ASCII characters other than '='",
            "env[2].valueFrom: Invalid value: \"\": must specify one of: `fieldRef`, \
             `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
            "env[3].valueFrom: Invalid value: \"\": may not be specified when `value` is not empty",
            "env[4].valueFrom.fieldRef.fieldPath: Invalid value: \"spec.unknown\": error \
             converting \
             fieldPath: field label not supported: spec.unknown",
            "env[5].valueFrom.fieldRef.fieldPath: Unsupported value: \"status.phase\": supported \
             values: \"metadata.name\", \"metadata.namespace\", \"metadata.uid\", \
             \"spec.nodeName\", \
             \"spec.serviceAccountName\", \"status.hostIP\", \"status.hostIPs\", \"status.podIP\", \
             \"status.podIPs\"",
            "env[6].valueFrom.fieldRef: Invalid value: \"a b\": name part must consist of \
             alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
             character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
             '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
            "env[7].valueFrom.secretKeyRef.key: Invalid value: \"a/b\": a valid config key must \
             consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or \
             'KEY_NAME',  \
             or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
            "env[8].valueFrom.resourceFieldRef.resource: Unsupported value: \"limits.gpu\": \
             supported \
             values: \"limits.cpu\", \"limits.ephemeral-storage\", \"limits.memory\", \
             \"requests.cpu\", \"requests.ephemeral-storage\", \"requests.memory\"",
            "env[9].valueFrom.resourceFieldRef.divisor: Invalid value: \"limits.cpu\": only \
             divisor's \
             values 1m and 1 are supported with the cpu resource",
        ],
    );
    container(
        &[(
            "/envFrom",
            json!([{}, {"configMapRef": {}}, {"configMapRef": {"name": "a"},
                "secretRef": {"name": "b"}}]),
        )],
        &[
            "envFrom: Invalid value: \"\": must specify one of: `configMapRef` or `secretRef`",
            "envFrom[1].configMapRef.name: Required value",
            "envFrom: Invalid value: \"\": may not have more than one field specified at a time",
        ],
    );
}

#[test]
fn volumes_need_one_source_and_mounts_need_a_volume() {
    pod(
        &[
            (
                "/volumes",
                json!([
                    {"name": "ok", "emptyDir": {}},
                    {"name": "ok", "emptyDir": {"sizeLimit": "-1"}},
                    {"name": "two", "emptyDir": {}, "hostPath": {"path": "/x"}},
                    {"name": "up", "hostPath": {"path": "/a/../b", "type": "Cellar"}},
                    {"name": "s", "secret": {"defaultMode": 512, "items": [{"key": "",
                        "path": "../x"}]}},
                    {"name": "c", "configMap": {"name": "m", "items": [{"key": "k",
                        "path": "/abs", "mode": -1}]}},
                    {"name": "d", "downwardAPI": {"items": [{"path": "p"}]}},
                ]),
            ),
            (
                "/containers/0/volumeMounts",
                json!([
                    {"name": "ok", "mountPath": "/a"},
                    {"name": "none", "mountPath": "/a", "subPath": "/s"},
                    {"name": "ok", "mountPath": "", "mountPropagation": "Bidirectional"},
                ]),
            ),
        ],
        &[
            "volumes[1].emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource \
             quantity",
            "volumes[1].name: Duplicate value: \"ok\"",
            "volumes[2].hostPath: Forbidden: may not specify more than 1 volume type",
            "volumes[3].hostPath.path: Invalid value: \"/a/../b\": must not contain '..'",
            "volumes[3].hostPath.type: Unsupported value: \"Cellar\": supported values: \"\", \
             \"BlockDevice\", \"CharDevice\", \"Directory\", \"DirectoryOrCreate\", \"File\", \
             \"FileOrCreate\", \"Socket\"",
            "volumes[4].secret.secretName: Required value",
            "volumes[4].secret.defaultMode: Invalid value: 512: must be a number between 0 and \
             0777 \
             (octal), both inclusive",
            "volumes[4].secret.items[0].key: Required value",
            "volumes[4].secret.items[0].path: Invalid value: \"../x\": must not contain '..'",
            "volumes[5].configMap.items[0].path: Invalid value: \"/abs\": must be a relative path",
            "volumes[5].configMap.items[0].mode: Invalid value: -1: must be a number between 0 and \
             0777 (octal), both inclusive",
            "volumes[6].downwardAPI: Required value: one of fieldRef and resourceFieldRef is \
             required",
            "containers[0].volumeMounts[1].name: Not found: \"none\"",
            "containers[0].volumeMounts[1].mountPath: Invalid value: \"/a\": must be unique",
            "containers[0].volumeMounts.subPath: Invalid value: \"/s\": must be a relative path",
            "containers[0].volumeMounts[2].mountPath: Required value",
            "containers[0].volumeMounts.mountPropagation: Forbidden: Bidirectional mount \
             propagation \
             is available only to privileged containers",
        ],
    );
}

#[test]
fn resource_names_and_limits_are_validated() {
    container(
        &[(
            "/resources",
            json!({
                "limits": {"cpu": "1", "example.com/gpu": "500m", "hugepages-2Mi": "3Mi",
                    "memory": "-1"},
                "requests": {"cpu": "2", "gpu": 1, "example.com/fpga": 1},
            }),
        )],
        &[
            "resources.limits[example.com/gpu]: Invalid value: \"500m\": must be an integer",
            "resources.limits[hugepages-2Mi]: Invalid value: \"3Mi\": 3Mi is not positive integer \
             multiple of hugepages-2Mi",
            "resources.limits[memory]: Invalid value: \"-1\": must be greater than or equal to 0",
            "resources.requests: Invalid value: \"2\": must be less than or equal to cpu limit of \
             1",
            "resources.limits: Required value: Limit must be set for non overcommitable resources",
            "resources.requests[gpu]: Invalid value: \"gpu\": must be a standard resource type or \
             fully qualified",
            "resources.requests[gpu]: Invalid value: \"gpu\": must be a standard resource for \
             containers",
        ],
    );
}

#[test]
fn probes_need_one_action_and_valid_thresholds() {
    container(
        &[
            (
                "/livenessProbe",
                json!({"exec": {}, "tcpSocket": {"port": 1}, "successThreshold": 2}),
            ),
            (
                "/readinessProbe",
                json!({"httpGet": {"port": "no port", "scheme": "FTP",
                "httpHeaders": [{"name": "a b"}]}, "periodSeconds": -1,
                    "terminationGracePeriodSeconds": 5}),
            ),
            ("/startupProbe", json!({})),
            ("/lifecycle", json!({"preStop": {"sleep": {"seconds": 99}}})),
        ],
        &[
            "lifecycle.preStop.sleep: Invalid value: 99: must be non-negative and less than \
             terminationGracePeriodSeconds (30)",
            "livenessProbe.exec.command: Required value",
            "livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type",
            "livenessProbe.successThreshold: Invalid value: 2: must be 1",
            "readinessProbe.httpGet.port: Invalid value: \"no port\": must contain only \
             alpha-numeric \
             characters (a-z, 0-9), and hyphens (-)",
            "readinessProbe.httpGet.scheme: Unsupported value: \"FTP\": supported values: \
             \"HTTP\", \
             \"HTTPS\"",
            "readinessProbe.httpGet.httpHeaders: Invalid value: \"a b\": a valid HTTP header must \
             consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for \
             validation is '[-A-Za-z0-9]+')",
            "readinessProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0",
            "readinessProbe.terminationGracePeriodSeconds: Invalid value: 5: must not be set for \
             readinessProbes",
            "startupProbe: Required value: must specify a handler type",
        ],
    );
}

#[test]
fn pod_level_fields_are_validated() {
    pod(
        &[
            ("/restartPolicy", json!("Sometimes")),
            ("/dnsPolicy", json!("Odd")),
            ("/nodeSelector", json!({"a": "b c"})),
            ("/securityContext", json!({"runAsUser": -1, "supplementalGroups": [-2]})),
            ("/hostPID", json!(true)),
            ("/shareProcessNamespace", json!(true)),
            ("/activeDeadlineSeconds", json!(0)),
            (
                "/tolerations",
                json!([{"operator": "Equal", "effect": "Maybe", "tolerationSeconds": 1}]),
            ),
            ("/hostAliases", json!([{"ip": "nowhere"}])),
            ("/serviceAccountName", json!("A")),
        ],
        &[
            "restartPolicy: Unsupported value: \"Sometimes\": supported values: \"Always\", \
             \"OnFailure\", \"Never\"",
            "dnsPolicy: Unsupported value: \"Odd\": supported values: \"ClusterFirstWithHostNet\", \
             \"ClusterFirst\", \"Default\", \"None\"",
            "nodeSelector: Invalid value: \"b c\": a valid label must be an empty string or \
             consist \
             of alphanumeric characters, '-', '_' or '.', and must start and end with an \
             alphanumeric \
             character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is \
             '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
            "securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, \
             inclusive",
            "securityContext.supplementalGroups[0]: Invalid value: -2: must be between 0 and \
             2147483647, inclusive",
            "shareProcessNamespace: Invalid value: true: ShareProcessNamespace and HostPID cannot \
             both \
             be enabled",
            "serviceAccountName: Invalid value: \"A\": a lowercase RFC 1123 subdomain must \
             consist of \
             lower case alphanumeric characters, '-' or '.', and must start and end with an \
             alphanumeric character (e.g. 'example.com', regex used for validation is \
             '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
            "activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive",
            "tolerations[0].operator: Invalid value: \"Equal\": operator must be Exists when \
             `key` is \
             empty, which means \"match all values and all keys\"",
            "tolerations[0].effect: Invalid value: \"Maybe\": effect must be 'NoExecute' when \
             `tolerationSeconds` is set",
            "tolerations[0].effect: Unsupported value: \"Maybe\": supported values: \
             \"NoSchedule\", \
             \"PreferNoSchedule\", \"NoExecute\"",
            "hostAliases[0].ip: Invalid value: \"nowhere\": must be a valid IP address, (e.g. \
             10.9.8.7 \
             or 2001:db8::ffff)",
            "restartPolicy: Unsupported value: \"Sometimes\": supported values: \"OnFailure\", \
             \"Never\"",
        ],
    );
}

#[test]
fn some_rules_apply_to_pods_but_not_to_templates() {
    let spec = json!({"hostNetwork": true, "restartPolicy": "Always",
        "containers": [{"name": "c", "image": " x", "ports": [{"containerPort": 1,
            "hostPort": 2}]}]});
    let mut object = json!({"metadata": {"name": "p", "namespace": "n"}, "spec": spec});
    defaults::pod(&mut object);
    check(
        pod_create(&serde_json::from_value(object).unwrap()),
        &[
            "spec.containers[0].ports[0].hostPort: Invalid value: 2: must match `containerPort` \
             when \
             `hostNetwork` is true",
            "spec.containers[0].image: Invalid value: \" x\": must not have leading or trailing \
             whitespace",
        ],
    );
}

#[test]
fn only_images_deadline_and_tolerations_of_a_pod_may_change() {
    let read = |changes: &[(&str, Value)]| -> Pod {
        let spec = json!({"containers": [{"name": "c", "image": "x"}]});
        let meta = json!({"name": "p", "namespace": "n", "resourceVersion": "1"});
        let mut object = with(json!({"metadata": meta, "spec": spec}), changes);
        defaults::pod(&mut object);
        serde_json::from_value(object).unwrap()
    };
    let old = read(&[]);
    let image = read(&[
        ("/spec/containers/0/image", json!("y")),
        ("/spec/activeDeadlineSeconds", json!(5)),
        ("/spec/tolerations", json!([{"operator": "Exists"}])),
    ]);
    check(pod_update(&image, &old), &[]);
    let command = read(&[("/spec/containers/0/command", json!(["z"]))]);
    let errors = pod_update(&command, &old);
    assert_eq!(errors.len(), 1);
    assert!(
        errors[0].to_string().starts_with("spec: Forbidden: pod updates may not change fields")
    );
}
