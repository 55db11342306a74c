//! A server, a controller, and a clock that the tests set.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kube::Client;
use punctual_api::{CronJobKind, Dialect, Time};
use punctual_controller::{
    BurstGate, Clock, ClusterOptions, Context, CronJobOptions, Fence, Metrics, run_cron_jobs,
    run_garbage_collector, run_jobs, run_namespace_defaults,
};
use punctual_schedule::Zones;
use punctual_server::{ADMIN_GROUP, Config, Server, SystemEnv, User};
use punctual_store::{Options, Store};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::asking;
use crate::node;

/// More than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) const CRON_JOBS: &str = "/apis/batch/v1/namespaces/default/cronjobs";
pub(crate) const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";

/// A clock that is set, and goes on by a millisecond whenever somebody rests: so backoffs end.
#[derive(Clone)]
struct SetClock {
    now: Arc<Mutex<Timestamp>>,
}

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        *self.now.lock().unwrap()
    }

    fn monotonic(&self) -> Duration {
        let since = Clock::now(self).duration_since(Timestamp::UNIX_EPOCH);
        since.try_into().unwrap()
    }

    fn delay_until(&self, at: Option<Timestamp>) -> Duration {
        match at.is_some_and(|at| at <= self.now()) {
            true => Duration::ZERO,
            false => {
                *self.now.lock().unwrap() += SignedDuration::from_millis(1);
                Duration::from_millis(1)
            }
        }
    }
}

impl punctual_server::ServerEnv for SetClock {
    fn now(&self) -> Timestamp {
        Clock::now(self)
    }

    fn fill_random(&self, bytes: &mut [u8]) {
        punctual_server::ServerEnv::fill_random(&SystemEnv, bytes);
    }
}

/// Which controllers there are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cast {
    CronJobs,
    Everybody,
    /// A CronJob controller of the namespaces `default` and `late` on a server that keeps Kubernetes' fields alone.
    Abroad,
}

pub(crate) struct World {
    clock: SetClock,
    pub(crate) client: Client,
    pub(crate) store: Store,
    cast: Cast,
    controllers: Option<JoinSet<()>>,
    _folder: TempDir,
}

impl World {
    /// A world with a CronJob controller alone, at a time of the day.
    pub(crate) async fn at(time: &str) -> World {
        World::with(Cast::CronJobs, time).await
    }

    /// A world with all controllers and a node.
    pub(crate) async fn whole(time: &str) -> World {
        let world = World::with(Cast::Everybody, time).await;
        tokio::spawn(node::run(world.client.clone(), world.store.clone()));
        world
    }

    /// A world whose server is not ours.
    pub(crate) async fn abroad(time: &str) -> World {
        World::with(Cast::Abroad, time).await
    }

