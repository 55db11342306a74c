//! Supervisors without a daemon.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::test_node::{kill, poll_until_some, supervisor_program, wait_for_exit};

/// The folder of a Pod with one container, as the daemon writes it.
fn pod_folder(text: &str) -> (TempDir, PathBuf) {
    let data = tempfile::tempdir().unwrap();
    let folder = data.path().canonicalize().unwrap().join("pods/u");
    std::fs::create_dir_all(&folder).unwrap();
    let plan = json!({
        "uid": folder.to_str().unwrap(), "namespace": "default", "name": "p",
        "restartPolicy": "Never", "graceSeconds": 1, "activeDeadlineSeconds": null,
        "containers": [{"name": "c", "command": ["sh", "-c", text],
            "env": [["PATH", "/usr/bin:/bin"], ["PUNCTUAL_CONTAINER", folder.join("c")]]}],
        "restartBackoff": {"firstMs": 1, "maxMs": 1, "resetMs": 1000},
        "logBytesMax": 100_000, "useCgroups": false,
    });
    std::fs::write(folder.join("pod.json"), plan.to_string()).unwrap();
    (data, folder)
}

fn start(folder: &Path) -> Child {
    let mut command = Command::new(supervisor_program());
    command.arg("supervise").arg(folder).stdin(Stdio::null());
    command.spawn().unwrap()
}

fn state(folder: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(folder.join("state.json")).unwrap()).unwrap()
}

#[test]
fn exactly_one_of_twenty_supervisors_runs_the_pod() {
    let (_data, folder) = pod_folder("echo run >> ../../../runs; sleep 0.05");
    let all: Vec<Child> = (0..20).map(|_| start(&folder)).collect();
    for mut child in all {
        assert!(child.wait().unwrap().success());
    }
    assert!(start(&folder).wait().unwrap().success());
    assert_eq!(std::fs::read_to_string(folder.join("runs")).unwrap(), "run\n");
    assert_eq!(state(&folder)["phase"], "Succeeded");
}

#[tokio::test]
async fn a_supervisor_outlives_the_process_that_started_it_and_its_session() {
    let (_data, folder) = pod_folder("until [ -e ../../../gate ]; do sleep 0.01; done; exit 4");
    let text = format!(
        "{} supervise {} < /dev/null > /dev/null 2>&1 & sleep 1000",
        supervisor_program().display(),
        folder.display()
    );
    let mut parent = Command::new("setsid").args(["sh", "-c", &text]).spawn().unwrap();
    poll_until_some(|| folder.join("state.json").exists().then_some(())).await;
    let pid =
        poll_until_some(|| state(&folder)["supervisor"].as_i64().filter(|pid| *pid > 0)).await;
    // Kills the session of the parent, as when a terminal is closed.
    kill(-i64::from(parent.id()), "KILL");
    parent.wait().unwrap();
    std::fs::write(folder.join("gate"), "").unwrap();
    wait_for_exit(pid).await;
    assert_eq!(state(&folder)["containers"][0]["current"]["exitCode"], 4);
}

#[tokio::test]
async fn a_supervisor_killed_at_any_time_never_causes_a_second_run() {
    for delay_ms in (0..40).step_by(2) {
        let (_data, folder) = pod_folder("echo run >> ../../../runs; sleep 0.03; exit 0");
        let mut first = start(&folder);
        tokio::time::sleep(std::time::Duration::from_millis(delay_ms)).await;
        first.kill().unwrap();
        first.wait().unwrap();
        // Retries as the daemon does, because a killed process may hold the lock for a moment.
        let is_over = |state: &Value| state["phase"] == "Succeeded" || state["phase"] == "Failed";
        while !folder.join("state.json").exists() || !is_over(&state(&folder)) {
            assert!(start(&folder).wait().unwrap().success());
        }
        let runs = std::fs::read_to_string(folder.join("runs")).unwrap_or_default();
        let state = state(&folder);
        assert!(runs.lines().count() <= 1, "after {delay_ms} ms: {state} {runs:?}");
    }
}

