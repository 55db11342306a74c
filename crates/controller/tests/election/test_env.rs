//! An in-memory server, and candidates with their own clocks and connections.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kube::Client;
use punctual_api::CronJobKind;
use punctual_controller::{
    Clock, ClusterOptions, Context, CronJobOptions, Election, FeatureGates, Fence, LeaseAccess,
    LeaseAccessError, Metrics, run_cron_jobs, run_elected,
};
use punctual_lease::ElectionConfig;
use punctual_schedule::Zones;
use punctual_server::{ADMIN_GROUP, Server, User};
use punctual_store::{InMemoryLog, Options, Store};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::connection::{ConnectionFault, EffectLog, FaultyConnection};
use crate::harness::{self, controller_context};

pub(crate) const LEASE: &str =
    "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/punctual";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
const CRON_JOBS: &str = "/apis/batch/v1/namespaces/default/cronjobs";
const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";

pub(crate) fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// The clock of a machine: the clock of the runtime, unless it is frozen.
pub(crate) struct TestClock {
    start: Instant,
    frozen_at: Mutex<Option<Duration>>,
    random_state: AtomicU64,
}

impl TestClock {
    fn new(start: Instant) -> Arc<TestClock> {
        Arc::new(TestClock { start, frozen_at: Mutex::default(), random_state: AtomicU64::new(0) })
    }

    /// Stops the clock.
    pub(crate) fn freeze(&self) {
        *self.frozen_at.lock().unwrap() = Some(self.start.elapsed());
    }

    /// Lets the clock show the current time again.
    pub(crate) fn thaw(&self) {
        *self.frozen_at.lock().unwrap() = None;
    }
}

impl Clock for TestClock {
    /// Tests start ten seconds before a full minute.
    fn now(&self) -> Timestamp {
        let begin: Timestamp = "2026-01-31T07:59:50Z".parse().unwrap();
        begin + SignedDuration::try_from(self.monotonic()).unwrap()
    }

    fn monotonic(&self) -> Duration {
        self.frozen_at.lock().unwrap().unwrap_or_else(|| self.start.elapsed())
    }
}

impl punctual_server::ServerEnv for TestClock {
    fn now(&self) -> Timestamp {
        Clock::now(self)
    }

    fn fill_random(&self, bytes: &mut [u8]) {
        for byte in bytes {
            let number = self.random_state.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
            *byte = (number >> 56) as u8;
        }
    }
}

/// A process that campaigns for leadership.
pub(crate) struct Candidate {
    pub(crate) fence: Fence,
    pub(crate) clock: Arc<TestClock>,
    pub(crate) metrics: Metrics,
    pub(crate) access: LeaseAccess,
    fault: Arc<Mutex<(ConnectionFault, &'static str)>>,
    stop: CancellationToken,
    /// The task of the process. It is aborted on drop.
    task: JoinSet<()>,
}

impl Candidate {
    pub(crate) fn is_leader(&self) -> bool {
        self.fence.is_open()
    }

    /// Whether it can use its Lease.
    pub(crate) fn check_access(&self) -> Result<(), LeaseAccessError> {
        self.access.check(self.clock.monotonic(), ElectionConfig::default().lease_duration)
    }

    /// Sets the fault of all requests.
    pub(crate) fn set_fault(&self, fault: ConnectionFault) {
        self.set_fault_for(fault, "");
    }

    /// Sets the fault of requests whose path contains `part`.
    pub(crate) fn set_fault_for(&self, fault: ConnectionFault, part: &'static str) {
        *self.fault.lock().unwrap() = (fault, part);
    }

    /// Ends the process like `kill -9`. Its fence is not updated any more.
    pub(crate) async fn kill(mut self) {
        self.task.shutdown().await;
    }

