//! A node of a cluster that has none: it says of Pods that they ran.
//!
//! Pods are not bound to it, so that the server deletes them at once when it is asked to, as if a
//! kubelet had been quick. What a Pod does is read off the command of its first container: `false`
//! fails, `sleep N` runs for so many seconds, and everything else succeeds at once.

mod program;

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::Instant,
};

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};

use self::program::Program;
use crate::{
    Cluster,
    client::{Client, Seen},
    probe,
};

const PODS: &str = "/api/v1/pods";

/// A thread that looks after all Pods of a cluster until it is dropped. It outlives restarts of the
/// server.
#[derive(Debug)]
pub struct FakeNode {
    is_over: Arc<AtomicBool>,
    finished: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl FakeNode {
    /// Starts it.
    pub fn start(cluster: &Cluster) -> anyhow::Result<FakeNode> {
        let (is_over, finished) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let machine = Machine {
            client: Client::new(cluster)?,
            running: HashMap::new(),
            is_over: Arc::clone(&is_over),
            finished: Arc::clone(&finished),
        };
        let thread = thread::Builder::new().name("fake-node".to_owned());
        let thread = thread.spawn(move || machine.live()).context("starting a thread")?;
        Ok(FakeNode { is_over, finished, thread: Some(thread) })
    }

    /// How many Pods have ended, well or not.
    pub fn finished(&self) -> u64 {
        self.finished.load(Ordering::Relaxed)
    }
}

impl Drop for FakeNode {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // A thread that panicked has said so already.
        let _ended = self.thread.take().map(JoinHandle::join);
    }
}

struct Machine {
    client: Client,
    /// The Pods that sleep, and when they wake.
    running: HashMap<Place, Instant>,
    is_over: Arc<AtomicBool>,
    finished: Arc<AtomicU64>,
}

/// Where a Pod is, and what is in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Place {
    path: String,
    containers: Vec<String>,
}

impl Machine {
    fn live(mut self) {
        while !self.is_over() {
            // The server may be down, or has forgotten where we were: begin anew.
            if self.follow().is_err() {
                probe::pause();
            }
        }
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Lists all Pods and watches them until the watch ends.
    fn follow(&mut self) -> anyhow::Result<()> {
        let list = self.client.get(PODS)?;
        for pod in list.get("items").and_then(Value::as_array).into_iter().flatten() {
            self.look_at(pod)?;
        }
        let version = list.pointer("/metadata/resourceVersion").and_then(Value::as_str);
        let version = version.context("a list without a version")?;
        let mut watch = self.client.watch(&format!("{PODS}?resourceVersion={version}"))?;
        while !self.is_over() {
            match watch.see()? {
                Seen::Event(event) => self.hear(&event)?,
                Seen::Nothing => {}
                Seen::End => return Ok(()),
            }
            self.wake()?;
        }
        Ok(())
    }

    fn hear(&mut self, event: &Value) -> anyhow::Result<()> {
        let pod = event.get("object").context("an event without an object")?;
        match event.get("type").and_then(Value::as_str) {
            Some("ADDED" | "MODIFIED") => self.look_at(pod),
            Some("DELETED") => {
                self.running.remove(&Place::of(pod));
                Ok(())
            }
            other => bail!("a watch gave {other:?}"),
        }
    }

    /// Starts a Pod that was not started yet.
    fn look_at(&mut self, pod: &Value) -> anyhow::Result<()> {
        let phase = pod.pointer("/status/phase").and_then(Value::as_str);
        let is_leaving = pod.pointer("/metadata/deletionTimestamp").is_some();
        if matches!(phase, Some("Succeeded" | "Failed")) || is_leaving {
            return Ok(());
        }
        let place = Place::of(pod);
        match Program::of(pod) {
            Program::Ends(code) => self.end(&place, code),
            Program::Sleeps(_) if self.running.contains_key(&place) => Ok(()),
            Program::Sleeps(time) => {
                self.report(&place, &json!({ "phase": "Running" }))?;
                self.running.insert(place, now() + time);
                Ok(())
            }
        }
    }

    /// Ends the Pods that have slept enough.
    fn wake(&mut self) -> anyhow::Result<()> {
        let now = now();
        let due = self.running.iter().filter(|(_, due)| **due <= now);
        for place in due.map(|(place, _)| place.clone()).collect::<Vec<_>>() {
            self.end(&place, 0)?;
            self.running.remove(&place);
        }
        Ok(())
    }

    fn end(&mut self, place: &Place, code: u8) -> anyhow::Result<()> {
        let phase = if code == 0 { "Succeeded" } else { "Failed" };
        let status = |name: &String| {
            json!({
                "name": name, "image": "", "imageID": "", "ready": false, "restartCount": 0,
                "state": { "terminated": { "exitCode": code } },
            })
        };
        let statuses: Vec<_> = place.containers.iter().map(status).collect();
        self.report(place, &json!({ "phase": phase, "containerStatuses": statuses }))?;
        self.finished.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Writes the status of a Pod. One that is gone needs none.
    fn report(&mut self, place: &Place, status: &Value) -> anyhow::Result<()> {
        let (path, patch) = (format!("{}/status", place.path), json!({ "status": status }));
        let answer = self.client.send("PATCH", &path, Some(&patch))?;
        let (status, message) = (answer.status, answer.message());
        ensure!(answer.is_success() || status == 404, "{path}: {status} {message}");
        Ok(())
    }
}

impl Place {
    fn of(pod: &Value) -> Place {
        let text = |pointer: &str| pod.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
        let containers = pod.pointer("/spec/containers").and_then(Value::as_array);
        let names = containers.into_iter().flatten().filter_map(|container| container.get("name"));
        Place {
            path: format!("/api/v1/namespaces/{namespace}/pods/{name}"),
            containers: names.filter_map(Value::as_str).map(str::to_owned).collect(),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "what sleeps on this machine does so in real time")]
fn now() -> Instant {
    Instant::now()
}
