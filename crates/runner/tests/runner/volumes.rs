//! Tests of volumes in the mount namespace of a container.

use std::path::Path;

use serde_json::json;

use crate::test_node::{TestNode, container, pod, script, terminated};

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_volume_is_mounted_at_its_path() {
    let node = TestNode::new().await;
    node.create(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"},
        "data": {"a.txt": "map a", "b.txt": "map b"},
        "binaryData": {"bin": "AAEC"}}))
        .await;
    node.create(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"},
        "stringData": {"password": "hush"}}))
        .await;
    let host = node.folder.path().join("host");
    std::fs::create_dir(&host).unwrap();
    std::fs::write(host.join("file"), "from host").unwrap();
    let text = "cat /punctual-map/a.txt; echo; ls /punctual-map | tr '\\n' ' '; echo; \
        od -An -tx1 /punctual-map/bin; \
        cat /etc/punctual-some/deep/renamed; echo; stat -c %a /etc/punctual-some/deep/renamed; \
        cat /punctual-secret/password; echo; stat -c %a /punctual-secret/password; \
        cat /punctual-host/file; echo; echo written > /punctual-host/out; \
        cat /punctual-down/labels; echo; cat /punctual-all/x /punctual-all/y /punctual-all/z; echo; \
        touch /punctual-map/new 2>/dev/null || echo read-only; \
        cat /punctual-one/file; echo; mkdir /punctual-sub/made; ls /etc/passwd";
    let mut object = pod("p", script(text));
    object["metadata"]["labels"] = json!({"app": "web"});
    object["spec"]["volumes"] = json!([
        {"name": "map", "configMap": {"name": "m"}},
        {"name": "some", "configMap": {"name": "m", "items": [
            {"key": "b.txt", "path": "deep/renamed", "mode": 0o600}]}},
        {"name": "secret", "secret": {"secretName": "s", "defaultMode": 0o400}},
        {"name": "host", "hostPath": {"path": host}},
        {"name": "down", "downwardAPI": {"items": [
            {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
        {"name": "all", "projected": {"sources": [
            {"configMap": {"name": "m", "items": [{"key": "a.txt", "path": "x"}]}},
            {"secret": {"name": "s", "items": [{"key": "password", "path": "y"}]}},
            {"downwardAPI": {"items": [
                {"path": "z", "fieldRef": {"fieldPath": "metadata.name"}}]}},
            {"configMap": {"name": "none", "optional": true}},
            {"serviceAccountToken": {"path": "token"}},
        ]}},
        {"name": "empty", "emptyDir": {}},
    ]);
    object["spec"]["containers"][0]["volumeMounts"] = json!([
        {"name": "map", "mountPath": "/punctual-map", "readOnly": true},
        {"name": "some", "mountPath": "/etc/punctual-some"},
        {"name": "secret", "mountPath": "/punctual-secret"},
        {"name": "host", "mountPath": "/punctual-host"},
        {"name": "down", "mountPath": "/punctual-down"},
        {"name": "all", "mountPath": "/punctual-all"},
        {"name": "map", "mountPath": "/punctual-one/file", "subPath": "a.txt"},
        {"name": "empty", "mountPath": "/punctual-sub", "subPath": "a/b"},
    ]);
    let made = node.create(object).await;
    let uid = made["metadata"]["uid"].as_str().unwrap();
    let pod = node.wait_for_end("p").await;
    let output = node.output(uid, "c").await;
    assert_eq!(
        output,
        "map a\na.txt b.txt bin \n 00 01 02\nmap b\n600\nhush\n400\nfrom host\napp=\"web\"\n\
         map ahushp\nread-only\nmap a\n/etc/passwd\n",
        "{pod:#}"
    );
    assert_eq!(pod["status"]["phase"], "Succeeded");
    assert_eq!(std::fs::read_to_string(host.join("out")).unwrap(), "written\n");
    let empty = node.data().join("pods").join(uid).join("volumes/empty/a/b/made");
    assert!(empty.is_dir());
    assert_no_mount_points();
}

/// Checks that no mount point was created on the machine.
fn assert_no_mount_points() {
    let entries = |path: &str| std::fs::read_dir(path).unwrap().flatten();
    for entry in entries("/").chain(entries("/etc")) {
        assert!(!entry.file_name().to_string_lossy().starts_with("punctual-"), "{entry:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn containers_share_an_empty_dir_that_the_machine_does_not_see() {
    let node = TestNode::new().await;
    let mut spec = json!({"containers": [
        container("writer", "echo shared > /punctual-x/f"),
        container("reader", "until [ -s /punctual-x/f ]; do sleep 0.01; done; cat /punctual-x/f")],
        "volumes": [{"name": "x", "emptyDir": {"medium": "Memory"}}]});
    for index in 0..2 {
        spec["containers"][index]["volumeMounts"] =
            json!([{"name": "x", "mountPath": "/punctual-x"}]);
    }
    let uid = node.create_pod("p", spec).await;
    node.wait_for_end("p").await;
    assert_eq!(node.output(&uid, "reader").await, "shared\n");
    assert!(!Path::new("/punctual-x").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_host_path_is_an_error_or_is_created() {
    let node = TestNode::new().await;
    let missing = node.folder.path().join("missing");
    let mut spec = script("echo in > /punctual-h/f");
    spec["volumes"] = json!([{"name": "h", "hostPath": {"path": missing}}]);
    spec["containers"][0]["volumeMounts"] = json!([{"name": "h", "mountPath": "/punctual-h"}]);
    node.create_pod("fails", spec.clone()).await;
    let pod = node.wait_for_end("fails").await;
    assert_eq!(terminated(&pod)["reason"], "StartError");
    assert!(terminated(&pod)["message"].as_str().unwrap().contains("missing"));
    spec["volumes"][0]["hostPath"]["type"] = "DirectoryOrCreate".into();
    node.create_pod("created", spec).await;
    node.wait_for_end("created").await;
    assert_eq!(std::fs::read_to_string(missing.join("f")).unwrap(), "in\n");
}

/// An unprivileged user can make a link in a folder that a hostPath names, and we may be root.
#[tokio::test(flavor = "multi_thread")]
async fn a_missing_host_path_is_not_created_through_a_link() {
    let node = TestNode::new().await;
    let outside = tempfile::tempdir().unwrap();
    let folder = node.folder.path().join("shared");
    std::fs::create_dir(&folder).unwrap();
    std::os::unix::fs::symlink(outside.path().join("made"), folder.join("link")).unwrap();
    for (number, (path, kind)) in [
        ("link", "FileOrCreate"),
        ("link", "DirectoryOrCreate"),
        ("link/deeper", "FileOrCreate"),
        ("link/deeper", "DirectoryOrCreate"),
        ("none/deeper", "FileOrCreate"),
    ]
    .into_iter()
    .enumerate()
    {
        let mut spec = script("true");
        spec["volumes"] =
            json!([{"name": "h", "hostPath": {"path": folder.join(path), "type": kind}}]);
        spec["containers"][0]["volumeMounts"] = json!([{"name": "h", "mountPath": "/punctual-h"}]);
        let name = format!("p{number}");
        node.create_pod(&name, spec).await;
        let pod = node.wait_for_end(&name).await;
        assert_eq!(terminated(&pod)["reason"], "StartError", "{path} {kind}: {pod:#}");
        let entries = std::fs::read_dir(outside.path()).unwrap().count();
        assert_eq!(entries, 0, "{path} {kind} made something outside");
    }
    assert!(!folder.join("none").exists());
    let mut spec = script("echo in > /punctual-h");
    spec["volumes"] =
        json!([{"name": "h", "hostPath": {"path": folder.join("file"), "type": "FileOrCreate"}}]);
    spec["containers"][0]["volumeMounts"] = json!([{"name": "h", "mountPath": "/punctual-h"}]);
    node.create_pod("created", spec).await;
    node.wait_for_end("created").await;
    assert_eq!(std::fs::read_to_string(folder.join("file")).unwrap(), "in\n");
}
