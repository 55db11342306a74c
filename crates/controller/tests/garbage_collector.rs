//! The collector on a real server in the same process.

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
use punctual_controller::{BurstGate, Context, Fence, Metrics, SystemClock, run_garbage_collector};
use punctual_server::{ADMIN_GROUP, Config, Server, User};
use punctual_store::{Options, Store};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::{CancellationToken, DropGuard};

/// More than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

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
        let stop = CancellationToken::new();
        let context = Context {
            client: client.clone(),
            clock: Arc::new(SystemClock),
            metrics: Metrics::default(),
            burst_gate: BurstGate::default(),
            fence: Fence::always_open(),
        };
        tokio::spawn(run_garbage_collector(context, stop.clone()));
        World { client, store, _stop: stop.drop_guard(), _folder: folder }
    }

    async fn send(&self, method: &str, path: &str, body: &Value) -> Result<Value, kube::Error> {
        asking::send(&self.client, method, path, body).await
    }

    /// A config map with owners, by name and uid.
    async fn config_map(&self, name: &str, owners: &[(&str, &str)]) -> String {
        let owners: Vec<Value> = owners
            .iter()
            .map(|(name, uid)| {
                json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid, "blockOwnerDeletion": true})
            })
            .collect();
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "ownerReferences": owners}});
        let made = self.send("POST", MAPS, &object).await.unwrap();
        made["metadata"]["uid"].as_str().unwrap().to_owned()
    }

    async fn delete(&self, path: &str) {
        self.send("DELETE", path, &Value::Null).await.unwrap();
    }

    /// Waits until the objects of this prefix, by name, are these.
    async fn settles(&self, prefix: &str, names: &[&str]) {
        let found = || {
            let snapshot = self.store.snapshot();
            let keys = snapshot.prefix(prefix).map(|(key, _)| key[prefix.len()..].to_owned());
            keys.collect::<Vec<String>>()
        };
        let settled = async {
            let mut watch = self.store.watch(prefix, self.store.revision()).unwrap();
            while found() != names {
                watch.next().await.unwrap();
            }
        };
        let outcome = tokio::time::timeout(PATIENCE, settled).await;
        assert!(outcome.is_ok(), "{:?} instead of {names:?}", found());
    }
}

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const KEYS: &str = "/configmaps/default/";

#[tokio::test]
async fn dependents_go_after_their_owner() {
    let world = World::new().await;
    let owner = world.config_map("a", &[]).await;
    let child = world.config_map("b", &[("a", &owner)]).await;
    world.config_map("c", &[("b", &child)]).await;
    world.config_map("d", &[]).await;
    world.delete(&format!("{MAPS}/a?propagationPolicy=Background")).await;
    world.settles(KEYS, &["d"]).await;
}

#[tokio::test]
async fn dependents_go_before_their_owner_if_it_waits_for_them() {
    let world = World::new().await;
    let owner = world.config_map("a", &[]).await;
    let child = world.config_map("b", &[("a", &owner)]).await;
    world.config_map("c", &[("b", &child)]).await;
    let before = world.store.revision();
    world.delete(&format!("{MAPS}/a?propagationPolicy=Foreground")).await;
    world.settles(KEYS, &[]).await;
    let mut watch = world.store.watch(KEYS, before).unwrap();
    let mut gone = Vec::new();
    while let Some(change) = watch.try_next().unwrap() {
        if change.current.is_none() {
            gone.push(change.key[KEYS.len()..].to_owned());
        }
    }
    assert_eq!(gone, ["c", "b", "a"]);
}

#[tokio::test]
async fn dependents_that_are_let_go_stay_without_their_owner() {
    let world = World::new().await;
    let owner = world.config_map("a", &[]).await;
    world.config_map("b", &[("a", &owner)]).await;
    world.delete(&format!("{MAPS}/a?propagationPolicy=Orphan")).await;
    world.settles(KEYS, &["b"]).await;
    let left = world.send("GET", &format!("{MAPS}/b"), &Value::Null).await.unwrap();
    assert_eq!(left["metadata"].get("ownerReferences"), None);
}

#[tokio::test]
async fn who_has_another_owner_stays_and_forgets_the_one_that_went() {
    let world = World::new().await;
    let (first, second) = (world.config_map("a", &[]).await, world.config_map("b", &[]).await);
    world.config_map("c", &[("a", &first), ("b", &second)]).await;
    world.config_map("d", &[("a", "no such uid")]).await;
    world.delete(&format!("{MAPS}/a?propagationPolicy=Background")).await;
    world.settles(KEYS, &["b", "c"]).await;
    let owners = async {
        let mut watch = world.store.watch(KEYS, world.store.revision()).unwrap();
        loop {
            let left = world.send("GET", &format!("{MAPS}/c"), &Value::Null).await.unwrap();
            if left["metadata"]["ownerReferences"]
                .as_array()
                .is_some_and(|owners| owners.len() == 1)
            {
                return left["metadata"]["ownerReferences"][0]["uid"].clone();
            }
            watch.next().await.unwrap();
        }
    };
    assert_eq!(tokio::time::timeout(PATIENCE, owners).await.unwrap(), json!(second));
}

#[tokio::test]
async fn an_owner_of_a_kind_that_nobody_serves_is_taken_to_be_there() {
    let world = World::new().await;
    let owners = json!([{"apiVersion": "x.io/v1", "kind": "X", "name": "x", "uid": "u"}]);
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "ownerReferences": owners}});
    world.send("POST", MAPS, &object).await.unwrap();
    // Something that the collector does after it has seen the first.
    world.config_map("b", &[("none", "no such uid")]).await;
    world.settles(KEYS, &["a"]).await;
}

#[tokio::test]
async fn a_namespace_is_emptied_and_goes() {
    let world = World::new().await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}});
    world.send("POST", "/api/v1/namespaces", &namespace).await.unwrap();
    for (kind, plural) in [("ConfigMap", "configmaps"), ("Secret", "secrets"), ("Event", "events")]
    {
        let mut object = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "a"}});
        if kind == "Event" {
            object["involvedObject"] = json!({"namespace": "n"});
        }
        world.send("POST", &format!("/api/v1/namespaces/n/{plural}"), &object).await.unwrap();
    }
    world.delete("/api/v1/namespaces/n").await;
    world
        .settles("/namespaces/", &["default", "kube-node-lease", "kube-public", "kube-system"])
        .await;
    for prefix in ["/configmaps/n/", "/secrets/n/", "/events/n/"] {
        assert_eq!(world.store.snapshot().prefix(prefix).count(), 0, "{prefix}");
    }
}
