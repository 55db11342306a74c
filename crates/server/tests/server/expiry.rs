//! Tests of the expiry of Events.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_server::{ServerEnv, SystemEnv};
use punctual_store::{Op, Options, Store};
use serde_json::{Value, json};

use crate::client::{TestClient, TestServer};

const EVENTS: &str = "/api/v1/namespaces/default/events";
const KEYS: &str = "/events/";

/// Limit of simulated seconds. It is large because a commit takes real time, in which many
/// simulated seconds pass.
const SECONDS_MAX: usize = 10_000_000;

/// An environment whose clock is set by the test.
struct ManualClock {
    now: Mutex<Timestamp>,
}

impl ManualClock {
    fn new() -> Arc<ManualClock> {
        Arc::new(ManualClock { now: Mutex::new("2026-01-31T08:00:00Z".parse().unwrap()) })
    }

    /// Advances the clock after all tasks have processed what happened so far.
    async fn advance(&self, minutes: i64) {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        *self.now.lock().unwrap() += SignedDuration::from_mins(minutes);
    }
}

impl ServerEnv for ManualClock {
    fn now(&self) -> Timestamp {
        *self.now.lock().unwrap()
    }

    fn fill_random(&self, bytes: &mut [u8]) {
        SystemEnv.fill_random(bytes);
    }
}

async fn server(env: &Arc<ManualClock>) -> TestServer {
    let env = env.clone();
    TestServer::with(Options::default(), |config| config.env = env).await
}

fn event(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": name},
        "involvedObject": {"kind": "CronJob", "namespace": "default", "name": "a"},
        "reason": "Why", "message": "what", "type": "Normal", "count": 1})
}

async fn create(client: &TestClient, name: &str) {
    let response = client.post(EVENTS, &event(name)).await;
    assert_eq!(response.code, 201, "{}", response.text);
}

fn event_names(store: &Store) -> Vec<String> {
    let snapshot = store.snapshot();
    let names = snapshot.prefix(KEYS).map(|(key, _)| key.rsplit('/').next().unwrap().to_owned());
    names.collect()
}

/// Advances timers until exactly these Events exist.
async fn wait_for_events(store: &Store, names: &[&str]) {
    tokio::time::pause();
    for _ in 0..SECONDS_MAX {
        if event_names(store) == names {
            return tokio::time::resume();
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    panic!("{:?} instead of {names:?}", event_names(store));
}

#[tokio::test]
async fn an_event_is_deleted_an_hour_after_its_last_write() {
    let env = ManualClock::new();
    let server = server(&env).await;
    let client = server.admin();
    for name in ["a", "b", "c"] {
        create(&client, name).await;
    }
    // The times in an Event do not matter if the server has seen its write.
    let again = json!({"count": 2, "lastTimestamp": "2020-01-01T00:00:00Z"});
    env.advance(30).await;
    assert_eq!(client.merge(&format!("{EVENTS}/b"), &again).await.code, 200);
    env.advance(30).await;
    wait_for_events(&server.store, &["b"]).await;
    env.advance(30).await;
    wait_for_events(&server.store, &[]).await;
}

#[tokio::test]
async fn nothing_is_deleted_early_and_other_kinds_are_kept() {
    let env = ManualClock::new();
    let server = server(&env).await;
    let client = server.admin();
    create(&client, "a").await;
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}});
    assert_eq!(client.post("/api/v1/namespaces/default/configmaps", &map).await.code, 201);
    env.advance(59).await;
    let before = server.store.revision();
    tokio::time::pause();
    tokio::time::sleep(Duration::from_secs(10 * 60)).await;
    tokio::time::resume();
    assert_eq!(server.store.revision(), before);
    env.advance(1).await;
    wait_for_events(&server.store, &[]).await;
    assert_eq!(server.store.revision(), before + 1);
}

#[tokio::test]
async fn events_from_before_a_restart_expire_by_their_own_times() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("store"), Options::default()).unwrap();
    let old = |name: &str, last: &str| {
        let mut event = event(name);
        event["metadata"]["namespace"] = json!("default");
        event["metadata"]["creationTimestamp"] = json!("2026-01-31T07:10:00Z");
        event["lastTimestamp"] = json!(last);
        Op::create(format!("{KEYS}default/{name}"), event.to_string())
    };
    store.write(old("soon", "2026-01-31T07:05:00Z")).await.unwrap();
    store.write(old("later", "2026-01-31T07:30:00Z")).await.unwrap();
    store.write(old("future", "2036-01-31T07:30:00Z")).await.unwrap();
    let env = ManualClock::new();
    let mut config = punctual_server::Config::new(store.clone());
    config.env = env.clone();
    let server = punctual_server::Server::start(config).await.unwrap();
    // At the start it would be moved aside, as every unreadable object.
    store.write(Op::create(format!("{KEYS}default/invalid"), "{")).await.unwrap();
    env.advance(10).await;
    wait_for_events(&store, &["future", "invalid", "later"]).await;
    env.advance(20).await;
    wait_for_events(&store, &["future", "invalid"]).await;
    env.advance(60).await;
    wait_for_events(&store, &[]).await;
    server.shutdown();
}

#[tokio::test]
async fn many_events_expire_together() {
    let env = ManualClock::new();
    let server = server(&env).await;
    for first in (0..1_000).step_by(100) {
        let op = |n: i32| Op::create(format!("{KEYS}default/e{n:04}"), event("e").to_string());
        server.store.write((first..first + 100).map(op).collect::<Vec<Op>>()).await.unwrap();
    }
    env.advance(60).await;
    let before = server.store.revision();
    wait_for_events(&server.store, &[]).await;
    assert_eq!(server.store.revision(), before + 1_000);
}

#[tokio::test]
async fn a_dropped_or_stopped_server_releases_its_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    for is_stopped in [true, false] {
        let store = Store::open(&path, Options::default()).unwrap();
        let server =
            punctual_server::Server::start(punctual_server::Config::new(store)).await.unwrap();
        if is_stopped {
            server.shutdown();
        }
    }
    assert!(Store::open(&path, Options::default()).is_ok());
}
