//! The environment of containers: variables, working directory, user.

use kube::api::{Patch, PatchParams};
use punctual_client::resources::CONFIG_MAPS;
use serde_json::json;

use crate::test_node::{TestNode, pod, script, terminated};

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_variable_has_its_value() {
    let node = TestNode::new().await;
    node.create(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"},
        "data": {"one": "1", "two": "from map"}}))
        .await;
    node.create(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"},
        "stringData": {"key": "hidden", "two": "from secret"}}))
        .await;
    let mut object = pod("p", script("env | sort"));
    object["metadata"]["labels"] = json!({"app": "web"});
    let container = &mut object["spec"]["containers"][0];
    container["resources"] = json!({"limits": {"cpu": "1500m", "memory": "64Mi"}});
    container["envFrom"] = json!([
        {"prefix": "M_", "configMapRef": {"name": "m"}},
        {"configMapRef": {"name": "none", "optional": true}},
        {"secretRef": {"name": "s"}},
    ]);
    container["env"] = json!([
        {"name": "A", "value": "a"},
        {"name": "B", "value": "$(A)-$(M_one)-$(NONE)-$$(A)"},
        {"name": "two", "value": "replaced"},
        {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "APP", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['app']"}}},
        {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
        {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
        {"name": "MEM", "valueFrom": {"resourceFieldRef":
            {"resource": "limits.memory", "divisor": "1Mi"}}},
        {"name": "MAP", "valueFrom": {"configMapKeyRef": {"name": "m", "key": "one"}}},
        {"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "s", "key": "key"}}},
        {"name": "MAYBE", "valueFrom": {"secretKeyRef":
            {"name": "s", "key": "none", "optional": true}}},
    ]);
    let made = node.create(object).await;
    let uid = made["metadata"]["uid"].as_str().unwrap();
    node.wait_for_end("p").await;
    let output = node.output(uid, "c").await;
    let lines: Vec<&str> = output.lines().collect();
    for want in [
        "A=a",
        "B=a-1-$(NONE)-$(A)",
        "M_one=1",
        "M_two=from map",
        "key=hidden",
        "two=replaced",
        "NAME=p",
        "APP=web",
        "NODE=here",
        "CPU=2",
        "MEM=64",
        "MAP=1",
        "SECRET=hidden",
        "HOSTNAME=p",
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    ] {
        assert!(lines.contains(&want), "{want} is not in {output}");
    }
    assert!(!output.contains("MAYBE"));
    assert!(!output.contains("CARGO"), "the daemon's variables are not inherited");
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_are_expanded_without_a_shell() {
    let node = TestNode::new().await;
    let mut spec = json!({"containers": [{"name": "c", "image": "none",
        "command": ["printf", "%s|"], "args": ["$(A)", "$HOME", "$$(A)", "*"]}]});
    spec["containers"][0]["env"] = json!([{"name": "A", "value": "x y"}]);
    let uid = node.create_pod("p", spec).await;
    node.wait_for_end("p").await;
    assert_eq!(node.output(&uid, "c").await, "x y|$HOME|$(A)|*|");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_starts_in_an_empty_folder_or_in_its_working_dir() {
    let node = TestNode::new().await;
    let text = "ls -A | wc -l; umask; readlink /proc/$$/fd/0; touch mine; pwd";
    let uid = node.create_pod("p", script(text)).await;
    node.wait_for_end("p").await;
    let folder = node.data().join("pods").join(&uid).join("run/c/scratch");
    assert_eq!(node.output(&uid, "c").await, format!("0\n0022\n/dev/null\n{}\n", folder.display()));
    let mut spec = script("pwd");
    spec["containers"][0]["workingDir"] = "/usr".into();
    let uid = node.create_pod("q", spec.clone()).await;
    node.wait_for_end("q").await;
    assert_eq!(node.output(&uid, "c").await, "/usr\n");
    spec["containers"][0]["workingDir"] = "/no/such/folder".into();
    node.create_pod("r", spec).await;
    let pod = node.wait_for_end("r").await;
    assert_eq!(terminated(&pod)["reason"], "StartError");
    assert!(terminated(&pod)["message"].as_str().unwrap().contains("/no/such/folder"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_runs_as_the_user_of_its_security_context() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let node = TestNode::new().await;
    let mut spec =
        script("id -u; id -g; id -G; touch mine && cat /data/file > /dev/termination-log");
    spec["securityContext"] = json!({"runAsUser": 1234, "runAsGroup": 2345, "fsGroup": 3456, "supplementalGroups": [4567]});
    spec["volumes"] = json!([{"name": "v", "downwardAPI": {"items": [
        {"path": "file", "mode": 0o440, "fieldRef": {"fieldPath": "metadata.name"}}]}}]);
    spec["containers"][0]["volumeMounts"] = json!([{"name": "v", "mountPath": "/data"}]);
    let uid = node.create_pod("p", spec).await;
    let pod = node.wait_for_end("p").await;
    let output = node.output(&uid, "c").await;
    assert_eq!(output.lines().take(2).collect::<Vec<_>>(), ["1234", "2345"], "{output}");
    assert!(output.contains("3456") && output.contains("4567"), "{output}");
    assert_eq!(terminated(&pod)["message"], "p", "{pod:#}");
    let mut spec = script("true");
    spec["securityContext"] = json!({"runAsNonRoot": true});
    node.create_pod("root", spec).await;
    let pod = node.wait_for_end("root").await;
    assert!(terminated(&pod)["message"].as_str().unwrap().contains("runAsNonRoot"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_waits_for_missing_references_and_starts_when_they_exist() {
    let node = TestNode::with(|options| options.runner.max_pods = 1).await;
    let mut spec = script("echo $V");
    spec["containers"][0]["env"] = json!([
        {"name": "V", "valueFrom": {"configMapKeyRef": {"name": "late", "key": "k"}}}]);
    let uid = node.create_pod("p", spec).await;
    let is_waiting = |pod: &serde_json::Value, message: &str| {
        let waiting = &pod["status"]["containerStatuses"][0]["state"]["waiting"];
        waiting["reason"] == "CreateContainerConfigError" && waiting["message"] == message
    };
    node.wait_for("p", |pod| is_waiting(pod, "configmap \"late\" not found")).await;
    assert!(node.event("p", "Failed").await.contains("not found"));
    // The waiting Pod has no permit, so another Pod can run.
    node.create_pod("other", script("true")).await;
    node.wait_for_end("other").await;
    node.create(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "late"},
        "data": {"other": "x"}}))
        .await;
    node.wait_for("p", |pod| is_waiting(pod, "couldn't find key k in ConfigMap default/late"))
        .await;
    let patch = json!({"data": {"k": "here now"}});
    let maps = node.api(&CONFIG_MAPS);
    maps.patch("late", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    assert_eq!(node.wait_for_end("p").await["status"]["phase"], "Succeeded");
    assert_eq!(node.output(&uid, "c").await, "here now\n");
}
