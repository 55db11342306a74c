//! A server, controllers, and a clock that the tests set.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kube::Client;
use punctual_api::{CronJobKind, Dialect, Time};
use punctual_controller::{
    Clock, ClusterOptions, Context, CronJobOptions, FeatureGates, Metrics, SharedWatches,
    run_cron_jobs, run_garbage_collector, run_jobs, run_namespace_defaults,
};
use punctual_schedule::Zones;
use punctual_server::{Config, SystemEnv};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::fake_node;
use crate::harness::controller_context;
use crate::in_process_server::{InProcessServer, TIMEOUT};

pub(crate) const CRON_JOBS: &str = "/apis/batch/v1/namespaces/default/cronjobs";
pub(crate) const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";

/// A clock that the tests set. It also advances by a millisecond whenever a controller sleeps, so that backoffs end.
#[derive(Clone)]
struct ManualClock {
    now: Arc<Mutex<Timestamp>>,
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        *self.now.lock().unwrap()
    }

    fn monotonic(&self) -> Duration {
        let since = Clock::now(self).duration_since(Timestamp::UNIX_EPOCH);
        since.try_into().unwrap()
    }

    fn delay_until(&self, at: Option<Timestamp>) -> Duration {
        if at.is_some_and(|at| at <= self.now()) {
            return Duration::ZERO;
        }
        *self.now.lock().unwrap() += SignedDuration::from_millis(1);
        Duration::from_millis(1)
    }
}

impl punctual_server::ServerEnv for ManualClock {
    fn now(&self) -> Timestamp {
        Clock::now(self)
    }

    fn fill_random(&self, bytes: &mut [u8]) {
        punctual_server::ServerEnv::fill_random(&SystemEnv, bytes);
    }
}

/// Which controllers run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ControllerSet {
    CronJobs,
    All,
    /// The CronJob controller for the namespaces `default` and `late`, on a server that stores only Kubernetes' fields.
    ForeignServer,
}

pub(crate) struct TestCluster {
    clock: ManualClock,
    pub(crate) server: InProcessServer,
    /// The metrics of the controllers, from their first start on.
    metrics: Metrics,
    controller_set: ControllerSet,
    controllers: Option<JoinSet<()>>,
    /// The features that are on when the controllers start.
    pub(crate) gates: FeatureGates,
}

impl TestCluster {
    /// Starts only the CronJob controller, at a time of day.
    pub(crate) async fn with_cron_job_controller(time: &str) -> TestCluster {
        TestCluster::with(ControllerSet::CronJobs, time).await
    }

    /// Starts all controllers and a fake node.
    pub(crate) async fn with_all_controllers(time: &str) -> TestCluster {
        let cluster = TestCluster::with(ControllerSet::All, time).await;
        let server = &cluster.server;
        tokio::spawn(fake_node::run(server.client(), server.store.clone()));
        cluster
    }

    /// Starts the CronJob controller on a server that drops our own fields.
    pub(crate) async fn with_foreign_server(time: &str) -> TestCluster {
        TestCluster::with(ControllerSet::ForeignServer, time).await
    }

    async fn with(controller_set: ControllerSet, time: &str) -> TestCluster {
        let clock = ManualClock { now: Arc::new(Mutex::new(instant(time))) };
        let server = InProcessServer::start(|store| Config {
            dialect: if controller_set == ControllerSet::ForeignServer {
                Dialect::Kubernetes
            } else {
                Dialect::Punctual
            },
            env: Arc::new(clock.clone()),
            node: Some(fake_node::NAME.to_owned()),
            ..Config::new(store)
        })
        .await;
        let metrics = Metrics::default();
        let mut cluster = TestCluster {
            clock,
            server,
            metrics,
            controller_set,
            controllers: None,
            gates: FeatureGates::default(),
        };
        cluster.start();
        cluster
    }

    /// Starts the controllers.
    pub(crate) fn start(&mut self) {
        self.start_with(self.server.client());
    }

