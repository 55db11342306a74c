//! Supervisors on their own, without a daemon.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::world::{found, kill, supervisor, vanished};

/// The folder of a Pod of one container, as a daemon would write it.
fn folder(text: &str) -> (TempDir, PathBuf) {
    let data = tempfile::tempdir().unwrap();
    let folder = data.path().canonicalize().unwrap().join("pods/u");
    std::fs::create_dir_all(&folder).unwrap();
    let plan = json!({
        "uid": folder.to_str().unwrap(), "namespace": "default", "name": "p",
        "restartPolicy": "Never", "graceSeconds": 1, "activeDeadlineSeconds": null,
        "containers": [{"name": "c", "command": ["sh", "-c", text],
            "env": [["PATH", "/usr/bin:/bin"], ["PUNCTUAL_CONTAINER", folder.join("c")]]}],
        "timing": {"backoffFirstMs": 1, "backoffMaxMs": 1, "backoffResetMs": 1000},
        "logBytesMax": 100_000, "cgroups": false,
    });
    std::fs::write(folder.join("pod.json"), plan.to_string()).unwrap();
    (data, folder)
}

fn start(folder: &Path) -> Child {
    let mut command = Command::new(supervisor());
    command.arg("supervise").arg(folder).stdin(Stdio::null());
    command.spawn().unwrap()
}

fn state(folder: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(folder.join("state.json")).unwrap()).unwrap()
}

#[test]
fn of_twenty_supervisors_on_one_folder_exactly_one_runs_the_pod() {
    let (_data, folder) = folder("echo run >> ../../../runs; sleep 0.05");
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
    let (_data, folder) = folder("until [ -e ../../../gate ]; do sleep 0.01; done; exit 4");
    let text = format!(
        "{} supervise {} < /dev/null > /dev/null 2>&1 & sleep 1000",
        supervisor().display(),
        folder.display()
    );
    let mut parent = Command::new("setsid").args(["sh", "-c", &text]).spawn().unwrap();
    found(|| folder.join("state.json").exists().then_some(())).await;
    let pid = found(|| state(&folder)["supervisor"].as_i64().filter(|pid| *pid > 0)).await;
    // The whole session of whoever started it, as when a terminal is closed.
    kill(-i64::from(parent.id()), "KILL");
    parent.wait().unwrap();
    std::fs::write(folder.join("gate"), "").unwrap();
    vanished(pid).await;
    assert_eq!(state(&folder)["containers"][0]["now"]["exitCode"], 4);
}

#[tokio::test]
async fn a_supervisor_killed_at_any_moment_never_leads_to_a_second_run() {
    for delay_ms in (0..40).step_by(2) {
        let (_data, folder) = folder("echo run >> ../../../runs; sleep 0.03; exit 0");
        let mut first = start(&folder);
        tokio::time::sleep(std::time::Duration::from_millis(delay_ms)).await;
        first.kill().unwrap();
        first.wait().unwrap();
        // As a daemon would: what was killed may hold the lock for a moment more.
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
async fn a_stop_that_was_written_before_the_start_starts_nothing() {
    let (_data, folder) = folder("echo run >> ../../../runs");
    std::fs::write(folder.join("stop"), json!({"graceSeconds": 1}).to_string()).unwrap();
    assert!(start(&folder).wait().unwrap().success());
    assert!(!folder.join("runs").exists());
    let end = &state(&folder)["containers"][0]["now"];
    assert_eq!((&end["exitCode"], &end["reason"]), (&json!(137), &json!("ContainerStatusUnknown")));
}

/// Gives a Pod's container a volume at a place that the machine does not have, and to a user.
fn with_volume(folder: &Path) {
    let path = folder.join("pod.json");
    let mut plan: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let volume = folder.join("volume");
    std::fs::create_dir(&volume).unwrap();
    std::fs::write(volume.join("file"), "content").unwrap();
    plan["containers"][0]["mounts"] = json!([
        {"source": volume, "target": "/punctual-data", "readOnly": false, "missing": "Fails"},
        {"source": volume, "target": "/etc/punctual-data", "readOnly": true, "missing": "Fails"},
    ]);
    std::fs::write(&path, plan.to_string()).unwrap();
    let data = folder.ancestors().nth(2).unwrap();
    for path in [data, &data.join("pods"), folder, &path, &volume, &volume.join("file")] {
        std::os::unix::fs::chown(path, Some(65534), Some(65534)).unwrap();
    }
}

#[test]
fn volumes_are_mounted_without_root_where_the_system_allows_it() {
    use std::os::unix::process::CommandExt as _;
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let text = "cat /punctual-data/file /etc/punctual-data/file > ../../../out && \
        ! touch /etc/punctual-data/x 2> /dev/null && touch /punctual-data/y && id -u >> ../../../out";
    let (_data, folder) = folder(text);
    with_volume(&folder);
    let mut command = Command::new(supervisor());
    command.arg("supervise").arg(&folder).uid(65534).gid(65534).stdin(Stdio::null());
    assert!(command.status().unwrap().success());
    let state = state(&folder);
    if state["notes"][0]["reason"] == "VolumesNotMounted" {
        return;
    }
    assert_eq!(state["phase"], "Succeeded", "{state:#}");
    assert_eq!(std::fs::read_to_string(folder.join("out")).unwrap(), "contentcontent65534\n");
}

#[test]
fn where_nothing_can_be_mounted_the_container_runs_and_a_note_says_so() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let (_data, folder) = folder("test -e /punctual-data || echo unmounted > ../../../out");
    with_volume(&folder);
    // Whoever lives in another root may make no namespace.
    let text = format!(
        "mkdir {root} && mount --rbind / {root} && \
         exec chroot --userspec=65534:65534 {root} {program} supervise {folder}",
        root = folder.join("root").display(),
        program = supervisor().display(),
        folder = folder.display()
    );
    let status = Command::new("unshare").args(["-m", "sh", "-c", &text]).status().unwrap();
    assert!(status.success());
    let state = state(&folder);
    assert_eq!(state["phase"], "Succeeded", "{state:#}");
    let note = &state["notes"][0];
    assert_eq!(note["reason"], "VolumesNotMounted", "{state:#}");
    assert!(note["message"].as_str().unwrap().contains("/punctual-data"));
    assert_eq!(std::fs::read_to_string(folder.join("out")).unwrap(), "unmounted\n");
}

#[test]
fn a_folder_without_a_plan_is_an_error_and_nothing_else() {
    let data = tempfile::tempdir().unwrap();
    let mut command = Command::new(supervisor());
    let output = command.arg("supervise").arg(data.path()).output().unwrap();
    assert!(!output.status.success());
    assert!(!output.stderr.is_empty());
    let output = Command::new(supervisor()).arg("supervise").output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("usage"));
}
