//! The environment of these tests: a server and a runner, with functions that wait for their
//! results.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _};
use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, PostParams};
use kube::runtime::watcher;
use punctual_client::ResourceType;
use punctual_client::resources::{CONFIG_MAPS, EVENTS, PODS, SECRETS};
use punctual_runner::{
    LogError, LogQuery, Logs, ProcessRuntime, ProcessRuntimeOptions, RestartBackoff, Runner,
    RunnerOptions,
};
use punctual_server::{ADMIN_GROUP, Server, User};
use punctual_store::{Options, Store};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Longer than any step takes, even on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) const NODE: &str = "here";

pub(crate) struct TestNode {
    pub(crate) client: Client,
    pub(crate) folder: TempDir,
    options: TestOptions,
    daemon: Option<(CancellationToken, JoinHandle<()>)>,
    _server: Server,
}

pub(crate) struct TestOptions {
    pub(crate) runner: RunnerOptions,
    pub(crate) runtime: ProcessRuntimeOptions,
}

impl TestNode {
    pub(crate) async fn new() -> TestNode {
        TestNode::with(|_| {}).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut TestOptions)) -> TestNode {
        let mut node = TestNode::without_runner(change).await;
        node.start();
        node
    }

    pub(crate) async fn without_runner(change: impl FnOnce(&mut TestOptions)) -> TestNode {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("store"), Options::default()).unwrap();
        let server = Server::start(punctual_server::Config::new(store)).await.unwrap();
        let client = Client::new(server.local_router(User::new("runner", ADMIN_GROUP)), "default");
        let data_dir = folder.path().join("data");
        let mut options = TestOptions {
            runner: RunnerOptions::new(client.clone(), NODE),
            runtime: ProcessRuntimeOptions::new(data_dir, supervisor_program()),
        };
        options.runtime.restart_backoff =
            RestartBackoff { first_ms: 20, max_ms: 80, reset_ms: 60_000 };
        change(&mut options);
        TestNode { client, folder, options, daemon: None, _server: server }
    }

    /// Starts the daemon.
    pub(crate) fn start(&mut self) {
        let stop = CancellationToken::new();
        let runtime = ProcessRuntime::new(self.options.runtime.clone()).unwrap();
        let options = self.options.runner.clone();
        let stop_runner = stop.clone();
        let task = tokio::spawn(async move {
            let runner = Runner::new(options, Arc::new(runtime)).await.unwrap();
            runner.run(stop_runner).await;
        });
        self.daemon = Some((stop, task));
    }

    /// Stops the daemon, but not its Pods.
    pub(crate) async fn stop(&mut self) {
        let (stop, task) = self.daemon.take().unwrap();
        stop.cancel();
        task.await.unwrap();
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.options.runtime.data_dir.canonicalize().unwrap()
    }

    pub(crate) fn api(&self, resource: &ResourceType) -> Api<DynamicObject> {
        Api::default_namespaced_with(self.client.clone(), &resource.api_resource())
    }

    pub(crate) async fn create(&self, object: Value) -> Value {
        let mut resources = [&CONFIG_MAPS, &PODS, &SECRETS].into_iter();
        let resource = resources.find(|resource| object["kind"] == resource.kind).unwrap();
        let api = self.api(resource);
        let object = serde_json::from_value(object).unwrap();
        let created = api.create(&PostParams::default(), &object).await.unwrap();
        serde_json::to_value(created).unwrap()
    }

    /// Creates a Pod and returns its UID.
    pub(crate) async fn create_pod(&self, name: &str, spec: Value) -> String {
        let created = self.create(pod(name, spec)).await;
        created["metadata"]["uid"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn delete(&self, name: &str, params: &DeleteParams) {
        self.api(&PODS).delete(name, params).await.unwrap();
    }

    /// Waits until a Pod matches a condition.
    pub(crate) async fn wait_for(&self, name: &str, is_match: impl Fn(&Value) -> bool) -> Value {
        let wait = async {
            let stream = watcher::watch_object(self.api(&PODS), name);
            let mut stream = std::pin::pin!(stream);
            loop {
                let pod = stream.next().await.unwrap().unwrap();
                let pod = pod.map_or(Value::Null, |pod| serde_json::to_value(pod).unwrap());
                if is_match(&pod) {
                    return pod;
                }
            }
        };
        match tokio::time::timeout(TIMEOUT, wait).await {
            Ok(pod) => pod,
            Err(_) => panic!("the Pod {name} does not match: {:#}", self.get(name).await),
        }
    }

    pub(crate) async fn get(&self, name: &str) -> Value {
        let found = self.api(&PODS).get_opt(name).await.unwrap();
        found.map_or(Value::Null, |pod| serde_json::to_value(pod).unwrap())
    }

    /// Waits until a Pod has ended.
    pub(crate) async fn wait_for_end(&self, name: &str) -> Value {
        self.wait_for(name, |pod| {
            ["Succeeded", "Failed"].contains(&pod["status"]["phase"].as_str().unwrap_or_default())
        })
        .await
    }

    pub(crate) async fn wait_until_running(&self, name: &str) -> Value {
        self.wait_for(name, |pod| pod["status"]["phase"] == "Running").await
    }

    /// Waits until a Pod's object is deleted.
    pub(crate) async fn wait_until_deleted(&self, name: &str) {
        self.wait_for(name, Value::is_null).await;
    }

    pub(crate) async fn log(&self, uid: &str, query: LogQuery) -> Result<String, LogError> {
        let stream = Logs::new(self.data()).read(uid, query).await?;
        let chunks: Vec<_> = tokio::time::timeout(TIMEOUT, stream.try_collect()).await.unwrap()?;
        Ok(String::from_utf8(chunks.concat()).unwrap())
    }

    /// The complete output of a container.
    pub(crate) async fn output(&self, uid: &str, container: &str) -> String {
        self.log(uid, query(container)).await.unwrap()
    }

    /// Waits for an Event with a reason and returns its message.
    pub(crate) async fn event(&self, pod: &str, reason: &str) -> String {
        let wait = async {
            let api = self.api(&EVENTS);
            let stream = watcher::watcher(api, watcher::Config::default());
            let mut stream = std::pin::pin!(stream);
            loop {
                let event = match stream.next().await.unwrap().unwrap() {
                    watcher::Event::Apply(event) | watcher::Event::InitApply(event) => event.data,
                    _ => continue,
                };
                if event["reason"] == reason && event["involvedObject"]["name"] == pod {
                    return event["message"].as_str().unwrap().to_owned();
                }
            }
        };
        tokio::time::timeout(TIMEOUT, wait).await.expect("the Event is written in time")
    }

    pub(crate) async fn events(&self) -> Vec<Value> {
        let list = self.api(&EVENTS).list(&ListParams::default()).await.unwrap();
        list.items.into_iter().map(|event| event.data).collect()
    }

    /// The content of a Pod's `state.json`.
    pub(crate) fn state(&self, uid: &str) -> Value {
        last_state(&self.data().join("pods").join(uid)).unwrap()
    }
}

impl Drop for TestNode {
    /// Stops the supervisors, even after a failed test.
    fn drop(&mut self) {
        if let Some((stop, task)) = self.daemon.take() {
            stop.cancel();
            while !task.is_finished() {
                std::thread::yield_now();
            }
        }
        let Ok(folders) = std::fs::read_dir(self.options.runtime.data_dir.join("pods")) else {
            return;
        };
        for folder in folders.flatten() {
            let Some(state) = last_state(&folder.path()) else { continue };
            let is_over = ["Succeeded", "Failed"].contains(&state["phase"].as_str().unwrap_or(""));
            if !is_over && let Some(pid) = state["supervisorPid"].as_i64() {
                let stop = json!({"graceSeconds": 0}).to_string();
                let _ = std::fs::write(folder.path().join("stop"), stop);
                kill(pid, "TERM");
                exits_in_time(pid);
            }
        }
    }
}

/// The last line of a Pod's `state.json`.
pub(crate) fn last_state(folder: &Path) -> Option<Value> {
    let text = std::fs::read_to_string(folder.join("state.json")).ok()?;
    serde_json::from_str(text.lines().last()?).ok()
}

/// The program that is only a supervisor.
pub(crate) fn supervisor_program() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_punctual-supervise"))
}

