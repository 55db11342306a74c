//! A server without a disk, candidates with a clock and a connection each, and a watchman.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kube::Client;
use punctual_api::CronJobKind;
use punctual_controller::{
    BurstGate, Clock, ClusterOptions, Context, CronJobOptions, Election, Fence, Metrics,
    run_cron_jobs, run_elected,
};
use punctual_lease::ElectionConfig;
use punctual_schedule::Zones;
use punctual_server::{ADMIN_GROUP, Server, User};
use punctual_store::{Forgetful, Options, Store};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::asking;
use crate::links::{Book, Fault, Link};

pub(crate) const LEASE: &str =
    "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/punctual";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
const CRON_JOBS: &str = "/apis/batch/v1/namespaces/default/cronjobs";
const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";

pub(crate) fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// The clocks of a machine: those of the runtime, unless they stand still.
pub(crate) struct Clocks {
    start: Instant,
    stands_at: Mutex<Option<Duration>>,
    chance: AtomicU64,
}

impl Clocks {
    fn new(start: Instant) -> Arc<Clocks> {
        Arc::new(Clocks { start, stands_at: Mutex::default(), chance: AtomicU64::new(0) })
    }

    /// Stops them.
    pub(crate) fn freeze(&self) {
        *self.stands_at.lock().unwrap() = Some(self.start.elapsed());
    }

    /// They show the time again.
    pub(crate) fn thaw(&self) {
        *self.stands_at.lock().unwrap() = None;
    }
}

impl Clock for Clocks {
    /// The world begins ten seconds before a minute.
    fn now(&self) -> Timestamp {
        let begin: Timestamp = "2026-01-31T07:59:50Z".parse().unwrap();
        begin + SignedDuration::try_from(self.monotonic()).unwrap()
    }

    fn monotonic(&self) -> Duration {
        self.stands_at.lock().unwrap().unwrap_or_else(|| self.start.elapsed())
    }
}

impl punctual_server::ServerEnv for Clocks {
    fn now(&self) -> Timestamp {
        Clock::now(self)
    }

    fn fill_random(&self, bytes: &mut [u8]) {
        for byte in bytes {
            let number = self.chance.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
            *byte = (number >> 56) as u8;
        }
    }
}

/// A process that would lead.
pub(crate) struct Candidate {
    pub(crate) fence: Fence,
    pub(crate) clock: Arc<Clocks>,
    pub(crate) metrics: Metrics,
    fault: Arc<Mutex<(Fault, &'static str)>>,
    stop: CancellationToken,
    /// One, which ends with us: it would ask the server of a world that is gone, again and again.
    task: JoinSet<()>,
}

impl Candidate {
    pub(crate) fn leads(&self) -> bool {
        self.fence.is_open()
    }

    /// Something goes wrong with everything.
    pub(crate) fn suffer(&self, fault: Fault) {
        self.suffer_at(fault, "");
    }

    /// Something goes wrong with requests whose path contains this.
    pub(crate) fn suffer_at(&self, fault: Fault, part: &'static str) {
        *self.fault.lock().unwrap() = (fault, part);
    }

    /// Ends it as kill -9 would. It says no more whether it leads.
    pub(crate) async fn kill(mut self) {
        self.task.shutdown().await;
    }

    /// Stops it in order; how long that took.
    pub(crate) async fn stop(mut self) -> Duration {
        let begun = Instant::now();
        self.stop.cancel();
        self.task.join_next().await.unwrap().unwrap();
        assert!(!self.fence.is_open());
        begun.elapsed()
    }
}

pub(crate) struct World {
    start: Instant,
    pub(crate) client: Client,
    pub(crate) store: Store,
    pub(crate) book: Book,
    count: usize,
    fences: Arc<Mutex<Vec<Fence>>>,
    /// The store, and the watchmen: nobody ever sees two leaders.
    tasks: JoinSet<()>,
}

impl World {
    /// A server, ten seconds before a minute, and nobody else.
    pub(crate) async fn new() -> World {
        let start = Instant::now();
        let mut tasks = JoinSet::new();
        let (store, committing) =
            Store::start_inline(Box::new(Forgetful), Options::default()).unwrap();
        tasks.spawn(committing);
        let config = punctual_server::Config {
            env: Clocks::new(start),
            ..punctual_server::Config::new(store.clone())
        };
        let server = Server::start(config).await.unwrap();
        let client = Client::new(server.local_router(User::new("test", ADMIN_GROUP)), "default");
        let (book, fences) = (Book::new(start), Arc::default());
        World { start, client, store, book, count: 0, fences, tasks }
    }

