//! Starts and stops `punctual up` and its Pods for the tests of this folder.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::Duration;

use futures::StreamExt as _;
use http::Request;
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::watcher;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Longer than any step takes, even on a busy machine.
const WAIT_TIMEOUT: Duration = Duration::from_secs(60);

/// Returns the directory of the examples.
pub(crate) fn examples() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").display().to_string()
}

/// A temporary directory with a data directory. Dropping it ends the Pods that still run.
pub(crate) struct TestHome(TempDir);

impl TestHome {
    pub(crate) fn new() -> TestHome {
        TestHome(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Returns `punctual up` with these arguments, on a free port.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        self.command_at("127.0.0.1:0", args)
    }

    pub(crate) fn command_at(&self, listen: &str, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
        command.env("PUNCTUAL_DATA_DIR", self.path().join("data")).stdin(Stdio::null());
        command.env("PUNCTUAL_DASHBOARD", "off");
        command.args(["up", "--listen", listen]).args(args);
        command
    }

    /// Runs the program, which must fail, and returns standard error.
    pub(crate) fn start_error(&self, args: &[&str]) -> String {
        let Output { status, stderr, stdout } = self.command(args).output().unwrap();
        assert_eq!(status.code(), Some(1), "{}", String::from_utf8_lossy(&stdout));
        assert!(stdout.is_empty(), "nothing was started: {}", String::from_utf8_lossy(&stdout));
        String::from_utf8(stderr).unwrap()
    }

    /// Starts the program and waits until it is ready.
    pub(crate) fn start(&self, args: &[&str]) -> UpProcess {
        self.start_logging_to(Stdio::null(), args)
    }

    /// Starts the program with this standard error and waits until it is ready.
    pub(crate) fn start_logging_to(&self, stderr: Stdio, args: &[&str]) -> UpProcess {
        self.start_command(self.command(args).stderr(stderr))
    }

    /// Starts the program after a shell command that sets its limits.
    pub(crate) fn start_with_limit(&self, limit: &str) -> UpProcess {
        let program = env!("CARGO_BIN_EXE_punctual");
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &format!("{limit}; exec {program} up --listen 127.0.0.1:0")]);
        command.env("PUNCTUAL_DATA_DIR", self.path().join("data")).stdin(Stdio::null());
        command.env("PUNCTUAL_DASHBOARD", "off");
        self.start_command(command.stderr(Stdio::null()))
    }

    fn start_command(&self, command: &mut Command) -> UpProcess {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut output = Vec::new();
        while !output.last().is_some_and(|line: &String| line.starts_with("try: ")) {
            output.push(lines.next().expect("the program prints a line when it is ready").unwrap());
        }
        UpProcess { child, lines, output }
    }

    pub(crate) async fn client(&self) -> Client {
        let path = self.path().join("data/kubeconfig");
        self.client_from(&std::fs::read_to_string(path).unwrap()).await
    }

    /// Returns a client with the text of a kubeconfig.
    pub(crate) async fn client_from(&self, kubeconfig: &str) -> Client {
        let config = Kubeconfig::from_yaml(kubeconfig).unwrap();
        let options = KubeConfigOptions::default();
        let config = kube::Config::from_custom_kubeconfig(config, &options).await.unwrap();
        Client::try_from(config).unwrap()
    }

    /// Writes a file and returns its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        let path = self.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    fn supervisors(&self) -> Vec<(PathBuf, Pid)> {
        let folders = std::fs::read_dir(self.path().join("data/pods"));
        let folders = folders.into_iter().flatten().flatten().map(|folder| folder.path());
        let supervisor = |folder: PathBuf| {
            let text = std::fs::read_to_string(folder.join("state.json")).ok()?;
            let state: Value = serde_json::from_str(text.lines().last()?).ok()?;
            let is_over = ["Succeeded", "Failed"].contains(&state["phase"].as_str()?);
            let pid = Pid::from_raw(state["supervisorPid"].as_i64()?.try_into().ok()?)?;
            (!is_over).then_some((folder, pid))
        };
        folders.filter_map(supervisor).collect()
    }
}

impl Drop for TestHome {
    /// Stops all supervisors, even if the test failed.
    fn drop(&mut self) {
        for (folder, pid) in self.supervisors() {
            let _ = std::fs::write(folder.join("stop"), json!({"graceSeconds": 0}).to_string());
            let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { continue };
            if kill_process(pid, Signal::TERM).is_ok() {
                let _ = poll(&mut [PollFd::new(&handle, PollFlags::IN)], None);
            }
        }
    }
}

/// A running `punctual up`. Dropping it kills the process.
pub(crate) struct UpProcess {
    pub(crate) child: Child,
    pub(crate) lines: std::io::Lines<BufReader<ChildStdout>>,
    /// The lines printed until it was ready.
    pub(crate) output: Vec<String>,
}

impl UpProcess {
    /// Sends SIGTERM, waits, and returns the output from then on.
    pub(crate) fn stop(mut self) -> String {
        self.signal(Signal::TERM);
        let rest: Vec<String> = self.lines.by_ref().map(Result::unwrap).collect();
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}: {rest:?}");
        rest.join("\n")
    }

    /// Sends SIGKILL.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id().try_into().unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }
}

impl Drop for UpProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn api(client: &Client, version: &str, kind: &str) -> Api<DynamicObject> {
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    let gvk = kube::core::GroupVersionKind::gvk(group, version, kind);
    Api::default_namespaced_with(client.clone(), &ApiResource::from_gvk(&gvk))
}

/// Creates a Pod that runs a shell script.
pub(crate) async fn run_pod(client: &Client, name: &str, script: &str) {
    let pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "main", "image": "any", "command": ["/bin/sh", "-c", script]}],
        },
    });
    let pod = serde_json::from_value(pod).unwrap();
    api(client, "v1", "Pod").create(&PostParams::default(), &pod).await.unwrap();
}

/// Waits until a Pod is in the given phase.
pub(crate) async fn wait_for_phase(client: &Client, name: &str, wanted: &str) -> DynamicObject {
    wait_for_status(api(client, "v1", "Pod"), name, |status| status["phase"] == wanted).await
}

/// Waits until the status of an object satisfies `wanted`.
pub(crate) async fn wait_for_status(
    objects: Api<DynamicObject>,
    name: &str,
    wanted: impl Fn(&Value) -> bool,
) -> DynamicObject {
    let mut seen = std::pin::pin!(watcher::watch_object(objects, name));
    let wait = async {
        loop {
            let object = seen.next().await.unwrap().unwrap();
            if let Some(object) = object.filter(|object| wanted(&object.data["status"])) {
                return object;
            }
        }
    };
    tokio::time::timeout(WAIT_TIMEOUT, wait)
        .await
        .unwrap_or_else(|_| panic!("{name} did not reach the wanted status"))
}

pub(crate) async fn log(client: &Client, query: &str) -> kube::Result<String> {
    let path = format!("/api/v1/namespaces/default/pods/{query}");
    client.request_text(Request::get(path).body(Vec::new()).unwrap()).await
}
