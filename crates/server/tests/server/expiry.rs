//! Events go some time after their last write.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use punctual_server::{ServerEnv, SystemEnv};
use punctual_store::{Op, Options, Store};
use serde_json::{Value, json};

use crate::client::{Client, Site};

const EVENTS: &str = "/api/v1/namespaces/default/events";
const KEYS: &str = "/events/";

/// Months, since a commit takes its real time, in which these pass quickly.
const SECONDS_MAX: usize = 10_000_000;

/// A world whose clock stands still unless it is set.
struct Stage {
    now: Mutex<Timestamp>,
}

impl Stage {
    fn new() -> Arc<Stage> {
        Arc::new(Stage { now: Mutex::new("2026-01-31T08:00:00Z".parse().unwrap()) })
    }

    /// Sets the clock, once everybody has seen what happened so far.
    async fn pass(&self, minutes: i64) {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        *self.now.lock().unwrap() += SignedDuration::from_mins(minutes);
    }
}

impl ServerEnv for Stage {
    fn now(&self) -> Timestamp {
        *self.now.lock().unwrap()
    }

    fn fill_random(&self, bytes: &mut [u8]) {
        SystemEnv.fill_random(bytes);
    }
}

async fn site(env: &Arc<Stage>) -> Site {
    let env = env.clone();
    Site::with(Options::default(), |config| config.env = env).await
}

fn event(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": name},
        "involvedObject": {"kind": "CronJob", "namespace": "default", "name": "a"},
        "reason": "Why", "message": "what", "type": "Normal", "count": 1})
}

async fn create(client: &Client, name: &str) {
    let answer = client.post(EVENTS, &event(name)).await;
    assert_eq!(answer.code, 201, "{}", answer.text);
}

fn there(store: &Store) -> Vec<String> {
    let snapshot = store.snapshot();
    let names = snapshot.prefix(KEYS).map(|(key, _)| key.rsplit('/').next().unwrap().to_owned());
    names.collect()
}

/// Lets timers pass, at no time, until the Events are these.
async fn settles(store: &Store, names: &[&str]) {
    tokio::time::pause();
    for _ in 0..SECONDS_MAX {
        if there(store) == names {
            return tokio::time::resume();
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    panic!("{:?} instead of {names:?}", there(store));
}

#[tokio::test]
async fn an_event_goes_an_hour_after_its_last_write() {
    let env = Stage::new();
    let site = site(&env).await;
    let client = site.admin();
    for name in ["a", "b", "c"] {
        create(&client, name).await;
    }
    // What a reporter says of the time does not matter once we have seen it being written.
    let again = json!({"count": 2, "lastTimestamp": "2020-01-01T00:00:00Z"});
    env.pass(30).await;
    assert_eq!(client.merge(&format!("{EVENTS}/b"), &again).await.code, 200);
    env.pass(30).await;
    settles(&site.store, &["b"]).await;
    env.pass(30).await;
    settles(&site.store, &[]).await;
}

#[tokio::test]
async fn nothing_is_written_while_nothing_is_due_and_other_kinds_stay() {
    let env = Stage::new();
    let site = site(&env).await;
    let client = site.admin();
    create(&client, "a").await;
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}});
    assert_eq!(client.post("/api/v1/namespaces/default/configmaps", &map).await.code, 201);
    env.pass(59).await;
    let before = site.store.revision();
    tokio::time::pause();
    tokio::time::sleep(Duration::from_secs(10 * 60)).await;
    tokio::time::resume();
    assert_eq!(site.store.revision(), before);
    env.pass(1).await;
    settles(&site.store, &[]).await;
    assert_eq!(site.store.revision(), before + 1);
}

#[tokio::test]
async fn events_of_an_earlier_life_go_by_what_they_tell_of_their_time() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("store"), Options::default()).unwrap();
    let old = |name: &str, last: &str| {
        let mut event = event(name);
        event["metadata"]["creationTimestamp"] = json!("2026-01-31T07:10:00Z");
        event["lastTimestamp"] = json!(last);
        Op::create(format!("{KEYS}default/{name}"), event.to_string())
    };
    store.write(old("soon", "2026-01-31T07:05:00Z")).await.unwrap();
    store.write(old("later", "2026-01-31T07:30:00Z")).await.unwrap();
    store.write(old("liar", "2036-01-31T07:30:00Z")).await.unwrap();
    store.write(Op::create(format!("{KEYS}default/garbled"), "{")).await.unwrap();
    let env = Stage::new();
    let mut config = punctual_server::Config::new(store.clone());
    config.env = env.clone();
    let server = punctual_server::Server::start(config).await.unwrap();
    env.pass(10).await;
    settles(&store, &["garbled", "later", "liar"]).await;
    env.pass(20).await;
    settles(&store, &["garbled", "liar"]).await;
    env.pass(60).await;
    settles(&store, &[]).await;
    server.shutdown();
}

#[tokio::test]
async fn many_go_as_one_does() {
    let env = Stage::new();
    let site = site(&env).await;
    for first in (0..1_000).step_by(100) {
        let op = |n: i32| Op::create(format!("{KEYS}default/e{n:04}"), event("e").to_string());
        site.store.write((first..first + 100).map(op).collect::<Vec<Op>>()).await.unwrap();
    }
    env.pass(60).await;
    let before = site.store.revision();
    settles(&site.store, &[]).await;
    assert_eq!(site.store.revision(), before + 1_000);
}

#[tokio::test]
async fn a_server_that_is_dropped_or_ended_lets_its_store_go() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    for ends in [true, false] {
        let store = Store::open(&path, Options::default()).unwrap();
        let server =
            punctual_server::Server::start(punctual_server::Config::new(store)).await.unwrap();
        if ends {
            server.shutdown();
        }
    }
    assert!(Store::open(&path, Options::default()).is_ok());
}