    /// Another candidate.
    pub(crate) fn candidate(&mut self) -> Candidate {
        let fault: Arc<Mutex<(Fault, &'static str)>> = Arc::default();
        let (inner, book, sender) = (self.client.clone(), self.book.clone(), self.count);
        let link = Link { inner, sender, book, fault: fault.clone() };
        self.count += 1;
        let clock = Clocks::new(self.start);
        let fence = Fence::closed(clock.clone());
        self.fences.lock().unwrap().push(fence.clone());
        self.tasks.spawn(watch_out(sender, self.fences.clone()));
        let context = Context {
            client: link.client(),
            clock: clock.clone(),
            metrics: Metrics::default(),
            burst_gate: BurstGate::default(),
            fence: fence.clone(),
        };
        let (metrics, stop) = (context.metrics.clone(), CancellationToken::new());
        let running = run_elected(context, election(sender), run_controller, stop.clone());
        let mut task = JoinSet::new();
        task.spawn(async move { running.await.unwrap() });
        Candidate { fence, clock, metrics, fault, stop, task }
    }

    /// What somebody with a wrong configuration is told.
    pub(crate) async fn misconfigured(&self) -> String {
        let clock = Clocks::new(self.start);
        let context = Context {
            client: self.client.clone(),
            clock: clock.clone(),
            metrics: Metrics::default(),
            burst_gate: BurstGate::default(),
            fence: Fence::always_open(),
        };
        let config = ElectionConfig { renew_deadline: secs(15), ..ElectionConfig::default() };
        let election = Election { config, ..election(0) };
        let refused =
            run_elected(context, election, run_controller, CancellationToken::new()).await;
        refused.unwrap_err().to_string()
    }

    /// Time since the start.
    pub(crate) fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// Waits until so much has passed since the start.
    pub(crate) async fn at(&self, at: Duration) {
        tokio::time::sleep_until(self.start + at).await;
    }

    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        body: &Value,
    ) -> Result<Value, kube::Error> {
        asking::send(&self.client, method, path, body).await
    }

    /// What stands in the Lease.
    pub(crate) async fn lease(&self) -> Value {
        self.send("GET", LEASE, &Value::Null).await.unwrap()
    }

    pub(crate) async fn put_lease(&self, lease: &Value) {
        self.send("PUT", LEASE, lease).await.unwrap();
    }

