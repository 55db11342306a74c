//! The environment of these tests: a server, a Job controller that can be stopped and killed, a
//! clock, and the writes of a kubelet.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kube::Client;
use punctual_controller::{Clock, SystemClock, run_jobs};
use punctual_server::Config;
use punctual_store::ChangeKind;
use punctual_testing::TestRng;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::flaky_connection::{ConnectionFaults, FlakyService};
use crate::harness::controller_context;
use crate::in_process_server::{InProcessServer, TIMEOUT, test_user};

pub(crate) const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";
pub(crate) const PODS: &str = "/api/v1/namespaces/default/pods";
pub(crate) const TRACKING_FINALIZER: &str = "batch.kubernetes.io/job-tracking";

/// The real time plus an offset in seconds.
#[derive(Default)]
struct OffsetClock(AtomicI64);

impl Clock for OffsetClock {
    fn now(&self) -> Timestamp {
        SystemClock.now() + SignedDuration::from_secs(self.0.load(Ordering::Relaxed))
    }

    fn monotonic(&self) -> Duration {
        SystemClock.monotonic()
    }
}

pub(crate) struct JobTestEnv {
    pub(crate) server: InProcessServer,
    /// The client of the controller.
    controller_client: Client,
    /// The faults of its connection.
    pub(crate) faults: ConnectionFaults,
    clock: Arc<OffsetClock>,
    running: Option<(CancellationToken, JoinHandle<()>)>,
}

impl JobTestEnv {
    pub(crate) async fn new() -> JobTestEnv {
        JobTestEnv::with_faults(ConnectionFaults::new(Arc::new(TestRng::new(0)), 0)).await
    }

    /// Starts a controller whose connection has faults.
    pub(crate) async fn with_faults(faults: ConnectionFaults) -> JobTestEnv {
        let server = InProcessServer::start(Config::new).await;
        let flaky =
            FlakyService { inner: server.server.local_router(test_user()), faults: faults.clone() };
        let mut env = JobTestEnv {
            server,
            controller_client: Client::new(flaky, "default"),
            faults,
            clock: Arc::default(),
            running: None,
        };
        env.start();
        env
    }

    pub(crate) fn start(&mut self) {
        let stop = CancellationToken::new();
        let context = controller_context(self.controller_client.clone(), self.clock.clone());
        let task = tokio::spawn(run_jobs(context, 4, stop.clone()));
        self.running = Some((stop, task));
    }

    /// Stops the controller gracefully.
    pub(crate) async fn stop(&mut self) {
        let (stop, task) = self.running.take().unwrap();
        stop.cancel();
        tokio::time::timeout(TIMEOUT, task).await.expect("the controller stops").unwrap();
    }

