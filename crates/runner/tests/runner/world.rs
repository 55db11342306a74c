//! A server, a runner and what it takes to wait for them.

use std::path::PathBuf;
use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _};
use kube::Client;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, ListParams, PostParams};
use kube::runtime::watcher;
use punctual_runner::{Config, LogError, LogQuery, Logs, Runner, Timing};
use punctual_server::{ADMIN_GROUP, Server, User};
use punctual_store::{Options, Store};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Longer than anything takes, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) const NODE: &str = "here";

pub(crate) struct World {
    pub(crate) client: Client,
    pub(crate) folder: TempDir,
    config: Config,
    daemon: Option<(CancellationToken, JoinHandle<()>)>,
    _server: Server,
}

impl World {
    pub(crate) async fn new() -> World {
        World::with(|_| {}).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut Config)) -> World {
        let mut world = World::without_runner(change).await;
        world.start();
        world
    }

    pub(crate) async fn without_runner(change: impl FnOnce(&mut Config)) -> World {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("store"), Options::default()).unwrap();
        let server = Server::start(punctual_server::Config::new(store)).await.unwrap();
        let client = Client::new(server.local_router(User::new("runner", ADMIN_GROUP)), "default");
        let data = folder.path().join("data");
        let mut config = Config::new(client.clone(), NODE, data, supervisor());
        config.timing =
            Timing { backoff_first_ms: 20, backoff_max_ms: 80, backoff_reset_ms: 60_000 };
        change(&mut config);
        World { client, folder, config, daemon: None, _server: server }
    }

    /// Starts a daemon.
    pub(crate) fn start(&mut self) {
        let stop = CancellationToken::new();
        let runner = Runner::start(self.config.clone()).unwrap();
        let task = tokio::spawn(runner.run(stop.clone()));
        self.daemon = Some((stop, task));
    }

    /// Ends the daemon, but not its Pods.
    pub(crate) async fn stop(&mut self) {
        let (stop, task) = self.daemon.take().unwrap();
        stop.cancel();
        task.await.unwrap();
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.config.data_dir.canonicalize().unwrap()
    }

    pub(crate) fn api(&self, kind: &str, plural: &str) -> Api<DynamicObject> {
        Api::default_namespaced_with(self.client.clone(), &resource(kind, plural))
    }

    pub(crate) async fn create(&self, object: Value) -> Value {
        let kind = object["kind"].as_str().unwrap().to_owned();
        let api = self.api(&kind, &format!("{}s", kind.to_lowercase()));
        let object = serde_json::from_value(object).unwrap();
        let made = api.create(&PostParams::default(), &object).await.unwrap();
        serde_json::to_value(made).unwrap()
    }

    /// Makes a Pod and gives its UID.
    pub(crate) async fn pod(&self, name: &str, spec: Value) -> String {
        let made = self.create(pod(name, spec)).await;
        made["metadata"]["uid"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn delete(&self, name: &str, params: &DeleteParams) {
        self.api("Pod", "pods").delete(name, params).await.unwrap();
    }

    /// Waits until a Pod is as wanted.
    pub(crate) async fn until(&self, name: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let wait = async {
            let stream = watcher::watch_object(self.api("Pod", "pods"), name);
            let mut stream = std::pin::pin!(stream);
            loop {
                let seen = stream.next().await.unwrap().unwrap();
                let seen = seen.map_or(Value::Null, |pod| serde_json::to_value(pod).unwrap());
                if is_so(&seen) {
                    return seen;
                }
            }
        };
        match tokio::time::timeout(PATIENCE, wait).await {
            Ok(seen) => seen,
            Err(_) => panic!("{name} is not as wanted: {:#}", self.get(name).await),
        }
    }

    pub(crate) async fn get(&self, name: &str) -> Value {
        let found = self.api("Pod", "pods").get_opt(name).await.unwrap();
        found.map_or(Value::Null, |pod| serde_json::to_value(pod).unwrap())
    }

    /// Waits until a Pod has ended.
    pub(crate) async fn end_of(&self, name: &str) -> Value {
        self.until(name, |pod| {
            ["Succeeded", "Failed"].contains(&pod["status"]["phase"].as_str().unwrap_or_default())
        })
        .await
    }

    pub(crate) async fn running(&self, name: &str) -> Value {
        self.until(name, |pod| pod["status"]["phase"] == "Running").await
    }

    /// Waits until a Pod's object is gone.
    pub(crate) async fn gone(&self, name: &str) {
        self.until(name, Value::is_null).await;
    }

    pub(crate) async fn log(&self, uid: &str, query: LogQuery) -> Result<String, LogError> {
        let stream = Logs::new(self.data()).read(uid, query).await?;
        let pieces: Vec<_> = tokio::time::timeout(PATIENCE, stream.try_collect()).await.unwrap()?;
        Ok(String::from_utf8(pieces.concat()).unwrap())
    }

    /// All that a container said.
    pub(crate) async fn said(&self, uid: &str, container: &str) -> String {
        self.log(uid, query(container)).await.unwrap()
    }

    /// Waits until an event with that reason is there, and gives its message.
    pub(crate) async fn event(&self, pod: &str, reason: &str) -> String {
        let wait = async {
            let api = self.api("Event", "events");
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
        tokio::time::timeout(PATIENCE, wait).await.expect("an event")
    }

    pub(crate) async fn events(&self) -> Vec<Value> {
        let list = self.api("Event", "events").list(&ListParams::default()).await.unwrap();
        list.items.into_iter().map(|event| event.data).collect()
    }

    /// What a Pod's supervisor wrote down.
    pub(crate) fn state(&self, uid: &str) -> Value {
        let path = self.data().join("pods").join(uid).join("state.json");
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
    }
}

impl Drop for World {
    /// A test that fails leaves no supervisors behind.
    fn drop(&mut self) {
        if let Some((stop, task)) = self.daemon.take() {
            stop.cancel();
            while !task.is_finished() {
                std::thread::yield_now();
            }
        }
        let Ok(folders) = std::fs::read_dir(self.config.data_dir.join("pods")) else { return };
        for folder in folders.flatten() {
            let Ok(text) = std::fs::read(folder.path().join("state.json")) else { continue };
            let state: Value = serde_json::from_slice(&text).unwrap_or_default();
            let is_over = ["Succeeded", "Failed"].contains(&state["phase"].as_str().unwrap_or(""));
            if let Some(pid) = state["supervisor"].as_i64().filter(|_| !is_over) {
                let stop = json!({"graceSeconds": 0}).to_string();
                let _ = std::fs::write(folder.path().join("stop"), stop);
                kill(pid, "TERM");
                wait_for_end(pid);
            }
        }
    }
}

/// The small program that is nothing but a supervisor.
pub(crate) fn supervisor() -> PathBuf {
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
    // A doubled sign stands for one of them, and a shell's own number is written with two.
    let text = text.replace("$$", "$$$$");
    json!({"name": name, "image": "none", "command": ["sh", "-c", text]})
}

pub(crate) fn terminated(pod: &Value) -> &Value {
    &pod["status"]["containerStatuses"][0]["state"]["terminated"]
}

pub(crate) fn resource(kind: &str, plural: &str) -> ApiResource {
    ApiResource {
        group: String::new(),
        version: "v1".into(),
        api_version: "v1".into(),
        kind: kind.into(),
        plural: plural.into(),
    }
}

/// Sends a signal to a process that a test started.
pub(crate) fn kill(pid: i64, signal: &str) {
    let signal = format!("-{signal}");
    let _ = std::process::Command::new("kill").args([&signal, "--", &pid.to_string()]).output();
}

/// Waits until a process is gone, which need not be a child of this one.
pub(crate) async fn vanished(pid: i64) {
    let wait = tokio::task::spawn_blocking(move || wait_for_end(pid));
    assert!(wait.await.unwrap(), "the process ends");
}

/// Whether a process ends in time.
fn wait_for_end(pid: i64) -> bool {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { return true };
    let patience = Timespec::try_from(PATIENCE).unwrap();
    poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&patience)) == Ok(1)
}

/// Looks until something is found.
pub(crate) async fn found<T>(look: impl Fn() -> Option<T>) -> T {
    let search = async {
        loop {
            match look() {
                Some(found) => return found,
                None => tokio::task::yield_now().await,
            }
        }
    };
    tokio::time::timeout(PATIENCE, search).await.expect("it is found in time")
}
