//! Tests of default values. Applying them twice must change nothing.

use serde_json::{Value, json};

use super::*;

#[track_caller]
fn check(fill: fn(&mut Value), given: Value, pointer: &str, want: Value) {
    let mut object = given;
    fill(&mut object);
    assert_eq!(object.pointer(pointer), Some(&want), "{pointer} of {object:#}");
    let once = object.clone();
    fill(&mut object);
    assert_eq!(object, once, "filling in twice changes something");
}

fn job_with_pod_spec(spec: Value) -> Value {
    json!({"spec": {"template": {"spec": spec}}})
}

#[test]
fn a_pod_template_gets_the_defaults_of_kubernetes() {
    let spec = json!({
        "containers": [{
            "name": "c", "image": "a:1", "ports": [{"containerPort": 80}],
            "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                    {"name": "B", "value": "",
                        "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}],
            "resources": {"limits": {"cpu": 0.5, "memory": "1024Mi"}},
            "livenessProbe": {"httpGet": {"port": 80}},
        }],
        "volumes": [{"name": "e"}, {"name": "s", "secret": {"secretName": "x"}}],
        "serviceAccount": "me", "hostNetwork": false, "initContainers": [], "x-new": {"a": null},
    });
    check(
        job,
        job_with_pod_spec(spec),
        "/spec/template/spec",
        json!({
            "containers": [{
                "name": "c", "image": "a:1", "ports": [{"containerPort": 80, "protocol": "TCP"}],
                "env": [{"name": "A", "valueFrom": {"fieldRef": {"apiVersion": "v1",
                    "fieldPath": "metadata.name"}}},
                        {"name": "B",
                            "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu",
                            "divisor": "0"}}}],
                "resources": {"limits": {"cpu": "500m", "memory": "1Gi"}},
                "livenessProbe": {"httpGet": {"path": "/", "port": 80, "scheme": "HTTP"},
                    "timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1,
                        "failureThreshold": 3},
                "terminationMessagePath": "/dev/termination-log",
                    "terminationMessagePolicy": "File",
                "imagePullPolicy": "IfNotPresent",
            }],
            "volumes": [{"name": "e", "emptyDir": {}},
                        {"name": "s", "secret": {"secretName": "x", "defaultMode": 420}}],
            "restartPolicy": "Always", "terminationGracePeriodSeconds": 30,
                "dnsPolicy": "ClusterFirst",
            "serviceAccount": "me", "serviceAccountName": "me", "securityContext": {},
            "schedulerName": "default-scheduler", "x-new": {"a": null},
        }),
    );
}

#[test]
fn a_job_template_does_not_get_the_defaults_of_a_job() {
    let given = json!({"spec": {"schedule": "x", "jobTemplate": {"spec": {}}}});
    let mut cron_job_object = given;
    cron_job(&mut cron_job_object);
    assert_eq!(cron_job_object.pointer("/spec/jobTemplate/spec/backoffLimit"), None);
    for (given, pointer, want) in [
        (json!({}), "/spec/backoffLimit", json!(6)),
        (json!({}), "/spec/completions", json!(1)),
        (json!({"parallelism": 3}), "/spec/parallelism", json!(3)),
        (json!({"completions": 3}), "/spec/parallelism", json!(1)),
        (json!({"backoffLimitPerIndex": 0}), "/spec/backoffLimit", json!(2147483647)),
        (json!({"podFailurePolicy": {"rules": []}}), "/spec/podReplacementPolicy", json!("Failed")),
        (
            json!({"podFailurePolicy": {"rules": [{"action": "Count",
                "onPodConditions": [{"type": "A"}]}]}}),
            "/spec/podFailurePolicy/rules/0/onPodConditions/0/status",
            json!("True"),
        ),
    ] {
        check(job, json!({"spec": given}), pointer, want);
    }
    let mut only_parallel = json!({"spec": {"parallelism": 3}});
    job(&mut only_parallel);
    assert_eq!(only_parallel.pointer("/spec/completions"), None);
}

#[test]
fn the_selector_is_generated_unless_it_is_manual() {
    let mut object = json!({"metadata": {"name": "j"}, "spec": {}});
    generate_selector(&mut object, "u-1");
    assert_eq!(
        object,
        json!({
            "metadata": {"name": "j"},
            "spec": {
                "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": "u-1"}},
                "template": {"metadata": {"labels": {"job-name": "j", "controller-uid": "u-1",
                    "batch.kubernetes.io/job-name": "j",
                        "batch.kubernetes.io/controller-uid": "u-1"}}},
            },
        })
    );
    let mut manual = json!({"metadata": {"name": "j"}, "spec": {"manualSelector": true}});
    generate_selector(&mut manual, "u-1");
    assert_eq!(manual.pointer("/spec/selector"), None);
}

#[test]
fn missing_requests_of_a_pod_default_to_its_limits() {
    let container = json!({"name": "c", "resources": {"limits": {"cpu": "1", "memory": "1Mi"},
        "requests": {"cpu": "500m"}}, "ports": [{"containerPort": 80}]});
    let given = json!({"spec": {"hostNetwork": true, "containers": [container]}});
    check(
        pod,
        given.clone(),
        "/spec/containers/0/resources/requests",
        json!({"cpu": "500m", "memory": "1Mi"}),
    );
    check(pod, given, "/spec/containers/0/ports/0/hostPort", json!(80));
}

#[test]
fn values_of_the_wrong_type_do_not_panic() {
    for given in [
        json!(null),
        json!([]),
        json!({"spec": 1}),
        json!({"spec": {"jobTemplate": "x"}}),
        json!({"spec": {"template": {"spec": {"containers": {}, "volumes": [1, null]}}}}),
    ] {
        for fill in [cron_job, job, pod] {
            fill(&mut given.clone());
        }
    }
}

#[test]
fn the_target_of_a_run_request_is_a_cron_job_by_default() {
    let env = json!([{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]);
    let spec = json!({
        "target": {"name": "a"}, "now": false, "slots": ["2026-11-02T01:00:00.5+01:00"],
        "overrides": {"containers": [{"name": "c", "args": [], "env": env}]},
    });
    let version = json!({"apiVersion": "v1", "fieldPath": "metadata.name"});
    check(
        run_request,
        json!({"kind": "RunRequest", "spec": spec}),
        "/spec",
        json!({
            "target": {"kind": "CronJob", "name": "a"}, "slots": ["2026-11-02T00:00:00Z"],
            "overrides": {"containers": [{"name": "c", "args": [],
                "env": [{"name": "A", "valueFrom": {"fieldRef": version}}]}]},
        }),
    );
}