pub(crate) fn query(container: &str) -> LogQuery {
    LogQuery { pod: "p".into(), container: container.into(), ..LogQuery::default() }
}

pub(crate) fn pod(name: &str, mut spec: Value) -> Value {
    spec["nodeName"] = NODE.into();
    if spec["restartPolicy"].is_null() {
        spec["restartPolicy"] = "Never".into();
    }
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})
}

/// A Pod of one container that runs a script.
pub(crate) fn script(text: &str) -> Value {
    json!({"containers": [container("c", text)]})
}

pub(crate) fn container(name: &str, text: &str) -> Value {
    // The expansion of commands turns `$$` into `$`, but in a shell `$$` is its process ID.
    let text = text.replace("$$", "$$$$");
    json!({"name": name, "image": "none", "command": ["sh", "-c", text]})
}

pub(crate) fn terminated(pod: &Value) -> &Value {
    &pod["status"]["containerStatuses"][0]["state"]["terminated"]
}

/// Sends a signal to a process that a test started.
pub(crate) fn kill(pid: i64, signal: &str) {
    let signal = format!("-{signal}");
    let _ = std::process::Command::new("kill").args([&signal, "--", &pid.to_string()]).output();
}

/// Waits until a process has exited. It need not be a child of this process.
pub(crate) async fn wait_for_exit(pid: i64) {
    let wait = tokio::task::spawn_blocking(move || exits_in_time(pid));
    assert!(wait.await.unwrap(), "the process exits");
}

/// Whether a process exits in time.
fn exits_in_time(pid: i64) -> bool {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { return true };
    let timeout = Timespec::try_from(TIMEOUT).unwrap();
    // A signal that another child has exited interrupts the wait.
    let poll = || poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&timeout));
    rustix::io::retry_on_intr(poll) == Ok(1)
}

/// Polls until there is a value.
pub(crate) async fn poll_until_some<T>(poll: impl Fn() -> Option<T>) -> T {
    let search = async {
        loop {
            match poll() {
                Some(value) => return value,
                None => tokio::task::yield_now().await,
            }
        }
    };
    tokio::time::timeout(TIMEOUT, search).await.expect("a value in time")
}