    pub(crate) async fn create_lease(&self, spec: Value) {
        let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "punctual", "labels": {"kept": "yes"}}, "spec": spec});
        self.send("POST", LEASES, &lease).await.unwrap();
    }

    /// A CronJob that is due every minute, and keeps nothing of what it has done.
    pub(crate) async fn cron_job(&self, name: &str) {
        let pod = json!({"restartPolicy": "Never",
            "containers": [{"name": "main", "image": "busybox", "command": ["true"]}]});
        let object = json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": name},
            "spec": {"schedule": "* * * * *", "successfulJobsHistoryLimit": 0,
                "jobTemplate": {"spec": {"template": {"spec": pod}}}}});
        self.send("POST", CRON_JOBS, &object).await.unwrap();
    }

    pub(crate) async fn status(&self, name: &str) -> Value {
        let path = format!("{CRON_JOBS}/{name}");
        self.send("GET", &path, &Value::Null).await.unwrap()["status"].take()
    }

    /// Has every Job succeed as soon as it is there.
    pub(crate) fn finish_jobs(&mut self) {
        let (client, store) = (self.client.clone(), self.store.clone());
        self.tasks.spawn(async move {
            let mut watch = store.watch("/jobs.batch/default/", 0).unwrap();
            while let Ok(Some(change)) = watch.next().await {
                if change.previous.is_none() && change.current.is_some() {
                    finish(&client, change.key.rsplit('/').next().unwrap()).await;
                }
            }
        });
    }

    /// The names of the Jobs that were ever created, in the order of their creation.
    pub(crate) fn created(&self) -> Vec<String> {
        let mut watch = self.store.watch("/jobs.batch/", 0).unwrap();
        let changes = std::iter::from_fn(|| watch.try_next().unwrap());
        let new = changes.filter(|change| change.previous.is_none() && change.current.is_some());
        new.map(|change| change.key.rsplit('/').next().unwrap().to_owned()).collect()
    }

    /// The messages of the events about the Lease.
    pub(crate) fn told(&self) -> Vec<String> {
        let snapshot = self.store.snapshot();
        let events = snapshot.prefix("/events/kube-system/");
        let events = events.map(|(_, entry)| serde_json::from_slice(&entry.value).unwrap());
        events.map(|event: Value| event["message"].as_str().unwrap().to_owned()).collect()
    }
}

impl Drop for World {
    /// Nobody saw two leaders, and effects of one were over before those of another began.
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        while let Some(ended) = self.tasks.try_join_next() {
            ended.unwrap();
        }
        let effects = self.book.effects();
        for (number, effect) in effects.iter().enumerate() {
            let others = effects[number..].iter().filter(|other| other.sender != effect.sender);
            let end = effect.ended.unwrap_or(Duration::MAX);
            let together = others.into_iter().find(|other| other.begun < end);
            assert!(together.is_none(), "{effect:?} together with {together:?}");
        }
    }
}

/// Looks whether anybody else leads, whenever somebody begins to.
async fn watch_out(number: usize, fences: Arc<Mutex<Vec<Fence>>>) {
    let fence = fences.lock().unwrap()[number].clone();
    loop {
        fence.wait_open().await;
        let leaders = fences.lock().unwrap().iter().filter(|fence| fence.is_open()).count();
        assert!(leaders < 2, "there are {leaders} leaders");
        fence.wait_closed().await;
    }
}

async fn run_controller(context: Context, stop: CancellationToken) {
    run_cron_jobs(context, options(), stop).await;
}

fn options() -> CronJobOptions {
    CronJobOptions {
        kinds: vec![CronJobKind::BatchV1],
        default_zone: Zones::bundled().utc(),
        workers: 4,
        cluster: ClusterOptions::default(),
    }
}

/// Candidates differ in their dice, too.
fn election(number: usize) -> Election {
    Election {
        namespace: "kube-system".to_owned(),
        name: "punctual".to_owned(),
        identity: format!("candidate-{number}"),
        config: ElectionConfig::default(),
        random: Arc::new(move || (number as u32).wrapping_mul(0x5bd1_e995)),
    }
}

async fn finish(client: &Client, name: &str) {
    let path = format!("{JOBS}/{name}");
    let mut job = asking::send(client, "GET", &path, &Value::Null).await.unwrap();
    let now = job["metadata"]["creationTimestamp"].clone();
    let end = |kind: &str| {
        json!({"type": kind, "status": "True", "lastTransitionTime": now, "lastProbeTime": now,
            "reason": "Test", "message": ""})
    };
    job["status"] = json!({"startTime": now, "completionTime": now, "succeeded": 1,
        "uncountedTerminatedPods": {},
        "conditions": [end("SuccessCriteriaMet"), end("Complete")]});
    asking::send(client, "PUT", &format!("{path}/status"), &job).await.unwrap();
}
