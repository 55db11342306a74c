//! Tests of containers with a PID namespace.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::supervisors::{
    change_plan, pod_folder, scratch, start, state, supervise_as_user, supervise_without_namespaces,
};
use crate::test_node::{TestNode, kill, pod, poll_until_some, script};

/// The folder of a Pod whose container has a PID namespace.
fn pod_folder_with_namespace(text: &str) -> (TempDir, PathBuf) {
    let (data, folder) = pod_folder(text);
    change_plan(&folder, |plan| plan["containers"][0]["hasPidNamespace"] = true.into());
    (data, folder)
}

/// Runs the Pod and returns the end of its container.
fn run(folder: &Path) -> Value {
    assert!(start(folder).wait().unwrap().success());
    state(folder)["containers"][0]["current"].clone()
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether the kernel does not let our user create PID namespaces.
fn is_skipped() -> bool {
    let mut command = std::process::Command::new("unshare");
    command.args(["--user", "--mount", "--pid", "--fork", "--mount-proc", "true"]);
    let is_allowed = is_root() || command.output().is_ok_and(|output| output.status.success());
    if !is_allowed {
        println!("skipped: the kernel gives our user no PID namespaces");
    }
    !is_allowed
}

/// Whether a process of the machine has this argument.
fn has_process_with_argument(argument: &str) -> bool {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let mut lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.any(|line| line.split(|byte| *byte == 0).any(|found| found == argument.as_bytes()))
}

#[test]
fn a_container_sees_only_its_own_processes_and_its_exit_code_is_reported() {
    if is_skipped() {
        return;
    }
    let text = "echo $$ > out; for p in /proc/[0-9]*; do cat $p/comm; done >> out; \
        readlink /proc/self >> out; exit 7";
    let (_data, folder) = pod_folder_with_namespace(text);
    let end = run(&folder);
    assert_eq!(end["exitCode"], 7, "{end:#}");
    let out = std::fs::read_to_string(scratch(&folder, "out")).unwrap();
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.first(), Some(&"2"), "its init is process 1: {out}");
    // The init and the shell, when the shell listed them, and the process that read the link.
    assert_eq!(lines.len(), 1 + 2 + 1, "{out}");
}

#[test]
fn every_process_ends_with_the_container_even_without_its_environment() {
    if is_skipped() {
        return;
    }
    let argument = format!("98765.{}", std::process::id());
    let text = format!(
        "env -i setsid sh -c 'sleep {argument} & sleep {argument}' < /dev/null > /dev/null 2>&1 & \
         until [ $(ls -d /proc/[0-9]* | wc -l) -ge 6 ]; do sleep 0.01; done; exit 3"
    );
    let (_data, folder) = pod_folder_with_namespace(&text);
    let end = run(&folder);
    assert_eq!(end["exitCode"], 3, "{end:#}");
    assert!(!has_process_with_argument(&argument));
}

#[tokio::test]
async fn sigterm_ends_a_program_that_does_not_handle_it() {
    if is_skipped() {
        return;
    }
    let (_data, folder) = pod_folder_with_namespace("echo > started; exec sleep 1000");
    change_plan(&folder, |plan| plan["graceSeconds"] = 600.into());
    let mut supervisor = start(&folder);
    poll_until_some(|| scratch(&folder, "started").exists().then_some(())).await;
    std::fs::write(folder.join("stop"), json!({"graceSeconds": 600}).to_string()).unwrap();
    kill(supervisor.id().into(), "TERM");
    assert!(supervisor.wait().unwrap().success());
    let state = state(&folder);
    let end = &state["containers"][0]["current"];
    assert_eq!((&end["exitCode"], &end["signal"]), (&json!(143), &json!(15)), "{state:#}");
}

#[test]
fn the_signal_that_ended_the_program_is_reported() {
    if is_skipped() {
        return;
    }
    let (_data, folder) = pod_folder_with_namespace("kill -KILL $$");
    let end = run(&folder);
    assert_eq!((&end["exitCode"], &end["signal"]), (&json!(137), &json!(9)), "{end:#}");
}