    /// Kills the controller at any point. Writes that reached the store are committed before it restarts, because
    /// the store commits in order.
    pub(crate) async fn kill(&mut self) {
        let (_, task) = self.running.take().unwrap();
        task.abort();
        let _ = task.await;
        let config_maps = "/api/v1/namespaces/default/configmaps";
        let last =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "x-"}});
        self.server.send("POST", config_maps, &last).await.unwrap();
    }

    pub(crate) async fn restart(&mut self) {
        self.stop().await;
        self.start();
    }

    pub(crate) fn advance(&self, seconds: i64) {
        self.clock.0.fetch_add(seconds, Ordering::Relaxed);
    }

    /// Creates a Job with these fields in its spec, and returns its UID.
    pub(crate) async fn create_job(&self, name: &str, fields: Value) -> String {
        let mut spec = json!({"template": {"spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "c", "image": "x"}],
        }}});
        spec.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec});
        let created = self.server.send("POST", JOBS, &job).await.unwrap();
        created["metadata"]["uid"].as_str().unwrap().to_owned()
    }

    /// Creates a Pod with this metadata.
    pub(crate) async fn create_pod(&self, metadata: Value) -> Value {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata,
            "spec": {"containers": [{"name": "c", "image": "x"}], "restartPolicy": "Never"}});
        self.server.send("POST", PODS, &pod).await.unwrap()
    }

    pub(crate) async fn patch_job(&self, name: &str, patch: &Value) {
        self.server.send("PATCH", &format!("{JOBS}/{name}"), patch).await.unwrap();
    }

    pub(crate) fn job(&self, name: &str) -> Value {
        self.server.object(&format!("/jobs.batch/default/{name}"))
    }

    pub(crate) fn pod(&self, name: &str) -> Value {
        self.server.object(&format!("/pods/default/{name}"))
    }

    pub(crate) fn pods(&self) -> Vec<Value> {
        let snapshot = self.server.store.snapshot();
        let pods = snapshot.prefix("/pods/default/");
        pods.map(|(_, entry)| serde_json::from_slice(&entry.value).unwrap()).collect()
    }

    /// Names of the Pods that are neither finished nor being deleted.
    pub(crate) fn active(&self) -> Vec<String> {
        let pods = self.pods().into_iter().filter(is_active);
        pods.map(|pod| pod["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    }

    /// How many Pods were ever created.
    pub(crate) fn created_pod_count(&self) -> usize {
        let mut watch = self.server.store.watch("/pods/", 0).unwrap();
        let changes = std::iter::from_fn(|| watch.try_next().unwrap());
        changes.filter(|change| change.kind() == ChangeKind::Created).count()
    }

    /// Waits for a condition, and checks it after each write to the store.
    pub(crate) async fn wait_for(&self, what: &str, condition: impl Fn(&JobTestEnv) -> bool) {
        let is_met = self.server.wait_until("/", || condition(self)).await;
        assert!(is_met, "timed out: {what}\n{}", self.report());
    }

    /// The metadata and status of all Jobs and Pods, for failure messages.
    pub(crate) fn report(&self) -> String {
        let snapshot = self.server.store.snapshot();
        let objects = snapshot.prefix("/jobs.batch/").chain(snapshot.prefix("/pods/"));
        let lines = objects.map(|(key, entry)| {
            let mut object: Value = serde_json::from_slice(&entry.value).unwrap();
            object["metadata"].as_object_mut().unwrap().remove("managedFields");
            format!("{key} {} {}\n", object["metadata"], object["status"])
        });
        lines.collect()
    }

    pub(crate) async fn wait_for_active(&self, count: usize) -> Vec<String> {
        self.wait_for(&format!("{count} Pods"), |env| env.active().len() == count).await;
        self.active()
    }

    pub(crate) async fn wait_for_condition(&self, job: &str, kind: &str) -> Value {
        self.wait_for(kind, |env| has_condition(&env.job(job), kind)).await;
        self.job(job)
    }

    /// Ends a Pod and returns it.
    pub(crate) async fn end_pod(&self, name: &str, phase: &str) -> Result<Value, kube::Error> {
        let path = format!("{PODS}/{name}");
        let mut pod = self.server.send("GET", &path, &Value::Null).await?;
        let code = i32::from(phase == "Failed");
        let ended = json!({"exitCode": code, "finishedAt": self.clock.now().round(jiff::Unit::Second).unwrap()});
        pod["status"]["phase"] = json!(phase);
        pod["status"]["containerStatuses"] = json!([{"name": "c", "image": "x", "imageID": "", "ready": false,
            "restartCount": 0, "state": {"terminated": ended}}]);
        self.server.send("PUT", &format!("{path}/status"), &pod).await
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
    finalizers.into_iter().any(|name| name == TRACKING_FINALIZER)
}

pub(crate) fn is_active(pod: &Value) -> bool {
    let phase = pod["status"]["phase"].as_str().unwrap_or_default();
    phase != "Succeeded" && phase != "Failed" && pod["metadata"].get("deletionTimestamp").is_none()
}
