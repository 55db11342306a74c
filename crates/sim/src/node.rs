//! A node that runs nothing but time: a Pod takes as long as its command says, and ends as it says.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::Method;
use punctual_store::Change;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::history::Happened;
use crate::scenario::Millis;
use crate::site::Site;
use crate::stage::Stage;

/// The name of the node.
pub(crate) const NAME: &str = "node";

/// How long to wait for a server that is away.
const RETRY_EVERY: Millis = 500;
/// Pods that are over sooner are never seen running.
const SHOWN_RUNNING: Millis = 3000;

/// What the node reads of a Pod.
#[derive(Deserialize)]
struct Pod {
    metadata: Meta,
    spec: Spec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    name: String,
    namespace: String,
    uid: String,
    deletion_timestamp: Option<String>,
    #[serde(default)]
    owner_references: Vec<Owner>,
}

#[derive(Deserialize)]
struct Owner {
    uid: String,
}

#[derive(Deserialize)]
struct Spec {
    containers: Vec<Container>,
}

#[derive(Deserialize)]
struct Container {
    command: Vec<String>,
}

/// The node.
pub(crate) struct Node {
    stage: Arc<Stage>,
    site: Arc<Site>,
    /// The Pods that are here, and how to kill them.
    pods: BTreeMap<Arc<str>, CancellationToken>,
}

impl Node {
    pub(crate) fn new(stage: Arc<Stage>, site: Arc<Site>) -> Node {
        Node { stage, site, pods: BTreeMap::new() }
    }

    /// Runs Pods for ever.
    pub(crate) async fn run(mut self, mut changes: mpsc::UnboundedReceiver<Arc<Change>>) {
        while let Some(change) = changes.recv().await {
            let shown = change.current.as_ref().or(change.previous.as_ref());
            let Some(pod) = shown.and_then(|entry| serde_json::from_slice(&entry.value).ok())
            else {
                continue;
            };
            self.see(pod, change.current.is_none());
        }
    }

    fn see(&mut self, pod: Pod, is_gone: bool) {
        let uid: Arc<str> = pod.metadata.uid.as_str().into();
        if is_gone || pod.metadata.deletion_timestamp.is_some() {
            self.pods.entry(uid).or_default().cancel();
        } else if !self.pods.contains_key(&uid) {
            let death = CancellationToken::new();
            self.pods.insert(uid.clone(), death.clone());
            let life = Life { stage: self.stage.clone(), site: self.site.clone(), pod, uid, death };
            tokio::spawn(life.run());
        }
    }
}

/// The life of one Pod.
struct Life {
    stage: Arc<Stage>,
    site: Arc<Site>,
    pod: Pod,
    uid: Arc<str>,
    death: CancellationToken,
}

impl Life {
    async fn run(self) {
        let owner = self.pod.metadata.owner_references.first();
        let job = owner.map(|owner| owner.uid.as_str()).unwrap_or_default().into();
        self.stage.record(Happened::Began { pod: self.uid.clone(), job });
        let (work, exit) = self.task();
        let ends_at = self.stage.now() + work;
        if work >= SHOWN_RUNNING {
            self.tell(&json!({"phase": "Running"})).await;
        }
        let was_killed = tokio::select! {
            biased;
            () = self.death.cancelled() => true,
            () = self.stage.until(ends_at) => false,
        };
        let exit = if was_killed { None } else { Some(exit) };
        self.stage.record(Happened::Ended { pod: self.uid.clone(), exit });
        let code = exit.unwrap_or(137);
        let phase = if code == 0 { "Succeeded" } else { "Failed" };
        let ended = json!({"phase": phase, "containerStatuses": [{"name": "main", "image": "none",
            "imageID": "", "ready": false, "restartCount": 0,
            "state": {"terminated": {"exitCode": code, "reason": "Over"}}}]});
        self.tell(&ended).await;
        self.death.cancelled().await;
        self.leave().await;
    }

    /// How long it takes, and how it ends: the command is `run MILLISECONDS EXIT`.
    fn task(&self) -> (Millis, i32) {
        let command = self.pod.spec.containers.first().map(|main| main.command.as_slice());
        let word = |at: usize| command.and_then(|words| words.get(at));
        let work = word(1).and_then(|word| word.parse().ok()).unwrap_or_default();
        let failures = word(2).and_then(|word| word.parse::<u32>().ok()).unwrap_or_default();
        // The slot decides, so that whoever asks again gets the same answer.
        let name = self.pod.metadata.owner_references.first().map_or("", |owner| &owner.uid);
        let lot = name.bytes().fold(7_u32, |sum, byte| sum.wrapping_mul(31) + u32::from(byte));
        (work, i32::from(lot % 10 < failures))
    }

    fn path(&self) -> String {
        let Meta { namespace, name, .. } = &self.pod.metadata;
        format!("/api/v1/namespaces/{namespace}/pods/{name}")
    }

    /// Tells the server how the Pod is, until it has heard.
    async fn tell(&self, status: &Value) {
        let patch = json!({"metadata": {"uid": &*self.uid}, "status": status});
        let path = format!("{}/status", self.path());
        self.site.insist(RETRY_EVERY, &Method::PATCH, &path, &patch).await;
    }

    /// Takes the Pod away.
    async fn leave(&self) {
        let options = json!({"gracePeriodSeconds": 0, "preconditions": {"uid": &*self.uid}});
        self.site.insist(RETRY_EVERY, &Method::DELETE, &self.path(), &options).await;
    }
}