    /// Stops the process gracefully. Returns how long that took.
    pub(crate) async fn stop(mut self) -> Duration {
        let started = Instant::now();
        self.stop.cancel();
        self.task.join_next().await.unwrap().unwrap();
        assert!(!self.fence.is_open());
        started.elapsed()
    }
}

pub(crate) struct ElectionTestEnv {
    start: Instant,
    pub(crate) client: Client,
    pub(crate) store: Store,
    pub(crate) effect_log: EffectLog,
    count: usize,
    fences: Arc<Mutex<Vec<Fence>>>,
    /// The committer of the store, and the checks that there is at most one leader.
    tasks: JoinSet<()>,
}

impl ElectionTestEnv {
    /// Starts a server without candidates, ten seconds before a full minute.
    pub(crate) async fn new() -> ElectionTestEnv {
        let start = Instant::now();
        let mut tasks = JoinSet::new();
        let (store, committing) =
            Store::start_inline(Box::new(InMemoryLog), Options::default()).unwrap();
        tasks.spawn(committing);
        let config = punctual_server::Config {
            env: TestClock::new(start),
            ..punctual_server::Config::new(store.clone())
        };
        let server = Server::start(config).await.unwrap();
        let client = Client::new(server.local_router(User::new("test", ADMIN_GROUP)), "default");
        let effect_log = EffectLog::new(start);
        ElectionTestEnv {
            start,
            client,
            store,
            effect_log,
            count: 0,
            fences: Arc::default(),
            tasks,
        }
    }

    /// Starts another candidate.
    pub(crate) fn start_candidate(&mut self) -> Candidate {
        let fault: Arc<Mutex<(ConnectionFault, &'static str)>> = Arc::default();
        let sender = self.count;
        let connection = FaultyConnection {
            inner: self.client.clone(),
            sender,
            effect_log: self.effect_log.clone(),
            fault: fault.clone(),
        };
        self.count += 1;
        let clock = TestClock::new(self.start);
        let fence = Fence::closed(clock.clone());
        self.fences.lock().unwrap().push(fence.clone());
        self.tasks.spawn(assert_single_leader(sender, self.fences.clone()));
        let context = controller_context(connection.client(), clock.clone());
        let context = Context { fence: fence.clone(), ..context };
        let metrics = context.metrics.clone();
        let stop = CancellationToken::new();
        let election = election(sender);
        let access = election.access.clone();
        let running = run_elected(context, election, run_controller, stop.clone());
        let mut task = JoinSet::new();
        task.spawn(async move { running.await.unwrap() });
        Candidate { fence, clock, metrics, access, fault, stop, task }
    }

    /// The error message for a configuration that is wrong.
    pub(crate) async fn config_error(&self) -> String {
        let context = controller_context(self.client.clone(), TestClock::new(self.start));
        let config = ElectionConfig { renew_deadline: secs(15), ..ElectionConfig::default() };
        let election = Election { config, ..election(0) };
        let result = run_elected(context, election, run_controller, CancellationToken::new()).await;
        result.unwrap_err().to_string()
    }

    /// Time since the start.
    pub(crate) fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// Waits until this long after the start.
    pub(crate) async fn advance_to(&self, at: Duration) {
        tokio::time::sleep_until(self.start + at).await;
    }

    /// Reads the Lease.
    pub(crate) async fn lease(&self) -> Value {
        harness::send(&self.client, "GET", LEASE, &Value::Null).await.unwrap()
    }

    pub(crate) async fn write_lease(&self, lease: &Value) {
        harness::send(&self.client, "PUT", LEASE, lease).await.unwrap();
    }

    pub(crate) async fn create_lease(&self, spec: Value) {
        let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "punctual", "labels": {"kept": "yes"}}, "spec": spec});
        harness::send(&self.client, "POST", LEASES, &lease).await.unwrap();
    }

    /// Creates a CronJob that runs every minute and keeps no finished Jobs.
    pub(crate) async fn create_cron_job(&self, name: &str) {
        let pod = json!({"restartPolicy": "Never",
            "containers": [{"name": "main", "image": "busybox", "command": ["true"]}]});
        let object = json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": name},
            "spec": {"schedule": "* * * * *", "successfulJobsHistoryLimit": 0,
                "jobTemplate": {"spec": {"template": {"spec": pod}}}}});
        harness::send(&self.client, "POST", CRON_JOBS, &object).await.unwrap();
    }

    pub(crate) async fn status(&self, name: &str) -> Value {
        let path = format!("{CRON_JOBS}/{name}");
        harness::send(&self.client, "GET", &path, &Value::Null).await.unwrap()["status"].take()
    }

    /// Completes every Job as soon as it is created.
    pub(crate) fn complete_jobs(&mut self) {
        let client = self.client.clone();
        let store = self.store.clone();
        self.tasks.spawn(async move {
            let mut watch = store.watch("/jobs.batch/default/", 0).unwrap();
            while let Ok(Some(change)) = watch.next().await {
                if change.previous.is_none() && change.current.is_some() {
                    complete_job(&client, change.key.rsplit('/').next().unwrap()).await;
                }
            }
        });
    }

    /// The names of all Jobs that were ever created, in the order of creation.
    pub(crate) fn created_jobs(&self) -> Vec<String> {
        let mut watch = self.store.watch("/jobs.batch/", 0).unwrap();
        let changes = std::iter::from_fn(|| watch.try_next().unwrap());
        let new = changes.filter(|change| change.previous.is_none() && change.current.is_some());
        new.map(|change| change.key.rsplit('/').next().unwrap().to_owned()).collect()
    }

    /// The messages of the events about the Lease.
    pub(crate) fn lease_events(&self) -> Vec<String> {
        let snapshot = self.store.snapshot();
        let events = snapshot.prefix("/events/kube-system/");
        let events = events.map(|(_, entry)| serde_json::from_slice(&entry.value).unwrap());
        events.map(|event: Value| event["message"].as_str().unwrap().to_owned()).collect()
    }
}