#[tokio::test]
async fn a_stop_request_before_the_start_starts_no_container() {
    let (_data, folder) = pod_folder("echo run >> ../../../runs");
    std::fs::write(folder.join("stop"), json!({"graceSeconds": 1}).to_string()).unwrap();
    assert!(start(&folder).wait().unwrap().success());
    assert!(!folder.join("runs").exists());
    let end = &state(&folder)["containers"][0]["current"];
    assert_eq!((&end["exitCode"], &end["reason"]), (&json!(137), &json!("ContainerStatusUnknown")));
}

/// Adds volumes whose mount points do not exist on the machine, and gives the folder to a user.
fn add_volumes(folder: &Path) {
    let path = folder.join("pod.json");
    let mut plan: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let volume = folder.join("volume");
    std::fs::create_dir(&volume).unwrap();
    std::fs::write(volume.join("file"), "content").unwrap();
    plan["containers"][0]["mounts"] = json!([
        {"source": volume, "target": "/punctual-data", "readOnly": false, "missingSource": "Fail"},
        {"source": volume, "target": "/etc/punctual-data", "readOnly": true, "missingSource": "Fail"},
    ]);
    std::fs::write(&path, plan.to_string()).unwrap();
    let data = folder.ancestors().nth(2).unwrap();
    for path in [data, &data.join("pods"), folder, &path, &volume, &volume.join("file")] {
        std::os::unix::fs::chown(path, Some(65534), Some(65534)).unwrap();
    }
}

#[test]
fn volumes_are_mounted_without_root_if_the_system_allows_it() {
    use std::os::unix::process::CommandExt as _;
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let text = "cat /punctual-data/file /etc/punctual-data/file > ../../../out && \
        ! touch /etc/punctual-data/x 2> /dev/null && touch /punctual-data/y && id -u >> ../../../out";
    let (_data, folder) = pod_folder(text);
    add_volumes(&folder);
    let mut command = Command::new(supervisor_program());
    command.arg("supervise").arg(&folder).uid(65534).gid(65534).stdin(Stdio::null());
    assert!(command.status().unwrap().success());
    let state = state(&folder);
    if state["warnings"][0]["reason"] == "VolumesNotMounted" {
        return;
    }
    assert_eq!(state["phase"], "Succeeded", "{state:#}");
    assert_eq!(std::fs::read_to_string(folder.join("out")).unwrap(), "contentcontent65534\n");
}

#[test]
fn a_container_runs_with_a_warning_if_volumes_cannot_be_mounted() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let (_data, folder) = pod_folder("test -e /punctual-data || echo unmounted > ../../../out");
    add_volumes(&folder);
    // A process in a chroot cannot create a user namespace.
    let text = format!(
        "mkdir {root} && mount --rbind / {root} && \
         exec chroot --userspec=65534:65534 {root} {program} supervise {folder}",
        root = folder.join("root").display(),
        program = supervisor_program().display(),
        folder = folder.display()
    );
    let status = Command::new("unshare").args(["-m", "sh", "-c", &text]).status().unwrap();
    assert!(status.success());
    let state = state(&folder);
    assert_eq!(state["phase"], "Succeeded", "{state:#}");
    let warning = &state["warnings"][0];
    assert_eq!(warning["reason"], "VolumesNotMounted", "{state:#}");
    assert!(warning["message"].as_str().unwrap().contains("/punctual-data"));
    assert_eq!(std::fs::read_to_string(folder.join("out")).unwrap(), "unmounted\n");
}

#[test]
fn a_folder_without_a_plan_is_an_error() {
    let data = tempfile::tempdir().unwrap();
    let mut command = Command::new(supervisor_program());
    let output = command.arg("supervise").arg(data.path()).output().unwrap();
    assert!(!output.status.success());
    assert!(!output.stderr.is_empty());
    let output = Command::new(supervisor_program()).arg("supervise").output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("usage"));
}