    /// Starts the controllers with this client.
    pub(crate) fn start_with(&mut self, client: Client) {
        // The controllers are killed and never stopped gracefully.
        let stop = CancellationToken::new();
        let shared_watches =
            (self.controller_set == ControllerSet::All).then(|| SharedWatches::new(client.clone()));
        let context = controller_context(client, Arc::new(self.clock.clone()));
        let context = Context { metrics: self.metrics.clone(), shared_watches, ..context };
        let cluster = match self.controller_set {
            ControllerSet::ForeignServer => ClusterOptions {
                namespaces: vec!["default".to_owned(), "late".to_owned()],
                pruned_kinds: vec![CronJobKind::BatchV1],
                late_create_window: Duration::from_secs(30),
                ..ClusterOptions::default()
            },
            _ => ClusterOptions::default(),
        };
        let config = CronJobOptions {
            run_requests: true,
            kinds: vec![CronJobKind::BatchV1, CronJobKind::ScheduledJob],
            default_zone: Zones::bundled().utc(),
            gates: self.gates,
            workers: 16,
            cluster,
        };
        let mut controllers = JoinSet::new();
        controllers.spawn(run_cron_jobs(context.clone(), config, stop.clone()));
        if self.controller_set == ControllerSet::All {
            controllers.spawn(run_jobs(context.clone(), 4, stop.clone()));
            controllers.spawn(run_garbage_collector(context.clone(), stop.clone()));
            controllers.spawn(run_namespace_defaults(context, "certificate".to_owned(), stop));
        }
        self.controllers = Some(controllers);
    }

    /// Ends the controllers like `kill -9`.
    pub(crate) async fn kill(&mut self) {
        let mut controllers = self.controllers.take().unwrap();
        controllers.shutdown().await;
    }

    /// The lines of the metrics that begin with this name.
    pub(crate) fn metric(&self, name: &str) -> Vec<String> {
        let mut page = String::new();
        self.metrics.encode(&mut page);
        page.lines().filter(|line| line.starts_with(name)).map(str::to_owned).collect()
    }

    pub(crate) fn set_time(&self, time: &str) {
        *self.clock.now.lock().unwrap() = instant(time);
    }

    /// Creates a CronJob with this spec, and a default template if it has none.
    pub(crate) async fn create_cron_job(&self, name: &str, spec: Value) -> Value {
        let mut object = json!({"apiVersion": "batch/v1", "kind": "CronJob",
            "metadata": {"name": name}, "spec": spec});
        if object["spec"]["jobTemplate"].is_null() {
            object["spec"]["jobTemplate"] = template(json!({}));
        }
        self.server.send("POST", CRON_JOBS, &object).await.unwrap()
    }

    /// Lets slots of a CronJob start without waiting for replaced Jobs: no garbage collector runs here that would
    /// remove them.
    pub(crate) async fn delete_replaced_jobs_in_background(&self, name: &str) {
        let annotations = json!({"punctual.dev/replace-deletion": "Background"});
        self.patch(name, json!({"metadata": {"annotations": annotations}})).await;
    }

    pub(crate) async fn patch(&self, name: &str, patch: Value) {
        self.server.send("PATCH", &format!("{CRON_JOBS}/{name}"), &patch).await.unwrap();
    }

    pub(crate) async fn read(&self, name: &str) -> Value {
        self.server.send("GET", &format!("{CRON_JOBS}/{name}"), &Value::Null).await.unwrap()
    }

    /// The suffixes of the names of a CronJob's Jobs.
    pub(crate) fn jobs(&self, of: &str) -> Vec<String> {
        let prefix = format!("/jobs.batch/default/{of}-");
        let snapshot = self.server.store.snapshot();
        snapshot.prefix(&prefix).map(|(key, _)| key[prefix.len()..].to_owned()).collect()
    }

    /// Finishes a Job with this condition.
    pub(crate) async fn finish_job(&self, name: &str, condition: &str) {
        let path = format!("{JOBS}/{name}");
        // The Job may have been counted and deleted already.
        let Ok(mut job) = self.server.send("GET", &path, &Value::Null).await else { return };
        if job["status"]["conditions"] != Value::Null {
            return;
        }
        let now = Time::new(Clock::now(&self.clock)).to_string();
        let end = |kind: &str| {
            json!({"type": kind, "status": "True", "lastTransitionTime": now, "lastProbeTime": now,
                "reason": "Test", "message": ""})
        };
        // The start time of a Job cannot be changed.
        let start = job["status"]["startTime"].as_str().map_or(now.clone(), str::to_owned);
        job["status"] = match condition {
            "Complete" => json!({"startTime": start, "completionTime": now, "succeeded": 1,
                "uncountedTerminatedPods": {},
                "conditions": [end("SuccessCriteriaMet"), end("Complete")]}),
            _ => json!({"startTime": start, "failed": 1, "uncountedTerminatedPods": {},
                "conditions": [end("FailureTarget"), end("Failed")]}),
        };
        match self.server.send("PUT", &format!("{path}/status"), &job).await {
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            written => drop(written.unwrap()),
        }
    }