#[test]
fn a_program_that_does_not_exist_is_reported_at_once() {
    if is_skipped() {
        return;
    }
    let (_data, folder) = pod_folder_with_namespace("");
    change_plan(&folder, |plan| plan["containers"][0]["command"] = json!(["/nonexistent"]));
    let end = run(&folder);
    assert_eq!(end["exitCode"], 127, "{end:#}");
    assert!(end["message"].as_str().unwrap().contains("no such program"), "{end:#}");
}

/// Gives the folder to an ordinary user.
fn give_to_user(folder: &Path) {
    let data = folder.ancestors().nth(2).unwrap();
    for path in [data, &data.join("pods"), folder, &folder.join("pod.json")] {
        std::os::unix::fs::chown(path, Some(65534), Some(65534)).unwrap();
    }
}

/// Checks that the container did not start, and that the message says what to do.
fn check_refused(folder: &Path) {
    let end = &state(folder)["containers"][0]["current"];
    assert_eq!((&end["exitCode"], &end["reason"]), (&json!(128), &json!("StartError")), "{end:#}");
    let message = end["message"].as_str().unwrap();
    assert!(message.contains("punctual.dev/pid-namespace"), "{message}");
    assert!(message.to_lowercase().contains("run punctual as root"), "{message}");
    assert!(!scratch(folder, "out").exists(), "the container did not run");
}

/// The kernel may refuse an ordinary user a user namespace, or `/proc` in it.
#[test]
fn an_ordinary_user_gets_a_pid_namespace_or_a_clear_error() {
    let (_data, folder) = pod_folder_with_namespace("echo $$ > out; exit 5");
    if is_root() {
        give_to_user(&folder);
        supervise_as_user(&folder);
    } else {
        assert!(start(&folder).wait().unwrap().success());
    }
    if state(&folder)["containers"][0]["current"]["exitCode"] != 5 {
        return check_refused(&folder);
    }
    assert_eq!(std::fs::read_to_string(scratch(&folder, "out")).unwrap(), "2\n");
}

#[test]
fn a_user_without_namespaces_gets_a_clear_error() {
    if !is_root() {
        return println!("skipped: only root can start a supervisor in a chroot");
    }
    let (_data, folder) = pod_folder_with_namespace("echo > out");
    give_to_user(&folder);
    supervise_without_namespaces(&folder);
    check_refused(&folder);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_annotation_of_the_pod_asks_for_pid_namespaces() {
    if !is_root() {
        return println!("skipped: only root can run containers as other users");
    }
    let node = TestNode::new().await;
    let mut spec = script("echo $$; id -u; echo data > /punctual-v/x; cat /punctual-v/x");
    spec["containers"][0]["securityContext"] = json!({"runAsUser": 54321});
    spec["containers"][0]["volumeMounts"] = json!([{"name": "v", "mountPath": "/punctual-v"}]);
    spec["volumes"] = json!([{"name": "v", "emptyDir": {}}]);
    let mut object = pod("p", spec);
    object["metadata"]["annotations"] = json!({"punctual.dev/pid-namespace": "true"});
    let uid = node.create(object.clone()).await["metadata"]["uid"].as_str().unwrap().to_owned();
    let ended = node.wait_for_end("p").await;
    assert_eq!(node.output(&uid, "c").await, "2\n54321\ndata\n", "{ended:#}");
    object["metadata"]["name"] = "q".into();
    object["metadata"]["annotations"]["punctual.dev/pid-namespace"] = "yes".into();
    node.create(object).await;
    let refused = node.wait_for_end("q").await;
    assert_eq!(refused["status"]["reason"], "UnsupportedPod");
    let message = refused["status"]["message"].as_str().unwrap();
    assert!(message.contains("set it to \"true\" or \"false\""), "{message}");
}
