//! Tests that a container does not see the data directory, with the keys and tokens of the server.

use serde_json::{Value, json};

use crate::supervisors::{
    add_volumes, pod_folder, scratch, state, supervise_as_user, users_may_create_namespaces,
};
use crate::test_node::{TestNode, script, terminated};

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A Pod with a volume that is mounted if we are not root: only then it has a mount namespace.
fn pod_with_volume(text: &str) -> Value {
    let mut spec = script(text);
    spec["volumes"] = json!([
        {"name": "disk", "emptyDir": {}}, {"name": "memory", "emptyDir": {"medium": "Memory"}}]);
    if !is_root() {
        spec["containers"][0]["volumeMounts"] =
            json!([{"name": "disk", "mountPath": "/punctual-disk"}]);
    }
    spec
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_sees_its_own_files_and_nothing_else_of_the_data_directory() {
    if !is_root() && !users_may_create_namespaces() {
        return println!("skipped: the kernel gives users no namespaces");
    }
    let node = TestNode::new().await;
    let other = node.create_pod("other", script("echo private")).await;
    node.wait_for_end("other").await;
    let data = node.data();
    std::fs::create_dir(data.join("pki")).unwrap();
    std::fs::write(data.join("pki/ca.key"), "the key").unwrap();
    let text = format!(
        "cat {data}/pki/ca.key ../../../../../pki/ca.key 2> /dev/null; ls {data} {data}/pods; \
         touch {data}/x 2> /dev/null && echo writable; \
         touch here && echo 1 > $PUNCTUAL_VOLUME_DISK/f && echo 2 > $PUNCTUAL_VOLUME_MEMORY/f; \
         cat $PUNCTUAL_VOLUME_DISK/f $PUNCTUAL_VOLUME_MEMORY/f; \
         stat -f -c %T $PUNCTUAL_VOLUME_MEMORY; echo end > $PUNCTUAL_TERMINATION_LOG",
        data = data.display()
    );
    let uid = node.create_pod("p", pod_with_volume(&text)).await;
    let pod = node.wait_for_end("p").await;
    let output = node.output(&uid, "c").await;
    let listed = format!("{0}:\npods\n\n{0}/pods:\n{uid}\n", data.display());
    assert_eq!(output, format!("{listed}1\n2\ntmpfs\n"), "{pod:#}");
    assert!(!output.contains(&other));
    assert_eq!(terminated(&pod)["message"], "end\n");
    let folder = data.join("pods").join(&uid);
    assert!(folder.join("run/c/scratch/here").exists() && folder.join("volumes/disk/f").exists());
    assert_eq!(std::fs::read_to_string(data.join("pki/ca.key")).unwrap(), "the key");
    assert!(node.events().await.iter().all(|event| event["reason"] != "DataDirectoryVisible"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_of_another_user_does_not_see_the_data_directory_either() {
    if !is_root() {
        return println!("skipped: only root can run containers as other users");
    }
    let node = TestNode::new().await;
    let text = format!("ls {0} {0}/pods 2> /dev/null; touch here; pwd", node.data().display());
    let mut spec = script(&text);
    spec["containers"][0]["securityContext"] = json!({"runAsUser": 54321});
    let uid = node.create_pod("p", spec).await;
    let pod = node.wait_for_end("p").await;
    assert_eq!(node.output(&uid, "c").await, "/run/punctual/scratch\n", "{pod:#}");
    assert!(node.data().join("pods").join(&uid).join("run/c/scratch/here").exists());
}

/// The same without root, in a user namespace, in which the container must not undo it.
#[test]
fn a_container_of_an_ordinary_user_with_mounts_does_not_see_the_data_directory() {
    if !is_root() || !users_may_create_namespaces() {
        return println!("skipped: needs root to become a user, and user namespaces");
    }
    let (data, folder) = pod_folder(
        "ls ../../../../.. > listed; umount ../../../../.. 2> umount || ls ../../../../.. > after",
    );
    add_volumes(&folder);
    std::fs::write(data.path().join("ca.key"), "the key").unwrap();
    supervise_as_user(&folder);
    assert_eq!(state(&folder)["phase"], "Succeeded", "{:#}", state(&folder));
    for name in ["listed", "after"] {
        assert_eq!(std::fs::read_to_string(scratch(&folder, name)).unwrap(), "pods\n", "{name}");
    }
}
