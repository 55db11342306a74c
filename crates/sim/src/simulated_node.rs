//! A node that runs no programs: a Pod takes as long as its command says and ends as it says.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::Method;
use punctual_store::Change;
use punctual_testing::history::HistoryEvent;
use punctual_testing::scenario::Millis;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::environment::SimulationEnv;
use crate::simulated_server::SimulatedServer;

/// The name of the node.
pub(crate) const NAME: &str = "node";

/// How often a request is repeated while the server is down.
const RETRY_EVERY: Millis = 500;
/// The node reports the phase Running only for Pods that run at least this long.
const REPORT_RUNNING_FROM: Millis = 3000;

/// The fields of a Pod that the node needs.
#[derive(Deserialize)]
struct PodManifest {
    metadata: PodMetadata,
    spec: PodCommandSpec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PodMetadata {
    name: String,
    namespace: String,
    uid: String,
    deletion_timestamp: Option<String>,
    #[serde(default)]
    owner_references: Vec<PodOwner>,
}

#[derive(Deserialize)]
struct PodOwner {
    uid: String,
}

#[derive(Deserialize)]
struct PodCommandSpec {
    containers: Vec<ContainerCommand>,
}

#[derive(Deserialize)]
struct ContainerCommand {
    command: Vec<String>,
}

/// The node.
pub(crate) struct SimulatedNode {
    env: Arc<SimulationEnv>,
    server: Arc<SimulatedServer>,
    /// Cancelling the token kills the Pod with this UID.
    pods: BTreeMap<Arc<str>, CancellationToken>,
}

impl SimulatedNode {
    pub(crate) fn new(env: Arc<SimulationEnv>, server: Arc<SimulatedServer>) -> SimulatedNode {
        SimulatedNode { env, server, pods: BTreeMap::new() }
    }

    /// Runs Pods forever. Changes come directly from the disk.
    pub(crate) async fn run(mut self, mut changes: mpsc::UnboundedReceiver<Arc<Change>>) {
        while let Some(change) = changes.recv().await {
            let entry = change.current.as_ref().or(change.previous.as_ref());
            let Some(pod) = entry.and_then(|entry| serde_json::from_slice(&entry.value).ok())
            else {
                continue;
            };
            self.apply(pod, change.current.is_none());
        }
    }

    fn apply(&mut self, pod: PodManifest, is_deleted: bool) {
        let uid: Arc<str> = pod.metadata.uid.as_str().into();
        if is_deleted || pod.metadata.deletion_timestamp.is_some() {
            self.pods.entry(uid).or_default().cancel();
        } else if !self.pods.contains_key(&uid) {
            let killed = CancellationToken::new();
            self.pods.insert(uid.clone(), killed.clone());
            let env = self.env.clone();
            let server = self.server.clone();
            tokio::spawn(SimulatedPod { env, server, pod, uid, killed }.run());
        }
    }
}

/// One Pod on the node.
struct SimulatedPod {
    env: Arc<SimulationEnv>,
    server: Arc<SimulatedServer>,
    pod: PodManifest,
    uid: Arc<str>,
    killed: CancellationToken,
}

impl SimulatedPod {
    async fn run(self) {
        let owner = self.pod.metadata.owner_references.first();
        let job = owner.map(|owner| owner.uid.as_str()).unwrap_or_default().into();
        self.env.record(HistoryEvent::PodStarted { pod: self.uid.clone(), job });
        let (work, exit) = self.command();
        let ends_at = self.env.now() + work;
        if work >= REPORT_RUNNING_FROM {
            self.write_status(&json!({"phase": "Running"})).await;
        }
        let was_killed = tokio::select! {
            biased;
            () = self.killed.cancelled() => true,
            () = self.env.sleep_until(ends_at) => false,
        };
        let exit = if was_killed { None } else { Some(exit) };
        self.env.record(HistoryEvent::PodEnded { pod: self.uid.clone(), exit });
        let code = exit.unwrap_or(137);
        let phase = if code == 0 { "Succeeded" } else { "Failed" };
        let status = json!({"phase": phase, "containerStatuses": [{"name": "main", "image": "none",
            "imageID": "", "ready": false, "restartCount": 0,
            "state": {"terminated": {"exitCode": code, "reason": "Over"}}}]});
        self.write_status(&status).await;
        self.killed.cancelled().await;
        self.delete().await;
    }

    /// The duration and the exit code. The command is `run MILLISECONDS FAILURES_OF_TEN`.
    fn command(&self) -> (Millis, i32) {
        let command = self.pod.spec.containers.first().map(|main| main.command.as_slice());
        let argument = |index: usize| command.and_then(|words| words.get(index));
        let work = argument(1).and_then(|word| word.parse().ok()).unwrap_or_default();
        let failures = argument(2).and_then(|word| word.parse::<u32>().ok()).unwrap_or_default();
        // The UID of the Job decides, so that the result does not depend on the order of events.
        let job = self.pod.metadata.owner_references.first().map_or("", |owner| &owner.uid);
        let hash = job.bytes().fold(7_u32, |sum, byte| sum.wrapping_mul(31) + u32::from(byte));
        (work, i32::from(hash % 10 < failures))
    }

    fn path(&self) -> String {
        let PodMetadata { namespace, name, .. } = &self.pod.metadata;
        format!("/api/v1/namespaces/{namespace}/pods/{name}")
    }

    async fn write_status(&self, status: &Value) {
        let patch = json!({"metadata": {"uid": &*self.uid}, "status": status});
        let path = format!("{}/status", self.path());
        self.server.send_until_answered(RETRY_EVERY, &Method::PATCH, &path, &patch).await;
    }

    /// Deletes the Pod's object.
    async fn delete(&self) {
        let options = json!({"gracePeriodSeconds": 0, "preconditions": {"uid": &*self.uid}});
        self.server.send_until_answered(RETRY_EVERY, &Method::DELETE, &self.path(), &options).await;
    }
}
