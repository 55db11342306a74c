//! Tests with panics of workers and with folders that disappear.

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

/// Puts a FIFO, a link to itself or a huge file in place of a file.
fn replace_file(path: &Path, with: &str) {
    let _ = std::fs::remove_file(path);
    match with {
        "fifo" => {
            let mode = rustix::fs::Mode::from_raw_mode(0o600);
            let kind = rustix::fs::FileType::Fifo;
            rustix::fs::mknodat(rustix::fs::CWD, path, kind, mode, 0).unwrap();
        }
        "link" => std::os::unix::fs::symlink(path, path).unwrap(),
        _ => std::fs::File::create(path).unwrap().set_len(1 << 40).unwrap(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unusable_state_of_a_running_pod_hangs_nothing() {
    for with in ["fifo", "link", "huge"] {
        let mut node = TestNode::new().await;
        let uid = node.create_pod("p", script("exec sleep 1000")).await;
        node.wait_until_running("p").await;
        let pid = node.state(&uid)["containers"][0]["current"]["pid"].as_i64().unwrap();
        node.stop().await;
        replace_file(&node.data().join("pods").join(&uid).join("state.json"), with);
        node.start();
        node.create_pod("other", script("true")).await;
        assert_eq!(node.wait_for_end("other").await["status"]["phase"], "Succeeded", "{with}");
        node.delete("p", &kube::api::DeleteParams::default()).await;
        node.wait_until_deleted("p").await;
        wait_for_exit(pid).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_without_supervisor_and_with_an_unusable_state_fails_and_is_not_run_again() {
    for with in ["fifo", "huge"] {
        let mut node = TestNode::new().await;
        let runs = node.folder.path().join("runs");
        let text = format!("echo run >> {}; exec sleep 1000", runs.display());
        let uid = node.create_pod("p", script(&text)).await;
        node.wait_until_running("p").await;
        let supervisor = node.state(&uid)["supervisorPid"].as_i64().unwrap();
        node.stop().await;
        crate::test_node::kill(supervisor, "KILL");
        wait_for_exit(supervisor).await;
        replace_file(&node.data().join("pods").join(&uid).join("state.json"), with);
        node.start();
        let pod = node.wait_for_end("p").await;
        let end = crate::test_node::terminated(&pod);
        assert_eq!(end["reason"], "ContainerStatusUnknown", "{with}");
        assert_eq!(std::fs::read_to_string(&runs).unwrap(), "run\n");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fifo_in_place_of_a_log_or_a_termination_message_hangs_nothing() {
    let node = TestNode::new().await;
    let mut spec = script("until [ -e gate ]; do sleep 0.01; done; exit 1");
    spec["containers"][0]["terminationMessagePath"] = "relative".into();
    let uid = node.create_pod("p", spec).await;
    node.wait_until_running("p").await;
    let folder = node.data().join("pods").join(&uid);
    // A container that sees the data directory and runs as our own user may do that.
    replace_file(&folder.join("run/c/termination-log"), "fifo");
    replace_file(&folder.join("logs/c/0.log"), "fifo");
    std::fs::write(folder.join("run/c/scratch/gate"), "").unwrap();
    let pod = node.wait_for_end("p").await;
    assert_eq!(crate::test_node::terminated(&pod)["message"], "exit code 1");
    let log = node.log(&uid, crate::test_node::query("c")).await;
    assert!(log.unwrap_err().to_string().contains("not a regular file"));
}
