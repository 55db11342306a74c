//! Tests of the garbage collector with a real server in the same process.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod harness;
mod in_process_server;

use std::sync::Arc;

use punctual_controller::{SystemClock, run_garbage_collector};
use punctual_server::Config;
use serde_json::{Value, json};
use tokio_util::sync::{CancellationToken, DropGuard};

use self::harness::controller_context;
use self::in_process_server::InProcessServer;

struct GarbageTestEnv {
    server: InProcessServer,
    _stop: DropGuard,
}

impl GarbageTestEnv {
    async fn new() -> GarbageTestEnv {
        let server = InProcessServer::start(Config::new).await;
        let context = controller_context(server.client(), Arc::new(SystemClock));
        let stop = CancellationToken::new();
        tokio::spawn(run_garbage_collector(context, stop.clone()));
        GarbageTestEnv { server, _stop: stop.drop_guard() }
    }

    /// Creates a ConfigMap with owners, given as name and UID. Returns its UID.
    async fn create_config_map(&self, name: &str, owners: &[(&str, &str)]) -> String {
        let owners: Vec<Value> = owners
            .iter()
            .map(|(name, uid)| {
                json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid, "blockOwnerDeletion": true})
            })
            .collect();
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "ownerReferences": owners}});
        let created = self.server.send("POST", MAPS, &object).await.unwrap();
        created["metadata"]["uid"].as_str().unwrap().to_owned()
    }

    async fn delete(&self, path: &str) {
        self.server.send("DELETE", path, &Value::Null).await.unwrap();
    }

    /// Waits until the objects with this key prefix have exactly these names.
    async fn wait_for_names(&self, prefix: &str, names: &[&str]) {
        let found = || {
            let snapshot = self.server.store.snapshot();
            let keys = snapshot.prefix(prefix).map(|(key, _)| key[prefix.len()..].to_owned());
            keys.collect::<Vec<String>>()
        };
        let is_met = self.server.wait_until(prefix, || found() == names).await;
        assert!(is_met, "{:?} instead of {names:?}", found());
    }
}

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const KEYS: &str = "/configmaps/default/";

#[tokio::test]
async fn dependents_are_deleted_after_their_owner() {
    let env = GarbageTestEnv::new().await;
    let owner = env.create_config_map("a", &[]).await;
    let child = env.create_config_map("b", &[("a", &owner)]).await;
    env.create_config_map("c", &[("b", &child)]).await;
    env.create_config_map("d", &[]).await;
    env.delete(&format!("{MAPS}/a?propagationPolicy=Background")).await;
    env.wait_for_names(KEYS, &["d"]).await;
}

#[tokio::test]
async fn a_foreground_deletion_deletes_dependents_before_their_owner() {
    let env = GarbageTestEnv::new().await;
    let owner = env.create_config_map("a", &[]).await;
    let child = env.create_config_map("b", &[("a", &owner)]).await;
    env.create_config_map("c", &[("b", &child)]).await;
    let before = env.server.store.revision();
    env.delete(&format!("{MAPS}/a?propagationPolicy=Foreground")).await;
    env.wait_for_names(KEYS, &[]).await;
    let mut watch = env.server.store.watch(KEYS, before).unwrap();
    let mut deleted = Vec::new();
    while let Some(change) = watch.try_next().unwrap() {
        if change.current.is_none() {
            deleted.push(change.key[KEYS.len()..].to_owned());
        }
    }
    assert_eq!(deleted, ["c", "b", "a"]);
}

#[tokio::test]
async fn an_orphan_deletion_keeps_dependents_without_owner_references() {
    let env = GarbageTestEnv::new().await;
    let owner = env.create_config_map("a", &[]).await;
    env.create_config_map("b", &[("a", &owner)]).await;
    env.delete(&format!("{MAPS}/a?propagationPolicy=Orphan")).await;
    env.wait_for_names(KEYS, &["b"]).await;
    let remaining = env.server.send("GET", &format!("{MAPS}/b"), &Value::Null).await.unwrap();
    assert_eq!(remaining["metadata"].get("ownerReferences"), None);
}

#[tokio::test]
async fn an_object_with_another_owner_loses_only_the_reference_to_the_deleted_one() {
    let env = GarbageTestEnv::new().await;
    let first = env.create_config_map("a", &[]).await;
    let second = env.create_config_map("b", &[]).await;
    env.create_config_map("c", &[("a", &first), ("b", &second)]).await;
    env.create_config_map("d", &[("a", "no such uid")]).await;
    env.delete(&format!("{MAPS}/a?propagationPolicy=Background")).await;
    env.wait_for_names(KEYS, &["b", "c"]).await;
    let owners = || env.server.object(&format!("{KEYS}c"))["metadata"]["ownerReferences"].take();
    let is_met = env.server.wait_until(KEYS, || owners().as_array().unwrap().len() == 1).await;
    assert!(is_met, "{}", owners());
    assert_eq!(owners()[0]["uid"], json!(second));
}

#[tokio::test]
async fn an_owner_of_an_unknown_kind_is_assumed_to_exist() {
    let env = GarbageTestEnv::new().await;
    let owners = json!([{"apiVersion": "x.io/v1", "kind": "X", "name": "x", "uid": "u"}]);
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "ownerReferences": owners}});
    env.server.send("POST", MAPS, &object).await.unwrap();
    // The collector deletes this one after it has reconciled the first.
    env.create_config_map("b", &[("none", "no such uid")]).await;
    env.wait_for_names(KEYS, &["a"]).await;
}

#[tokio::test]
async fn a_namespace_is_emptied_and_deleted() {
    let env = GarbageTestEnv::new().await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}});
    env.server.send("POST", "/api/v1/namespaces", &namespace).await.unwrap();
    for (kind, plural) in [("ConfigMap", "configmaps"), ("Secret", "secrets"), ("Event", "events")]
    {
        let mut object = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "a"}});
        if kind == "Event" {
            object["involvedObject"] = json!({"namespace": "n"});
        }
        env.server.send("POST", &format!("/api/v1/namespaces/n/{plural}"), &object).await.unwrap();
    }
    env.delete("/api/v1/namespaces/n").await;
    env.wait_for_names(
        "/namespaces/",
        &["default", "kube-node-lease", "kube-public", "kube-system"],
    )
    .await;
    for prefix in ["/configmaps/n/", "/secrets/n/", "/events/n/"] {
        assert_eq!(env.server.store.snapshot().prefix(prefix).count(), 0, "{prefix}");
    }
}