impl Drop for ElectionTestEnv {
    /// Asserts that there were never two leaders, and that the writes of candidates did not overlap.
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        while let Some(ended) = self.tasks.try_join_next() {
            ended.unwrap();
        }
        let effects = self.effect_log.effects();
        for (number, effect) in effects.iter().enumerate() {
            let others = effects[number..].iter().filter(|other| other.sender != effect.sender);
            let end = effect.ended.unwrap_or(Duration::MAX);
            let overlapping = others.into_iter().find(|other| other.started < end);
            assert!(overlapping.is_none(), "{effect:?} overlaps {overlapping:?}");
        }
    }
}

/// Asserts that no other candidate leads whenever this one starts to.
async fn assert_single_leader(number: usize, fences: Arc<Mutex<Vec<Fence>>>) {
    let fence = fences.lock().unwrap()[number].clone();
    loop {
        fence.wait_open().await;
        let leaders = fences.lock().unwrap().iter().filter(|fence| fence.is_open()).count();
        assert!(leaders < 2, "{leaders} candidates lead at once");
        fence.wait_closed().await;
    }
}

async fn run_controller(context: Context, stop: CancellationToken) {
    run_cron_jobs(context, options(), stop).await;
}

fn options() -> CronJobOptions {
    CronJobOptions {
        run_requests: true,
        kinds: vec![CronJobKind::BatchV1],
        default_zone: Zones::bundled().utc(),
        gates: FeatureGates::default(),
        workers: 4,
        cluster: ClusterOptions::default(),
    }
}

/// Each candidate has its own sequence of random numbers.
fn election(number: usize) -> Election {
    Election {
        namespace: "kube-system".to_owned(),
        name: "punctual".to_owned(),
        identity: format!("candidate-{number}"),
        config: ElectionConfig::default(),
        random: Arc::new(move || (number as u32).wrapping_mul(0x5bd1_e995)),
        access: LeaseAccess::default(),
    }
}

async fn complete_job(client: &Client, name: &str) {
    let path = format!("{JOBS}/{name}");
    let mut job = harness::send(client, "GET", &path, &Value::Null).await.unwrap();
    let now = job["metadata"]["creationTimestamp"].clone();
    let end = |kind: &str| {
        json!({"type": kind, "status": "True", "lastTransitionTime": now, "lastProbeTime": now,
            "reason": "Test", "message": ""})
    };
    job["status"] = json!({"startTime": now, "completionTime": now, "succeeded": 1,
        "uncountedTerminatedPods": {},
        "conditions": [end("SuccessCriteriaMet"), end("Complete")]});
    harness::send(client, "PUT", &format!("{path}/status"), &job).await.unwrap();
}
