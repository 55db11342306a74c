//! Tests of the environment of containers: variables, working directory, user.

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

/// jemalloc, the allocator of released builds, would start a thread, and a process with two threads gets no
/// user namespace, without which an ordinary user cannot mount volumes.
#[tokio::test(flavor = "multi_thread")]
async fn a_supervisor_is_told_to_have_one_thread_and_its_containers_are_not() {
    let node = TestNode::new().await;
    let uid = node.create_pod("p", script("exec sleep 1000")).await;
    node.wait_until_running("p").await;
    let supervisor = node.state(&uid)["supervisorPid"].as_i64().unwrap();
    let environment = std::fs::read_to_string(format!("/proc/{supervisor}/environ")).unwrap();
    assert!(
        environment.starts_with("_RJEM_MALLOC_CONF=background_thread:false,"),
        "{environment:?}"
    );
    let uid = node.create_pod("env", script("env")).await;
    node.wait_for_end("env").await;
    assert!(!node.output(&uid, "c").await.contains("MALLOC_CONF"));
}

/// A folder that other users may enter, with a file that only the group of root may read.
fn file_of_group_root() -> (tempfile::TempDir, std::path::PathBuf) {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let set_mode = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    set_mode(folder.path(), 0o755);
    let file = folder.path().join("file");
    std::fs::write(&file, "of root").unwrap();
    set_mode(&file, 0o640);
    (folder, file)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_has_the_groups_of_the_user_database_and_not_those_of_root() {
    if !rustix::process::geteuid().is_root() {
        return println!("skipped: only root can run containers as other users");
    }
    let node = TestNode::new().await;
    let (_folder, file) = file_of_group_root();
    let text = format!("id -g; id -G; cat {} 2> /dev/null || echo denied", file.display());
    // The first user is in the database, the other is not.
    for user in [65534, 54321] {
        let mut spec = script(&text);
        spec["securityContext"] = json!({"runAsUser": user});
        let name = format!("user-{user}");
        let uid = node.create_pod(&name, spec).await;
        node.wait_for_end(&name).await;
        assert_eq!(node.output(&uid, "c").await, "65534\n65534\ndenied\n");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_of_another_user_uses_its_folder_and_its_termination_log() {
    if !rustix::process::geteuid().is_root() {
        return println!("skipped: only root can run containers as other users");
    }
    let node = TestNode::new().await;
    let text = "pwd; cd \"$PWD\" && touch \"$HOME/x\" && ls; echo $SHELL; \
        printf done > \"$PUNCTUAL_TERMINATION_LOG\"; ls /run/punctual/scratch/..";
    let mut spec = script(text);
    spec["securityContext"] = json!({"runAsUser": 54321});
    let uid = node.create_pod("p", spec).await;
    let pod = node.wait_for_end("p").await;
    let want = "/run/punctual/scratch\nx\n/bin/sh\nscratch\n";
    assert_eq!(node.output(&uid, "c").await, want, "{pod:#}");
    assert_eq!(terminated(&pod)["message"], "done");
    let folder = node.data().join("pods").join(&uid).join("run/c/scratch");
    assert!(folder.join("x").exists());
}

/// The name and home directory of the user with the ID 65534.
fn user_without_rights() -> (String, String) {
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap();
    let mut users = passwd.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let user = users.find(|fields| fields[2] == "65534").unwrap();
    (user[0].to_owned(), user[5].to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_may_be_named_and_has_the_variables_that_cron_sets() {
    if !rustix::process::geteuid().is_root() {
        return println!("skipped: only root can run containers as other users");
    }
    let node = TestNode::new().await;
    let (user, home) = user_without_rights();
    let text = "id -un; echo \"$HOME $USER $LOGNAME $SHELL\"";
    let mut object = pod("p", script(text));
    object["metadata"]["annotations"] = json!({"punctual.dev/run-as-user": user});
    let uid = node.create(object.clone()).await["metadata"]["uid"].as_str().unwrap().to_owned();
    node.wait_for_end("p").await;
    let want = format!("{user}\n{home} {user} {user} /bin/sh\n");
    assert_eq!(node.output(&uid, "c").await, want);
    object["metadata"]["name"] = "q".into();
    object["metadata"]["annotations"]["punctual.dev/login-variables"] = "false".into();
    let uid = node.create(object.clone()).await["metadata"]["uid"].as_str().unwrap().to_owned();
    node.wait_for_end("q").await;
    let want = format!("{user}\n/run/punctual/scratch   \n");
    assert_eq!(node.output(&uid, "c").await, want);
    object["metadata"]["name"] = "r".into();
    object["metadata"]["annotations"]["punctual.dev/run-as-user"] = "no-such-user".into();
    node.create(object).await;
    let pod = node.wait_for_end("r").await;
    assert_eq!(pod["status"]["reason"], "UnsupportedPod");
    assert!(pod["status"]["message"].as_str().unwrap().contains("no-such-user"));
}
