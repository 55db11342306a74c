//! Tests of security settings: each is honoured or refused.

use std::path::Path;

use serde_json::{Value, json};

use crate::test_node::{TestNode, container, script, terminated};

fn with_context(text: &str, context: Value) -> Value {
    let mut spec = script(text);
    spec["containers"][0]["securityContext"] = context;
    spec
}

async fn run(node: &TestNode, name: &str, spec: Value) -> (Value, String) {
    let uid = node.create_pod(name, spec).await;
    let pod = node.wait_for_end(name).await;
    let output = node.output(&uid, "c").await;
    (pod, output)
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[tokio::test(flavor = "multi_thread")]
async fn dropped_capabilities_are_gone_and_added_ones_are_there() {
    if !is_root() {
        return println!("skipped: only root has capabilities");
    }
    let node = TestNode::new().await;
    let text = "grep -E '^Cap(Eff|Bnd)' /proc/self/status";
    let drop_all = json!({"capabilities": {"drop": ["ALL"]}});
    let (pod, output) = run(&node, "none", with_context(text, drop_all)).await;
    let zero = "0000000000000000";
    assert_eq!(output, format!("CapEff:\t{zero}\nCapBnd:\t{zero}\n"), "{pod:#}");
    let add = json!({"capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}});
    let (_, output) = run(&node, "root", with_context(text, add.clone())).await;
    let bind = "0000000000000400";
    assert_eq!(output, format!("CapEff:\t{bind}\nCapBnd:\t{bind}\n"));
    let mut spec = with_context(text, add);
    spec["containers"][0]["securityContext"]["runAsUser"] = 54321.into();
    let (pod, output) = run(&node, "user", spec).await;
    assert_eq!(output, format!("CapEff:\t{bind}\nCapBnd:\t{bind}\n"), "{pod:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn seccomp_refuses_mounts_and_namespaces_but_not_ordinary_programs() {
    let node = TestNode::new().await;
    let text = "unshare -m true 2> /dev/null || echo refused; ls / > /dev/null && (echo child); \
        grep -E '^Seccomp:' /proc/self/status";
    let context = json!({"seccompProfile": {"type": "RuntimeDefault"}});
    let (pod, output) = run(&node, "p", with_context(text, context)).await;
    assert_eq!(output, "refused\nchild\nSeccomp:\t2\n", "{pod:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_only_root_leaves_volumes_and_the_working_directory_writable() {
    let node = TestNode::new().await;
    let outside = tempfile::tempdir().unwrap();
    let text = format!(
        "touch {}/x 2> /dev/null || echo read-only; touch here && touch /punctual-v/x && \
         touch /punctual-r/x 2> /dev/null || echo read-only; echo > /dev/null && ls; \
         echo end > $PUNCTUAL_TERMINATION_LOG",
        outside.path().display()
    );
    let mut spec = with_context(&text, json!({"readOnlyRootFilesystem": true}));
    spec["volumes"] = json!([{"name": "v", "emptyDir": {}}, {"name": "r", "emptyDir": {}}]);
    spec["containers"][0]["volumeMounts"] = json!([
        {"name": "v", "mountPath": "/punctual-v"},
        {"name": "r", "mountPath": "/punctual-r", "readOnly": true, "recursiveReadOnly": "Enabled"},
    ]);
    let (pod, output) = run(&node, "p", spec).await;
    assert_eq!(output, "read-only\nread-only\nhere\n", "{pod:#}");
    assert_eq!(terminated(&pod)["message"], "end\n");
    assert!(!outside.path().join("x").exists());
    std::fs::write(outside.path().join("y"), "").unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_only_root_has_devices_but_no_writable_folder_of_the_machine_in_dev() {
    let node = TestNode::new().await;
    let name = format!("punctual-test-{}", std::process::id());
    let text = format!(
        "for d in /dev /dev/mqueue; do touch $d/{name} 2> /dev/null && echo \"$d is writable\"; done; \
         touch /dev/shm/{name} && ls /dev/shm; \
         echo > /dev/null && head -c 1 /dev/zero | wc -c && head -c 1 /dev/urandom | wc -c"
    );
    let spec = with_context(&text, json!({"readOnlyRootFilesystem": true}));
    let (pod, output) = run(&node, "p", spec).await;
    let is_left = ["/dev", "/dev/mqueue", "/dev/shm"].map(|folder| {
        // Removed before the check, so that a failed test leaves nothing on the machine.
        std::fs::remove_file(Path::new(folder).join(&name)).is_ok()
    });
    assert_eq!(is_left, [false; 3], "a file was left on the machine: {pod:#}");
    assert_eq!(output, format!("{name}\n1\n1\n"), "{pod:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_volume_is_read_only_with_the_mounts_below_it_if_asked_for() {
    if !is_root() {
        return println!("skipped: only root can mount below a volume of the machine");
    }
    let node = TestNode::new().await;
    let host = tempfile::tempdir().unwrap();
    std::fs::create_dir(host.path().join("below")).unwrap();
    let below = host.path().join("below");
    let mount = |arguments: &[&str]| {
        let path = below.to_str().unwrap();
        std::process::Command::new(arguments[0]).args(&arguments[1..]).arg(path).status().unwrap()
    };
    if !mount(&["mount", "-t", "tmpfs", "none"]).success() {
        return println!("skipped: this system allows no mounts");
    }
    let text = "touch /punctual-r/x /punctual-r/below/x 2> /dev/null || echo refused; \
        ls /punctual-r/below; touch /punctual-n/below/y && ls /punctual-n/below";
    let mut spec = script(text);
    spec["volumes"] = json!([{"name": "h", "hostPath": {"path": host.path()}}]);
    spec["containers"][0]["volumeMounts"] = json!([
        {"name": "h", "mountPath": "/punctual-r", "readOnly": true, "recursiveReadOnly": "Enabled"},
        {"name": "h", "mountPath": "/punctual-n", "readOnly": true},
    ]);
    let (pod, output) = run(&node, "p", spec).await;
    assert!(mount(&["umount"]).success());
    assert_eq!(output, "refused\ny\n", "{pod:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_new_privileges_and_refused_settings() {
    let node = TestNode::new().await;
    let text = "grep NoNewPrivs /proc/self/status";
    let context = json!({"allowPrivilegeEscalation": false});
    let (_, output) = run(&node, "p", with_context(text, context)).await;
    assert_eq!(output, "NoNewPrivs:\t1\n");
    for (name, context) in [
        ("localhost", json!({"seccompProfile": {"type": "Localhost", "localhostProfile": "x"}})),
        ("selinux", json!({"seLinuxOptions": {"level": "s0"}})),
        ("fly", json!({"capabilities": {"add": ["FLY"]}})),
    ] {
        node.create_pod(name, with_context("true", context)).await;
        let pod = node.wait_for_end(name).await;
        assert_eq!(pod["status"]["reason"], "UnsupportedPod", "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_volume_in_memory_is_shared_has_its_size_and_is_not_on_disk() {
    let node = TestNode::new().await;
    let writer = "echo shared > /punctual-m/f; stat -f -c %T /punctual-m; \
        head -c 3000000 /dev/zero > /punctual-m/big 2> /dev/null || echo full";
    let reader = "until [ -s /punctual-m/f ]; do sleep 0.01; done; cat /punctual-m/f";
    let mut spec = json!({"containers": [container("c", writer), container("reader", reader)],
        "volumes": [{"name": "m", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}]});
    for index in 0..2 {
        spec["containers"][index]["volumeMounts"] =
            json!([{"name": "m", "mountPath": "/punctual-m"}]);
    }
    let uid = node.create_pod("p", spec).await;
    let pod = node.wait_for_end("p").await;
    assert_eq!(node.output(&uid, "c").await, "tmpfs\nfull\n", "{pod:#}");
    assert_eq!(node.output(&uid, "reader").await, "shared\n");
    let folder = node.data().join("pods").join(&uid).join("volumes/m");
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0);
}

/// A container that shares a volume with root's setup of the next one makes links that lead out of it.
#[tokio::test(flavor = "multi_thread")]
async fn links_in_a_volume_do_not_lead_mounts_out_of_it() {
    let node = TestNode::new().await;
    let outside = tempfile::tempdir().unwrap();
    let path = outside.path().display();
    let init = format!("ln -s {path} /punctual-v/link; ln -s {path}/new /punctual-v/dangling");
    for (name, mount, message_path) in [
        ("sub-path", json!({"mountPath": "/punctual-x", "subPath": "link/made"}), "/dev/t"),
        ("sub-path-end", json!({"mountPath": "/punctual-x", "subPath": "link"}), "/dev/t"),
        ("dangling", json!({"mountPath": "/punctual-x", "subPath": "dangling/made"}), "/dev/t"),
        ("message", json!({"mountPath": "/punctual-x"}), "/punctual-v/link/file"),
        ("nested", json!({"mountPath": "/punctual-v/link/folder"}), "/dev/t"),
        ("dangling-end", json!({"mountPath": "/punctual-x"}), "/punctual-v/dangling"),
    ] {
        let mut mount = mount;
        mount["name"] = "v".into();
        let volume = json!({"name": "v", "mountPath": "/punctual-v"});
        let mut spec = script("true");
        spec["initContainers"] = json!([container("init", &init)]);
        spec["volumes"] = json!([{"name": "v", "emptyDir": {}}]);
        spec["initContainers"][0]["volumeMounts"] = json!([volume]);
        spec["containers"][0]["volumeMounts"] = json!([volume, mount]);
        spec["containers"][0]["terminationMessagePath"] = message_path.into();
        node.create_pod(name, spec).await;
        let pod = node.wait_for_end(name).await;
        let entries = std::fs::read_dir(outside.path()).unwrap().count();
        assert_eq!(entries, 0, "{name} has made something outside: {pod:#}");
        if name.starts_with("sub-path") {
            assert_eq!(terminated(&pod)["reason"], "StartError", "{name}");
            let message = terminated(&pod)["message"].as_str().unwrap();
            assert!(message.contains("is a link"), "{message}");
        }
    }
    assert!(!Path::new("/punctual-x").exists());
}
