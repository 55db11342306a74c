//! What containers find: variables, folder, user.

use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::world::{World, pod, script, terminated};

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_variable_has_its_value() {
    let world = World::new().await;
    world
        .create(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"},
        "data": {"one": "1", "two": "from map"}}))
        .await;
    world
        .create(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"},
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
    let made = world.create(object).await;
    let uid = made["metadata"]["uid"].as_str().unwrap();
    world.end_of("p").await;
    let said = world.said(uid, "c").await;
    let lines: Vec<&str> = said.lines().collect();
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
        assert!(lines.contains(&want), "{want} is not in {said}");
    }
    assert!(!said.contains("MAYBE"));
    assert!(!said.contains("CARGO"), "nothing of ours is handed down");
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_are_expanded_but_not_by_a_shell() {
    let world = World::new().await;
    let mut spec = json!({"containers": [{"name": "c", "image": "none",
        "command": ["printf", "%s|"], "args": ["$(A)", "$HOME", "$$(A)", "*"]}]});
    spec["containers"][0]["env"] = json!([{"name": "A", "value": "x y"}]);
    let uid = world.pod("p", spec).await;
    world.end_of("p").await;
    assert_eq!(world.said(&uid, "c").await, "x y|$HOME|$(A)|*|");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_starts_in_its_own_empty_folder_or_where_it_wants() {
    let world = World::new().await;
    let text = "ls -A | wc -l; umask; readlink /proc/$$/fd/0; touch mine; pwd";
    let uid = world.pod("p", script(text)).await;
    world.end_of("p").await;
    let folder = world.data().join("pods").join(&uid).join("run/c/scratch");
    assert_eq!(world.said(&uid, "c").await, format!("0\n0022\n/dev/null\n{}\n", folder.display()));
    let mut spec = script("pwd");
    spec["containers"][0]["workingDir"] = "/usr".into();
    let uid = world.pod("q", spec.clone()).await;
    world.end_of("q").await;
    assert_eq!(world.said(&uid, "c").await, "/usr\n");
    spec["containers"][0]["workingDir"] = "/no/such/folder".into();
    world.pod("r", spec).await;
    let pod = world.end_of("r").await;
    assert_eq!(terminated(&pod)["reason"], "StartError");
    assert!(terminated(&pod)["message"].as_str().unwrap().contains("/no/such/folder"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_runs_as_the_user_it_asks_for() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let world = World::new().await;
    let mut spec =
        script("id -u; id -g; id -G; touch mine && cat /data/file > /dev/termination-log");
    spec["securityContext"] = json!({"runAsUser": 1234, "runAsGroup": 2345, "fsGroup": 3456, "supplementalGroups": [4567]});
    spec["volumes"] = json!([{"name": "v", "downwardAPI": {"items": [
        {"path": "file", "mode": 0o440, "fieldRef": {"fieldPath": "metadata.name"}}]}}]);
    spec["containers"][0]["volumeMounts"] = json!([{"name": "v", "mountPath": "/data"}]);
    let uid = world.pod("p", spec).await;
    let pod = world.end_of("p").await;
    let said = world.said(&uid, "c").await;
    assert_eq!(said.lines().take(2).collect::<Vec<_>>(), ["1234", "2345"], "{said}");
    assert!(said.contains("3456") && said.contains("4567"), "{said}");
    assert_eq!(terminated(&pod)["message"], "p", "{pod:#}");
    let mut spec = script("true");
    spec["securityContext"] = json!({"runAsNonRoot": true});
    world.pod("root", spec).await;
    let pod = world.end_of("root").await;
    assert!(terminated(&pod)["message"].as_str().unwrap().contains("runAsNonRoot"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_waits_for_what_it_refers_to_and_starts_when_it_appears() {
    let world = World::with(|config| config.max_pods = 1).await;
    let mut spec = script("echo $V");
    spec["containers"][0]["env"] = json!([
        {"name": "V", "valueFrom": {"configMapKeyRef": {"name": "late", "key": "k"}}}]);
    let uid = world.pod("p", spec).await;
    let waits = |pod: &serde_json::Value, words: &str| {
        let waiting = &pod["status"]["containerStatuses"][0]["state"]["waiting"];
        waiting["reason"] == "CreateContainerConfigError" && waiting["message"] == words
    };
    world.until("p", |pod| waits(pod, "configmap \"late\" not found")).await;
    assert!(world.event("p", "Failed").await.contains("not found"));
    // It does not hold up others meanwhile.
    world.pod("other", script("true")).await;
    world.end_of("other").await;
    world
        .create(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "late"},
        "data": {"other": "x"}}))
        .await;
    world.until("p", |pod| waits(pod, "couldn't find key k in ConfigMap default/late")).await;
    let patch = json!({"data": {"k": "here now"}});
    let maps = world.api("ConfigMap", "configmaps");
    maps.patch("late", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    assert_eq!(world.end_of("p").await["status"]["phase"], "Succeeded");
    assert_eq!(world.said(&uid, "c").await, "here now\n");
}