    /// Waits until a CronJob matches a condition.
    pub(crate) async fn wait_for(&self, name: &str, condition: impl Fn(&Value) -> bool) -> Value {
        let prefix = format!("/cronjobs.batch/default/{name}");
        let mut watch = self.server.store.watch(&prefix, self.server.store.revision()).unwrap();
        let waiting = async {
            loop {
                let found = self.read(name).await;
                if condition(&found) {
                    return found;
                }
                watch.next().await.unwrap();
            }
        };
        match tokio::time::timeout(TIMEOUT, waiting).await {
            Ok(found) => found,
            Err(_) => panic!("timed out with {:#}", self.read(name).await),
        }
    }

    /// Waits until `nextScheduleTime` is this time, so that all earlier slots have been handled.
    pub(crate) async fn wait_for_next(&self, name: &str, time: &str) -> Value {
        let next = json!(format!("2026-01-31T{time}Z"));
        self.wait_for(name, |found| found["status"]["nextScheduleTime"] == next).await
    }

    /// How many objects have a key with this prefix.
    pub(crate) fn count(&self, prefix: &str) -> usize {
        self.server.store.snapshot().prefix(prefix).count()
    }

    /// The first object whose key has this prefix.
    pub(crate) fn first(&self, prefix: &str) -> Value {
        let snapshot = self.server.store.snapshot();
        let (key, _) = snapshot.prefix(prefix).next().unwrap();
        self.server.object(key)
    }

    /// How many objects were created since a revision.
    pub(crate) fn created_count(&self, prefix: &str, since: u64) -> usize {
        let mut watch = self.server.store.watch(prefix, since).unwrap();
        let mut count = 0;
        while let Some(change) = watch.try_next().unwrap() {
            count += usize::from(change.previous.is_none() && change.current.is_some());
        }
        count
    }

    /// The keys written since a revision, except Events, which are written at any time.
    pub(crate) fn written_keys(&self, since: u64) -> Vec<String> {
        let mut watch = self.server.store.watch("/", since).unwrap();
        let changes = std::iter::from_fn(|| watch.try_next().unwrap());
        let keys = changes.map(|change| change.key.to_string());
        keys.filter(|key| !key.starts_with("/events/")).collect()
    }

    /// Waits until this many objects have a key with this prefix.
    pub(crate) async fn wait_for_count(&self, prefix: &str, wanted: usize) {
        let is_met = self.server.wait_until(prefix, || self.count(prefix) == wanted).await;
        assert!(is_met, "{} of {prefix} instead of {wanted}", self.count(prefix));
    }

    /// Waits for this many writes.
    pub(crate) async fn wait_for_writes(&self, writes: u64) {
        let mut watch = self.server.store.watch("/", self.server.store.revision()).unwrap();
        for _ in 0..writes {
            watch.next().await.unwrap();
        }
    }

    /// Waits for an event about an object of the namespace `default`.
    pub(crate) async fn wait_for_event(&self, about: &str, reason: &str) {
        let mut watch = self.server.store.watch("/events/", 0).unwrap();
        let is_it =
            |event: &Value| event["involvedObject"]["name"] == about && event["reason"] == reason;
        let waiting = async {
            loop {
                let change = watch.next().await.unwrap().unwrap();
                let event = change.current.as_ref();
                let event = event.map(|event| serde_json::from_slice(&event.value).unwrap());
                if event.is_some_and(|event: Value| is_it(&event)) {
                    return;
                }
            }
        };
        tokio::time::timeout(TIMEOUT, waiting).await.expect("no such event");
    }

    /// Waits until the Jobs of a CronJob have exactly these suffixes.
    pub(crate) async fn wait_for_jobs(&self, of: &str, wanted: &[&str]) {
        let is_met =
            self.server.wait_until("/jobs.batch/default/", || self.jobs(of) == wanted).await;
        assert!(is_met, "{:?} instead of {wanted:?}", self.jobs(of));
    }
}

/// Parses a full timestamp, or a time on the day of the tests.
fn instant(time: &str) -> Timestamp {
    let text = if time.contains('T') { time.to_owned() } else { format!("2026-01-31T{time}Z") };
    text.parse().unwrap()
}

/// A Job template with these additional fields in its spec.
pub(crate) fn template(more: Value) -> Value {
    let mut spec = json!({"template": {"spec": {"restartPolicy": "Never",
        "containers": [{"name": "main", "image": "busybox", "command": ["true"]}]}}});
    for (field, value) in more.as_object().unwrap() {
        spec[field] = value.clone();
    }
    json!({ "spec": spec })
}

/// The suffix of the name of the Job for a slot.
pub(crate) fn slot_suffix(time: &str) -> String {
    (instant(time).as_second() / 60).to_string()
}
