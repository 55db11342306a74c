//! A server, a controller that can be stopped and killed, a clock, and what a kubelet does.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kube::Client;
use punctual_controller::{BurstGate, Clock, Context, Fence, Metrics, SystemClock, run_jobs};
use punctual_server::{ADMIN_GROUP, Config, Server, User};
use punctual_store::{ChangeKind, Options, Store};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::asking;
use crate::flaky::{Dice, Faults, Flaky};

/// More than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";
pub(crate) const PODS: &str = "/api/v1/namespaces/default/pods";
pub(crate) const TRACKING: &str = "batch.kubernetes.io/job-tracking";

/// The real time, and as much more as the test wants.
#[derive(Default)]
struct Ahead(AtomicI64);

impl Clock for Ahead {
    fn now(&self) -> Timestamp {
        SystemClock.now() + SignedDuration::from_secs(self.0.load(Ordering::Relaxed))
    }

    fn monotonic(&self) -> Duration {
        SystemClock.monotonic()
    }
}

pub(crate) struct World {
    pub(crate) store: Store,
    client: Client,
    /// The client of the controller.
    unreliable: Client,
    /// What is wrong with its connection.
    pub(crate) faults: Faults,
    clock: Arc<Ahead>,
    running: Option<(CancellationToken, JoinHandle<()>)>,
    _folder: TempDir,
}

impl World {
    pub(crate) async fn new() -> World {
        World::with_faults(Faults::new(Dice::new(0), 0)).await
    }

