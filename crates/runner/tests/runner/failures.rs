//! Panics of workers and folders that disappear.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::test_node::{TestNode, script, wait_for_exit};

fn wait_script(gate: &Path) -> String {
    format!("until [ -e {} ]; do sleep 0.01; done", gate.display())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_whose_worker_panics_gets_another_worker_and_is_not_run_twice() {
    let has_panicked = Arc::new(AtomicBool::new(false));
    let flag = has_panicked.clone();
    let node = TestNode::with(|options| {
        options.runner.on_pod_started = Some(Arc::new(move |_| {
            assert!(flag.swap(true, Ordering::SeqCst), "a deliberate panic");
        }));
    })
    .await;
    let runs = node.folder.path().join("runs");
    let gate = node.folder.path().join("gate");
    node.create_pod(
        "p",
        script(&format!("echo run >> {}; {}", runs.display(), wait_script(&gate))),
    )
    .await;
    node.wait_until_running("p").await;
    assert!(has_panicked.load(Ordering::SeqCst));
    std::fs::write(gate, "").unwrap();
    assert_eq!(node.wait_for_end("p").await["status"]["phase"], "Succeeded");
    assert_eq!(std::fs::read_to_string(runs).unwrap(), "run\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_pod_whose_folder_was_removed_fails_and_returns_its_permit() {
    let node = TestNode::with(|options| options.runner.max_pods = 1).await;
    let gate = node.folder.path().join("gate");
    let uid = node.create_pod("p", script(&wait_script(&gate))).await;
    node.wait_until_running("p").await;
    std::fs::remove_dir_all(node.data().join("pods").join(&uid)).unwrap();
    std::fs::write(gate, "").unwrap();
    let pod = node.wait_for_end("p").await;
    assert_eq!(pod["status"]["phase"], "Failed");
    assert_eq!(pod["status"]["reason"], "ContainerStatusUnknown");
    node.create_pod("next", script("true")).await;
    assert_eq!(node.wait_for_end("next").await["status"]["phase"], "Succeeded");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_pod_whose_folder_was_removed_can_be_stopped() {
    let node = TestNode::new().await;
    let uid = node.create_pod("p", script("exec sleep 1000")).await;
    node.wait_until_running("p").await;
    let pid = node.state(&uid)["containers"][0]["current"]["pid"].as_i64().unwrap();
    std::fs::remove_dir_all(node.data().join("pods").join(&uid)).unwrap();
    node.delete("p", &kube::api::DeleteParams::default()).await;
    wait_for_exit(pid).await;
    node.wait_until_deleted("p").await;
}
