//! Tests of supervisors without a daemon.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::test_node::{kill, last_state, poll_until_some, supervisor_program, wait_for_exit};

/// The folder of a Pod with one container, as the daemon writes it.
pub(crate) fn pod_folder(text: &str) -> (TempDir, PathBuf) {
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

pub(crate) fn start(folder: &Path) -> Child {
    let mut command = Command::new(supervisor_program());
    command.arg("supervise").arg(folder).stdin(Stdio::null());
    command.spawn().unwrap()
}

/// A file in the working directory of the container.
pub(crate) fn scratch(folder: &Path, name: &str) -> PathBuf {
    folder.join("run/c/scratch").join(name)
}

pub(crate) fn state(folder: &Path) -> Value {
    last_state(folder).unwrap()
}

#[test]
fn exactly_one_of_twenty_supervisors_runs_the_pod() {
    let (_data, folder) = pod_folder("echo run >> runs; sleep 0.05");
    let all: Vec<Child> = (0..20).map(|_| start(&folder)).collect();
    for mut child in all {
        assert!(child.wait().unwrap().success());
    }
    assert!(start(&folder).wait().unwrap().success());
    assert_eq!(std::fs::read_to_string(scratch(&folder, "runs")).unwrap(), "run\n");
    assert_eq!(state(&folder)["phase"], "Succeeded");
}

#[tokio::test]
async fn a_supervisor_outlives_the_process_that_started_it_and_its_session() {
    let (_data, folder) = pod_folder("until [ -e gate ]; do sleep 0.01; done; exit 4");
    let text = format!(
        "{} supervise {} < /dev/null > /dev/null 2>&1 & sleep 1000",
        supervisor_program().display(),
        folder.display()
    );
    let mut parent = Command::new("setsid").args(["sh", "-c", &text]).spawn().unwrap();
    poll_until_some(|| folder.join("state.json").exists().then_some(())).await;
    let pid =
        poll_until_some(|| state(&folder)["supervisorPid"].as_i64().filter(|pid| *pid > 0)).await;
    // Kills the session of the parent, as when a terminal is closed.
    kill(-i64::from(parent.id()), "KILL");
    parent.wait().unwrap();
    poll_until_some(|| scratch(&folder, "").exists().then_some(())).await;
    std::fs::write(scratch(&folder, "gate"), "").unwrap();
    wait_for_exit(pid).await;
    assert_eq!(state(&folder)["containers"][0]["current"]["exitCode"], 4);
}

#[tokio::test]
async fn a_supervisor_killed_at_any_time_never_causes_a_second_run() {
    for delay_ms in (0..40).step_by(2) {
        let (_data, folder) = pod_folder("echo run >> runs; sleep 0.03; exit 0");
        let mut first = start(&folder);
        tokio::time::sleep(std::time::Duration::from_millis(delay_ms)).await;
        first.kill().unwrap();
        first.wait().unwrap();
        // Retries as the daemon does, because a killed process may hold the lock for a moment.
        let is_over = |state: &Value| state["phase"] == "Succeeded" || state["phase"] == "Failed";
        while !folder.join("state.json").exists() || !is_over(&state(&folder)) {
            assert!(start(&folder).wait().unwrap().success());
        }
        let runs = std::fs::read_to_string(scratch(&folder, "runs")).unwrap_or_default();
        let state = state(&folder);
        assert!(runs.lines().count() <= 1, "after {delay_ms} ms: {state} {runs:?}");
    }
}

#[tokio::test]
async fn a_stop_request_before_the_start_starts_no_container() {
    let (_data, folder) = pod_folder("echo run >> runs");
    std::fs::write(folder.join("stop"), json!({"graceSeconds": 1}).to_string()).unwrap();
    assert!(start(&folder).wait().unwrap().success());
    assert!(!scratch(&folder, "runs").exists());
    let end = &state(&folder)["containers"][0]["current"];
    assert_eq!((&end["exitCode"], &end["reason"]), (&json!(137), &json!("ContainerStatusUnknown")));
}

/// Adds volumes whose mount points do not exist on the machine, and gives the folder to a user.
pub(crate) fn add_volumes(folder: &Path) {
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
fn volumes_are_mounted_without_root() {
    if !rustix::process::geteuid().is_root() {
        return println!("skipped: only root can start a supervisor as another user");
    }
    if !users_may_create_namespaces() {
        return println!("skipped: the kernel gives users no namespaces");
    }
    let text = "cat /punctual-data/file /etc/punctual-data/file > out && \
        ! touch /etc/punctual-data/x 2> /dev/null && touch /punctual-data/y && id -u >> out";
    let (_data, folder) = pod_folder(text);
    add_volumes(&folder);
    supervise_as_user(&folder);
    let state = state(&folder);
    assert_eq!(state["phase"], "Succeeded", "{state:#}");
    assert_eq!(std::fs::read_to_string(scratch(&folder, "out")).unwrap(), "contentcontent65534\n");
}

#[test]
fn a_container_does_not_start_if_its_volumes_cannot_be_mounted() {
    if !rustix::process::geteuid().is_root() {
        return println!("skipped: only root can start a supervisor as another user");
    }
    let (_data, folder) = pod_folder("echo ran > out");
    add_volumes(&folder);
    supervise_without_namespaces(&folder);
    let state = state(&folder);
    assert_eq!(state["phase"], "Failed", "{state:#}");
    let end = &state["containers"][0]["current"];
    assert_eq!(end["reason"], "StartError", "{state:#}");
    let message = end["message"].as_str().unwrap();
    assert!(message.contains("cannot mount /punctual-data"), "{message}");
    assert!(message.contains("user.max_user_namespaces"), "{message}");
    assert!(!scratch(&folder, "out").exists(), "the container did not run");
}

/// Runs a supervisor as an ordinary user in a chroot, in which the kernel allows no user namespace.
pub(crate) fn supervise_without_namespaces(folder: &Path) {
    let (_copy, program) = program_for_every_user();
    let text = format!(
        "mkdir {root} && mount --rbind / {root} && \
         exec chroot --userspec=65534:65534 {root} {program} supervise {folder}",
        root = folder.join("root").display(),
        program = program.display(),
        folder = folder.display()
    );
    let status = Command::new("unshare").args(["-m", "sh", "-c", &text]).status().unwrap();
    assert!(status.success());
}

/// Runs a supervisor as an ordinary user, with the environment that the daemon gives it.
pub(crate) fn supervise_as_user(folder: &Path) {
    use std::os::unix::process::CommandExt as _;
    let (_copy, program) = program_for_every_user();
    let mut command = Command::new(program);
    command.arg("supervise").arg(folder).uid(65534).gid(65534).stdin(Stdio::null());
    command.env_clear().env("_RJEM_MALLOC_CONF", "background_thread:false");
    assert!(command.status().unwrap().success());
}

/// A copy of the supervisor that every user can execute, because the folder of the sources may be private.
pub(crate) fn program_for_every_user() -> (TempDir, PathBuf) {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::Permissions::from_mode(0o755);
    let folder = tempfile::Builder::new().permissions(mode).tempdir().unwrap();
    let program = folder.path().join("punctual-supervise");
    // Another process copies it: a file that this process writes cannot be executed while a child that
    // another test starts has it open.
    let status = Command::new("cp").arg(supervisor_program()).arg(&program).status();
    assert!(status.unwrap().success());
    (folder, program)
}

/// Whether the kernel lets an ordinary user create a user namespace.
pub(crate) fn users_may_create_namespaces() -> bool {
    use std::os::unix::process::CommandExt as _;
    let mut command = Command::new("unshare");
    command.args(["-U", "-m", "true"]).uid(65534).gid(65534).stderr(Stdio::null());
    command.status().unwrap().success()
}

/// Changes the plan of a Pod.
pub(crate) fn change_plan(folder: &Path, change: impl FnOnce(&mut Value)) {
    let path = folder.join("pod.json");
    let mut plan: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    change(&mut plan);
    std::fs::write(&path, plan.to_string()).unwrap();
}

#[test]
fn a_pod_whose_volume_is_larger_than_its_maximum_is_stopped() {
    let (_data, folder) = pod_folder("head -c 2000000 /dev/urandom > big; exec sleep 1000");
    let scratch = folder.join("run/c/scratch");
    change_plan(&folder, |plan| {
        plan["sizeCheckMs"] = 20.into();
        plan["sizeLimits"] =
            json!([{"volume": "v", "path": scratch, "bytesMax": 1_000_000, "text": "1M"}]);
    });
    assert!(start(&folder).wait().unwrap().success());
    let state = state(&folder);
    assert_eq!(state["phase"], "Failed");
    assert_eq!(state["stopReason"]["reason"], "Evicted");
    let message = "Usage of EmptyDir volume \"v\" exceeds the limit \"1M\".";
    assert_eq!(state["stopReason"]["message"], message);
}

#[test]
fn security_settings_hold_without_root_too() {
    if !rustix::process::geteuid().is_root() || !users_may_create_namespaces() {
        return println!("skipped: needs root to become a user, and user namespaces");
    }
    let text = "touch here && (touch ../../../out 2> /dev/null || touch read-only); \
        stat -f -c %T /punctual-memory > type; grep -E '^(CapBnd|NoNewPrivs|Seccomp):' /proc/self/status > status";
    let (_data, folder) = pod_folder(text);
    add_volumes(&folder);
    let memory = folder.join("volume");
    change_plan(&folder, |plan| {
        plan["memoryVolumes"] = json!([{"path": memory, "bytesMax": 4096, "group": null}]);
        plan["containers"][0]["mounts"] = json!([
            {"source": memory, "target": "/punctual-memory", "readOnly": false, "missingSource": "Fail"}]);
        plan["containers"][0]["security"] = json!({"droppedCapabilities": u64::MAX >> 1, "isRootReadOnly": true, "hasSeccomp": true});
    });
    std::os::unix::fs::chown(folder.join("pod.json"), Some(65534), Some(65534)).unwrap();
    supervise_as_user(&folder);
    assert_eq!(state(&folder)["phase"], "Succeeded", "{:#}", state(&folder));
    let read =
        |name: &str| std::fs::read_to_string(folder.join("run/c/scratch").join(name)).unwrap();
    assert_eq!(
        (read("here"), read("read-only"), read("type")),
        ("".into(), "".into(), "tmpfs\n".into())
    );
    let status = read("status");
    assert!(status.starts_with("CapBnd:\t0000000000000000\n"), "{status}");
    assert!(status.ends_with("Seccomp:\t2\n"), "{status}");
    assert!(!folder.join("out").exists());
    // Without a namespace, privileges cannot be given up, but none can be gained.
    let (_data, folder) = pod_folder(text);
    add_volumes(&folder);
    change_plan(&folder, |plan| {
        plan["containers"][0]["mounts"] = json!([]);
        plan["containers"][0]["security"] =
            json!({"droppedCapabilities": u64::MAX >> 1, "hasSeccomp": true});
    });
    std::os::unix::fs::chown(folder.join("pod.json"), Some(65534), Some(65534)).unwrap();
    supervise_as_user(&folder);
    let status = std::fs::read_to_string(folder.join("run/c/scratch/status")).unwrap();
    assert!(status.ends_with("NoNewPrivs:\t1\nSeccomp:\t2\n"), "{status}");
}

#[test]
fn signals_that_were_ignored_at_the_start_are_not_ignored_in_containers() {
    let (_data, folder) = pod_folder("kill -HUP $$; echo survived > out");
    let text = format!(
        "trap '' HUP INT QUIT PIPE USR1; exec {} supervise {}",
        supervisor_program().display(),
        folder.display()
    );
    assert!(Command::new("sh").args(["-c", &text]).status().unwrap().success());
    let end = &state(&folder)["containers"][0]["current"];
    assert_eq!((&end["signal"], &end["exitCode"]), (&json!(1), &json!(129)), "{end}");
    assert!(!scratch(&folder, "out").exists());
}

/// The C library uses these signals itself and refuses to change them.
#[test]
#[expect(unsafe_code, reason = "there is no safe function for this")]
fn signals_of_the_c_library_that_were_ignored_at_the_start_are_not_ignored_in_containers() {
    use std::os::unix::process::CommandExt as _;
    let (_data, folder) = pod_folder("grep SigIgn /proc/self/status > out");
    let mut command = Command::new(supervisor_program());
    command.arg("supervise").arg(&folder).stdin(Stdio::null());
    let ignore = || {
        let ignored_action = [libc::SIG_IGN as u64, 0, 0, 0, 0, 0];
        for signal in [libc::SIGHUP, 32, 33] {
            // SAFETY: the call reads an action that ignores the signal, and writes nothing.
            let result = unsafe {
                let previous = std::ptr::null_mut::<u64>();
                libc::syscall(libc::SYS_rt_sigaction, signal, ignored_action.as_ptr(), previous, 8)
            };
            if result != 0 {
                return Err(std::io::Error::last_os_error());
            }
        }
        Ok(())
    };
    // SAFETY: the closure makes only system calls.
    let status = unsafe { command.pre_exec(ignore) }.status().unwrap();
    assert!(status.success());
    let out = std::fs::read_to_string(scratch(&folder, "out")).unwrap();
    assert_eq!(out, "SigIgn:\t0000000000000000\n");
}

#[tokio::test]
async fn a_supervisor_has_the_name_of_its_pod() {
    let (_data, folder) = pod_folder("until [ -e gate ]; do sleep 0.01; done");
    let mut child = start(&folder);
    let path = format!("/proc/{}/comm", child.id());
    poll_until_some(|| (std::fs::read_to_string(&path).unwrap() == "pod:p\n").then_some(())).await;
    poll_until_some(|| scratch(&folder, "").exists().then_some(())).await;
    std::fs::write(scratch(&folder, "gate"), "").unwrap();
    assert!(child.wait().unwrap().success());
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
