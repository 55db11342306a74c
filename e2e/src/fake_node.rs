//! A node of a cluster that has none: it reports Pods as running and completed.
//!
//! Pods are not bound to it, so the server deletes them at once on request. The command of a Pod's
//! first container determines its result: `false` fails, `sleep N` runs for N seconds, `never` does not
//! start, and any other command succeeds at once.

mod pod_program;

use std::{collections::HashMap, time::Instant};

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};

use self::pod_program::PodProgram;
use crate::{
    BackgroundThread, Cluster, StopFlag,
    client::{Client, WatchPoll},
    json, probe,
};

const PODS: &str = "/api/v1/pods";

/// A thread that completes all Pods of a cluster until it is dropped. It survives restarts of the
/// server.
#[derive(Debug)]
pub struct FakeNode {
    _thread: BackgroundThread,
}

impl FakeNode {
    /// Starts the thread.
    pub fn start(cluster: &Cluster) -> anyhow::Result<FakeNode> {
        let client = Client::new(cluster)?;
        let thread = BackgroundThread::start("fake-node", |stop| {
            FakeKubelet { client, running: HashMap::new(), stop }.run();
        })?;
        Ok(FakeNode { _thread: thread })
    }
}

struct FakeKubelet {
    client: Client,
    /// The end time of each running Pod.
    running: HashMap<PodRef, Instant>,
    stop: StopFlag,
}

/// The path and the container names of a Pod.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct PodRef {
    path: String,
    containers: Vec<String>,
}

impl FakeKubelet {
    fn run(mut self) {
        while !self.stop.is_set() {
            // The server may be down, or the watch may be too old: list again.
            if self.list_and_watch().is_err() {
                probe::pause();
            }
        }
    }

    /// Lists all Pods and watches them until the watch ends.
    fn list_and_watch(&mut self) -> anyhow::Result<()> {
        let list = self.client.get(PODS)?;
        for pod in json::items(&list, "/items") {
            self.start_pod(pod)?;
        }
        let version = list.pointer("/metadata/resourceVersion").and_then(Value::as_str);
        let version = version.context("a list without a version")?;
        let mut watch = self.client.watch(&format!("{PODS}?resourceVersion={version}"))?;
        while !self.stop.is_set() {
            match watch.poll()? {
                WatchPoll::Event(event) => self.handle_event(&event)?,
                WatchPoll::Timeout => {}
                WatchPoll::Closed => return Ok(()),
            }
            self.finish_due_pods()?;
        }
        Ok(())
    }

    fn handle_event(&mut self, event: &Value) -> anyhow::Result<()> {
        let pod = event.get("object").context("an event without an object")?;
        match json::text(event, "/type") {
            "ADDED" | "MODIFIED" => self.start_pod(pod),
            "DELETED" => {
                self.running.remove(&PodRef::from_pod(pod));
                Ok(())
            }
            other => bail!("a watch event of type {other:?}"),
        }
    }

    /// Starts a Pod unless it has started, finished or is being deleted.
    fn start_pod(&mut self, pod: &Value) -> anyhow::Result<()> {
        let has_finished = ["Succeeded", "Failed"].contains(&json::text(pod, "/status/phase"));
        let is_deleted = pod.pointer("/metadata/deletionTimestamp").is_some();
        if has_finished || is_deleted {
            return Ok(());
        }
        let pod_ref = PodRef::from_pod(pod);
        match PodProgram::from_pod(pod) {
            PodProgram::Exit(code) => self.finish_pod(&pod_ref, code),
            PodProgram::Sleep(_) if self.running.contains_key(&pod_ref) => Ok(()),
            PodProgram::Sleep(time) => {
                let ready = json!({ "type": "Ready", "status": "True" });
                let status = json!({ "phase": "Running", "conditions": [ready] });
                self.write_status(&pod_ref, &status)?;
                self.running.insert(pod_ref, now() + time);
                Ok(())
            }
            PodProgram::Never => Ok(()),
        }
    }

    fn finish_due_pods(&mut self) -> anyhow::Result<()> {
        let now = now();
        let due = self.running.iter().filter(|(_, end)| **end <= now);
        for pod in due.map(|(pod, _)| pod.clone()).collect::<Vec<_>>() {
            self.finish_pod(&pod, 0)?;
            self.running.remove(&pod);
        }
        Ok(())
    }

    fn finish_pod(&mut self, pod: &PodRef, code: u8) -> anyhow::Result<()> {
        let phase = if code == 0 { "Succeeded" } else { "Failed" };
        let status = |name: &String| {
            json!({
                "name": name, "image": "", "imageID": "", "ready": false, "restartCount": 0,
                "state": { "terminated": { "exitCode": code } },
            })
        };
        let statuses: Vec<_> = pod.containers.iter().map(status).collect();
        self.write_status(pod, &json!({ "phase": phase, "containerStatuses": statuses }))?;
        Ok(())
    }

    /// Writes the status of a Pod. A deleted Pod needs none.
    fn write_status(&mut self, pod: &PodRef, status: &Value) -> anyhow::Result<()> {
        let path = format!("{}/status", pod.path);
        let response = self.client.send("PATCH", &path, Some(&json!({ "status": status })))?;
        ensure!(
            response.is_success() || response.status == 404,
            "{path}: {} {}",
            response.status,
            response.message()
        );
        Ok(())
    }
}

impl PodRef {
    fn from_pod(pod: &Value) -> PodRef {
        let namespace = json::text(pod, "/metadata/namespace");
        let name = json::text(pod, "/metadata/name");
        let containers = json::items(pod, "/spec/containers").iter();
        PodRef {
            path: format!("/api/v1/namespaces/{namespace}/pods/{name}"),
            containers: containers.map(|it| json::text(it, "/name").to_owned()).collect(),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "fake Pods sleep in real time")]
fn now() -> Instant {
    Instant::now()
}