    async fn with(cast: Cast, time: &str) -> World {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("store"), Options::default()).unwrap();
        let clock = SetClock { now: Arc::new(Mutex::new(instant(time))) };
        let config = Config {
            dialect: if cast == Cast::Abroad { Dialect::Strict } else { Dialect::Punctual },
            env: Arc::new(clock.clone()),
            node: Some(node::NAME.to_owned()),
            ..Config::new(store.clone())
        };
        let server = Server::start(config).await.unwrap();
        let client = Client::new(server.local_router(User::new("test", ADMIN_GROUP)), "default");
        let mut world = World { clock, client, store, cast, controllers: None, _folder: folder };
        world.start();
        world
    }

    /// Starts the controllers.
    pub(crate) fn start(&mut self) {
        let client = self.client.clone();
        self.start_with(client);
    }

    /// Starts controllers that reach the server their own way.
    pub(crate) fn start_with(&mut self, client: Client) {
        // Nobody stops them: they are killed.
        let stop = CancellationToken::new();
        let context = Context {
            client,
            clock: Arc::new(self.clock.clone()),
            metrics: Metrics::default(),
            burst_gate: BurstGate::default(),
            fence: Fence::always_open(),
        };
        let cluster = match self.cast {
            Cast::Abroad => ClusterOptions {
                namespaces: vec!["default".to_owned(), "late".to_owned()],
                pruned_kinds: vec![CronJobKind::BatchV1],
                late_create_window: Duration::from_secs(30),
                ..ClusterOptions::default()
            },
            _ => ClusterOptions::default(),
        };
        let config = CronJobOptions {
            kinds: vec![CronJobKind::BatchV1, CronJobKind::ScheduledJob],
            default_zone: Zones::bundled().utc(),
            workers: 16,
            cluster,
        };
        let mut controllers = JoinSet::new();
        controllers.spawn(run_cron_jobs(context.clone(), config, stop.clone()));
        if self.cast == Cast::Everybody {
            controllers.spawn(run_jobs(context.clone(), 4, stop.clone()));
            controllers.spawn(run_garbage_collector(context.clone(), stop.clone()));
            controllers.spawn(run_namespace_defaults(context, "certificate".to_owned(), stop));
        }
        self.controllers = Some(controllers);
    }

    /// Ends the controllers as kill -9 would.
    pub(crate) async fn kill(&mut self) {
        let mut controllers = self.controllers.take().unwrap();
        controllers.shutdown().await;
    }

    pub(crate) fn set(&self, time: &str) {
        *self.clock.now.lock().unwrap() = instant(time);
    }

    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        body: &Value,
    ) -> Result<Value, kube::Error> {
        asking::send(&self.client, method, path, body).await
    }

    /// Creates a CronJob with a spec like this one.
    pub(crate) async fn cron_job(&self, name: &str, spec: Value) -> Value {
        let mut object = json!({"apiVersion": "batch/v1", "kind": "CronJob",
            "metadata": {"name": name}, "spec": spec});
        if object["spec"]["jobTemplate"].is_null() {
            object["spec"]["jobTemplate"] = template(json!({}));
        }
        self.send("POST", CRON_JOBS, &object).await.unwrap()
    }

    pub(crate) async fn change(&self, name: &str, patch: Value) {
        self.send("PATCH", &format!("{CRON_JOBS}/{name}"), &patch).await.unwrap();
    }

    pub(crate) async fn read(&self, name: &str) -> Value {
        self.send("GET", &format!("{CRON_JOBS}/{name}"), &Value::Null).await.unwrap()
    }

    /// The names of the Jobs there are, after their CronJob's.
    pub(crate) fn jobs(&self, of: &str) -> Vec<String> {
        let prefix = format!("/jobs.batch/default/{of}-");
        let snapshot = self.store.snapshot();
        snapshot.prefix(&prefix).map(|(key, _)| key[prefix.len()..].to_owned()).collect()
    }

    /// Ends a Job.
    pub(crate) async fn finish(&self, name: &str, condition: &str) {
        let path = format!("{JOBS}/{name}");
        // It may have ended, been counted and be gone by now.
        let Ok(mut job) = self.send("GET", &path, &Value::Null).await else { return };
        if job["status"]["conditions"] != Value::Null {
            return;
        }
        let now = Time::new(Clock::now(&self.clock)).to_string();
        let end = |kind: &str| {
            json!({"type": kind, "status": "True", "lastTransitionTime": now, "lastProbeTime": now,
                "reason": "Test", "message": ""})
        };
        job["status"] = match condition {
            "Complete" => json!({"startTime": now, "completionTime": now, "succeeded": 1,
                "uncountedTerminatedPods": {},
                "conditions": [end("SuccessCriteriaMet"), end("Complete")]}),
            _ => json!({"startTime": now, "failed": 1, "uncountedTerminatedPods": {},
                "conditions": [end("FailureTarget"), end("Failed")]}),
        };
        match self.send("PUT", &format!("{path}/status"), &job).await {
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            written => drop(written.unwrap()),
        }
    }

    /// Waits until a CronJob is as wanted.
    pub(crate) async fn until(&self, name: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let prefix = format!("/cronjobs.batch/default/{name}");
        let mut watch = self.store.watch(&prefix, self.store.revision()).unwrap();
        let waiting = async {
            loop {
                let found = self.read(name).await;
                if wanted(&found) {
                    return found;
                }
                watch.next().await.unwrap();
            }
        };
        match tokio::time::timeout(PATIENCE, waiting).await {
            Ok(found) => found,
            Err(_) => panic!("still {:#}", self.read(name).await),
        }
    }

    /// Waits until the next run is at that time: what was due before has been dealt with.
    pub(crate) async fn until_next(&self, name: &str, time: &str) -> Value {
        let next = json!(format!("2026-01-31T{time}Z"));
        self.until(name, |found| found["status"]["nextScheduleTime"] == next).await
    }

    /// How many objects there are whose keys begin like this.
    pub(crate) fn count(&self, prefix: &str) -> usize {
        self.store.snapshot().prefix(prefix).count()
    }

    /// The first object whose key begins like this.
    pub(crate) fn first(&self, prefix: &str) -> Value {
        let snapshot = self.store.snapshot();
        let (_, entry) = snapshot.prefix(prefix).next().unwrap();
        serde_json::from_slice(&entry.value).unwrap()
    }

    /// How many objects were created since a revision.
    pub(crate) fn created(&self, prefix: &str, since: u64) -> usize {
        let mut watch = self.store.watch(prefix, since).unwrap();
        let mut count = 0;
        while let Some(change) = watch.try_next().unwrap() {
            count += usize::from(change.previous.is_none() && change.current.is_some());
        }
        count
    }

    /// The keys that were written since a revision, Events excepted: those come in their own time.
    pub(crate) fn written(&self, since: u64) -> Vec<String> {
        let mut watch = self.store.watch("/", since).unwrap();
        let changes = std::iter::from_fn(|| watch.try_next().unwrap());
        let keys = changes.map(|change| change.key.to_string());
        keys.filter(|key| !key.starts_with("/events/")).collect()
    }

    /// Waits until there are so many objects whose keys begin like this.
    pub(crate) async fn until_count(&self, prefix: &str, wanted: usize) {
        let mut watch = self.store.watch(prefix, self.store.revision()).unwrap();
        let waiting = async {
            while self.count(prefix) != wanted {
                watch.next().await.unwrap();
            }
        };
        let waited = tokio::time::timeout(PATIENCE, waiting).await;
        assert!(waited.is_ok(), "{} of {prefix} instead of {wanted}", self.count(prefix));
    }

    /// Waits until so many writes have happened from now on.
    pub(crate) async fn until_writes(&self, writes: u64) {
        let mut watch = self.store.watch("/", self.store.revision()).unwrap();
        for _ in 0..writes {
            watch.next().await.unwrap();
        }
    }

    /// Waits for an event about an object of the namespace `default`.
    pub(crate) async fn until_event(&self, about: &str, reason: &str) {
        let mut watch = self.store.watch("/events/", 0).unwrap();
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
        tokio::time::timeout(PATIENCE, waiting).await.expect("no such event");
    }

    /// Waits until the Jobs of a CronJob are these.
    pub(crate) async fn until_jobs(&self, of: &str, wanted: &[&str]) {
        let mut watch = self.store.watch("/jobs.batch/default/", self.store.revision()).unwrap();
        let waiting = async {
            while self.jobs(of) != wanted {
                watch.next().await.unwrap();
            }
        };
        let waited = tokio::time::timeout(PATIENCE, waiting).await;
        assert!(waited.is_ok(), "{:?} instead of {wanted:?}", self.jobs(of));
    }
}

/// An instant of the day of the tests, or of any.
fn instant(time: &str) -> Timestamp {
    let text = if time.contains('T') { time.to_owned() } else { format!("2026-01-31T{time}Z") };
    text.parse().unwrap()
}

/// A template whose Job has these fields beside the usual ones.
pub(crate) fn template(more: Value) -> Value {
    let mut spec = json!({"template": {"spec": {"restartPolicy": "Never",
        "containers": [{"name": "main", "image": "busybox", "command": ["true"]}]}}});
    for (field, value) in more.as_object().unwrap() {
        spec[field] = value.clone();
    }
    json!({ "spec": spec })
}

/// The last part of the name of the Job for a time of the day.
pub(crate) fn slot(time: &str) -> String {
    (instant(time).as_second() / 60).to_string()
}
