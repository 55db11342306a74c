//! The furnisher on a real server in the same process.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod asking;

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use punctual_controller::{
    BurstGate, Context, Fence, Metrics, SystemClock, run_garbage_collector, run_namespace_defaults,
};
use punctual_server::{ADMIN_GROUP, Config, Server, User};
use punctual_store::{Options, Store};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::{CancellationToken, DropGuard};

/// More than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);
const CA: &str = "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n";
const MAP: &str = "/configmaps/n/kube-root-ca.crt";
const ACCOUNT: &str = "/serviceaccounts/n/default";

struct World {
    client: Client,
    store: Store,
    _stop: DropGuard,
    _folder: TempDir,
}

impl World {
    async fn new() -> World {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("store"), Options::default()).unwrap();
        let server = Server::start(Config::new(store.clone())).await.unwrap();
        let client = Client::new(server.local_router(User::new("test", ADMIN_GROUP)), "default");
        let context = Context {
            client: client.clone(),
            clock: Arc::new(SystemClock),
            metrics: Metrics::default(),
            burst_gate: BurstGate::default(),
            fence: Fence::always_open(),
        };
        let stop = CancellationToken::new();
        tokio::spawn(run_namespace_defaults(context.clone(), CA.to_owned(), stop.clone()));
        tokio::spawn(run_garbage_collector(context, stop.clone()));
        World { client, store, _stop: stop.drop_guard(), _folder: folder }
    }

    async fn send(&self, method: &str, path: &str, body: &Value) -> Value {
        asking::send(&self.client, method, path, body).await.unwrap()
    }

    async fn namespace(&self, name: &str) {
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        self.send("POST", "/api/v1/namespaces", &namespace).await;
    }

    fn object(&self, key: &str) -> Value {
        let entry = self.store.get(key);
        entry.map(|entry| serde_json::from_slice(&entry.value).unwrap()).unwrap_or_default()
    }

    async fn until(&self, what: &str, is_so: impl Fn(&World) -> bool) {
        let mut watch = self.store.watch("/", self.store.revision()).unwrap();
        let wait = async {
            while !is_so(self) {
                watch.next().await.unwrap();
            }
        };
        assert!(tokio::time::timeout(PATIENCE, wait).await.is_ok(), "not until now: {what}");
    }

    async fn until_furnished(&self) {
        let is_right = |world: &World| {
            world.object(MAP)["data"] == json!({"ca.crt": CA}) && !world.object(ACCOUNT).is_null()
        };
        self.until("all is there", is_right).await;
    }
}

#[tokio::test]
async fn every_namespace_is_furnished_and_stays_so() {
    let world = World::new().await;
    world.namespace("n").await;
    world.until_furnished().await;
    for name in ["default", "kube-system"] {
        let key = format!("/configmaps/{name}/kube-root-ca.crt");
        world.until(name, |world| !world.object(&key).is_null()).await;
    }
    let map = world.object(MAP);
    assert!(map["metadata"]["annotations"]["kubernetes.io/description"].is_string());
    for path in ["configmaps/kube-root-ca.crt", "serviceaccounts/default"] {
        world.send("DELETE", &format!("/api/v1/namespaces/n/{path}"), &Value::Null).await;
        world.until_furnished().await;
    }
}

#[tokio::test]
async fn what_somebody_changed_is_undone_and_what_is_theirs_is_left() {
    let world = World::new().await;
    world.namespace("n").await;
    world.until_furnished().await;
    let path = "/api/v1/namespaces/n/configmaps/kube-root-ca.crt";
    let change = json!({"metadata": {"labels": {"a": "b"}}, "data": {"ca.crt": "x", "y": "z"}});
    world.send("PATCH", path, &change).await;
    world.until_furnished().await;
    let change = json!({"metadata": {"annotations": {"kubernetes.io/description": null}}});
    world.send("PATCH", path, &change).await;
    let is_described = |world: &World| world.object(MAP)["metadata"].get("annotations").is_some();
    world.until("it is described", is_described).await;
    assert_eq!(world.object(MAP)["metadata"]["labels"], json!({"a": "b"}));
}

#[tokio::test]
async fn where_all_is_well_nothing_is_written() {
    let world = World::new().await;
    world.namespace("n").await;
    world.until_furnished().await;
    let before = world.store.revision();
    let label = json!({"metadata": {"labels": {"a": "b"}}});
    world.send("PATCH", "/api/v1/namespaces/n", &label).await;
    let path = "/api/v1/namespaces/n/serviceaccounts/default";
    world.send("PATCH", path, &label).await;
    // Namespaces are looked at in the order of their changes.
    world.namespace("later").await;
    let key = "/configmaps/later/kube-root-ca.crt";
    world.until("the later one is furnished", |world| !world.object(key).is_null()).await;
    let mut watch = world.store.watch("/", before).unwrap();
    let changes = std::iter::from_fn(|| watch.try_next().unwrap());
    let keys: Vec<String> = changes.map(|change| change.key.to_string()).collect();
    let of_n = keys.iter().filter(|key| key.contains("/n/") || key.ends_with("/n")).count();
    assert_eq!(of_n, 2, "{keys:?}");
}

#[tokio::test]
async fn a_namespace_that_goes_is_left_alone() {
    let world = World::new().await;
    world.namespace("n").await;
    world.until_furnished().await;
    world.send("DELETE", "/api/v1/namespaces/n", &Value::Null).await;
    world.until("it is gone", |world| world.object("/namespaces/n").is_null()).await;
    assert!(world.object(MAP).is_null() && world.object(ACCOUNT).is_null());
}