    /// A world in which the controller has a bad connection.
    pub(crate) async fn with_faults(faults: Faults) -> World {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("store"), Options::default()).unwrap();
        let server = Server::start(Config::new(store.clone())).await.unwrap();
        let local = || server.local_router(User::new("test", ADMIN_GROUP));
        let flaky = Flaky { inner: local(), faults: faults.clone() };
        let mut world = World {
            store,
            client: Client::new(local(), "default"),
            unreliable: Client::new(flaky, "default"),
            faults,
            clock: Arc::default(),
            running: None,
            _folder: folder,
        };
        world.start();
        world
    }

    pub(crate) fn start(&mut self) {
        let stop = CancellationToken::new();
        let context = Context {
            client: self.unreliable.clone(),
            clock: self.clock.clone(),
            metrics: Metrics::default(),
            burst_gate: BurstGate::default(),
            fence: Fence::always_open(),
        };
        let task = tokio::spawn(run_jobs(context, 4, stop.clone()));
        self.running = Some((stop, task));
    }

    /// Stops the controller in order.
    pub(crate) async fn stop(&mut self) {
        let (stop, task) = self.running.take().unwrap();
        stop.cancel();
        tokio::time::timeout(PATIENCE, task).await.expect("it stops").unwrap();
    }

    /// Kills the controller wherever it is. What it had handed to the store by then is written
    /// before it comes back, as when server and controller die together.
    pub(crate) async fn kill(&mut self) {
        let (_, task) = self.running.take().unwrap();
        task.abort();
        let _ = task.await;
        let config_maps = "/api/v1/namespaces/default/configmaps";
        let last =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "x-"}});
        self.send("POST", config_maps, &last).await.unwrap();
    }

    pub(crate) async fn restart(&mut self) {
        self.stop().await;
        self.start();
    }

    pub(crate) fn advance(&self, seconds: i64) {
        self.clock.0.fetch_add(seconds, Ordering::Relaxed);
    }

    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        body: &Value,
    ) -> Result<Value, kube::Error> {
        asking::send(&self.client, method, path, body).await
    }

    /// Makes a Job with these fields in its spec, and gives its UID.
    pub(crate) async fn make_job(&self, name: &str, fields: Value) -> String {
        let mut spec = json!({"template": {"spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "c", "image": "x"}],
        }}});
        spec.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec});
        let made = self.send("POST", JOBS, &job).await.unwrap();
        made["metadata"]["uid"].as_str().unwrap().to_owned()
    }

    /// Makes a Pod with this metadata.
    pub(crate) async fn make_pod(&self, metadata: Value) -> Value {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata,
            "spec": {"containers": [{"name": "c", "image": "x"}], "restartPolicy": "Never"}});
        self.send("POST", PODS, &pod).await.unwrap()
    }

    pub(crate) async fn patch_job(&self, name: &str, patch: &Value) {
        self.send("PATCH", &format!("{JOBS}/{name}"), patch).await.unwrap();
    }

    pub(crate) fn job(&self, name: &str) -> Value {
        self.object(&format!("/jobs.batch/default/{name}")).unwrap_or_default()
    }

    pub(crate) fn pod(&self, name: &str) -> Value {
        self.object(&format!("/pods/default/{name}")).unwrap_or_default()
    }

    fn object(&self, key: &str) -> Option<Value> {
        self.store.get(key).map(|entry| serde_json::from_slice(&entry.value).unwrap())
    }

    pub(crate) fn pods(&self) -> Vec<Value> {
        let snapshot = self.store.snapshot();
        let pods = snapshot.prefix("/pods/default/");
        pods.map(|(_, entry)| serde_json::from_slice(&entry.value).unwrap()).collect()
    }

    /// Names of the Pods that a kubelet would run.
    pub(crate) fn active(&self) -> Vec<String> {
        let pods = self.pods().into_iter().filter(is_active);
        pods.map(|pod| pod["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    }

    /// How many Pods were ever made.
    pub(crate) fn made_pods(&self) -> usize {
        let mut watch = self.store.watch("/pods/", 0).unwrap();
        let changes = std::iter::from_fn(|| watch.try_next().unwrap());
        changes.filter(|change| change.kind() == ChangeKind::Created).count()
    }

    /// Waits until it is so, looking after each change of anything.
    pub(crate) async fn until(&self, what: &str, is_so: impl Fn(&World) -> bool) {
        let mut watch = self.store.watch("/", self.store.revision()).unwrap();
        let wait = async {
            while !is_so(self) {
                watch.next().await.unwrap();
            }
        };
        let outcome = tokio::time::timeout(PATIENCE, wait).await;
        assert!(outcome.is_ok(), "not until now: {what}\n{}", self.report());
    }

    /// Jobs and Pods, for people.
    pub(crate) fn report(&self) -> String {
        let snapshot = self.store.snapshot();
        let objects = snapshot.prefix("/jobs.batch/").chain(snapshot.prefix("/pods/"));
        let lines = objects.map(|(key, entry)| {
            let mut object: Value = serde_json::from_slice(&entry.value).unwrap();
            object["metadata"].as_object_mut().unwrap().remove("managedFields");
            format!("{key} {} {}\n", object["metadata"], object["status"])
        });
        lines.collect()
    }

    pub(crate) async fn until_active(&self, count: usize) -> Vec<String> {
        self.until(&format!("{count} Pods"), |world| world.active().len() == count).await;
        self.active()
    }

    pub(crate) async fn until_condition(&self, job: &str, kind: &str) -> Value {
        self.until(kind, |world| has_condition(&world.job(job), kind)).await;
        self.job(job)
    }

    /// A Pod ends. Gives it as it was then.
    pub(crate) async fn end(&self, name: &str, phase: &str) -> Result<Value, kube::Error> {
        let path = format!("{PODS}/{name}");
        let mut pod = self.send("GET", &path, &Value::Null).await?;
        let code = i32::from(phase == "Failed");
        let ended = json!({"exitCode": code, "finishedAt": self.clock.now().round(jiff::Unit::Second).unwrap()});
        pod["status"]["phase"] = json!(phase);
        pod["status"]["containerStatuses"] = json!([{"name": "c", "image": "x", "imageID": "", "ready": false,
            "restartCount": 0, "state": {"terminated": ended}}]);
        self.send("PUT", &format!("{path}/status"), &pod).await
    }
}

pub(crate) fn has_condition(job: &Value, kind: &str) -> bool {
    let conditions = job["status"]["conditions"].as_array().into_iter().flatten();
    conditions
        .into_iter()
        .any(|condition| condition["type"] == kind && condition["status"] == "True")
}

pub(crate) fn is_tracked(pod: &Value) -> bool {
    let finalizers = pod["metadata"]["finalizers"].as_array().into_iter().flatten();
    finalizers.into_iter().any(|name| name == TRACKING)
}

pub(crate) fn is_active(pod: &Value) -> bool {
    let phase = pod["status"]["phase"].as_str().unwrap_or_default();
    phase != "Succeeded" && phase != "Failed" && pod["metadata"].get("deletionTimestamp").is_none()
}
