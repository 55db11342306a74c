//! Tests of the namespace defaults controller with a real server in the same process.

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

use punctual_controller::{SystemClock, run_garbage_collector, run_namespace_defaults};
use punctual_server::Config;
use serde_json::{Value, json};
use tokio_util::sync::{CancellationToken, DropGuard};

use self::harness::controller_context;
use self::in_process_server::InProcessServer;

const CA: &str = "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n";
const MAP: &str = "/configmaps/n/kube-root-ca.crt";
const ACCOUNT: &str = "/serviceaccounts/n/default";

struct NamespaceTestEnv {
    server: InProcessServer,
    _stop: DropGuard,
}

impl NamespaceTestEnv {
    async fn new() -> NamespaceTestEnv {
        let server = InProcessServer::start(Config::new).await;
        let context = controller_context(server.client(), Arc::new(SystemClock));
        let stop = CancellationToken::new();
        tokio::spawn(run_namespace_defaults(context.clone(), CA.to_owned(), stop.clone()));
        tokio::spawn(run_garbage_collector(context, stop.clone()));
        NamespaceTestEnv { server, _stop: stop.drop_guard() }
    }

    async fn send(&self, method: &str, path: &str, body: &Value) -> Value {
        self.server.send(method, path, body).await.unwrap()
    }

    async fn create_namespace(&self, name: &str) {
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        self.send("POST", "/api/v1/namespaces", &namespace).await;
    }

    fn object(&self, key: &str) -> Value {
        self.server.object(key)
    }

    async fn wait_for(&self, what: &str, condition: impl Fn(&NamespaceTestEnv) -> bool) {
        let is_met = self.server.wait_until("/", || condition(self)).await;
        assert!(is_met, "timed out: {what}");
    }

    async fn wait_for_defaults(&self) {
        let has_defaults = |env: &NamespaceTestEnv| {
            env.object(MAP)["data"] == json!({"ca.crt": CA}) && !env.object(ACCOUNT).is_null()
        };
        self.wait_for("the default objects exist", has_defaults).await;
    }
}

#[tokio::test]
async fn default_objects_are_created_in_every_namespace_and_restored() {
    let env = NamespaceTestEnv::new().await;
    env.create_namespace("n").await;
    env.wait_for_defaults().await;
    for name in ["default", "kube-system"] {
        let key = format!("/configmaps/{name}/kube-root-ca.crt");
        env.wait_for(name, |env| !env.object(&key).is_null()).await;
    }
    let map = env.object(MAP);
    assert!(map["metadata"]["annotations"]["kubernetes.io/description"].is_string());
    for path in ["configmaps/kube-root-ca.crt", "serviceaccounts/default"] {
        env.send("DELETE", &format!("/api/v1/namespaces/n/{path}"), &Value::Null).await;
        env.wait_for_defaults().await;
    }
}

#[tokio::test]
async fn changes_to_the_data_are_reverted_and_labels_are_kept() {
    let env = NamespaceTestEnv::new().await;
    env.create_namespace("n").await;
    env.wait_for_defaults().await;
    let path = "/api/v1/namespaces/n/configmaps/kube-root-ca.crt";
    let change = json!({"metadata": {"labels": {"a": "b"}}, "data": {"ca.crt": "x", "y": "z"}});
    env.send("PATCH", path, &change).await;
    env.wait_for_defaults().await;
    let change = json!({"metadata": {"annotations": {"kubernetes.io/description": null}}});
    env.send("PATCH", path, &change).await;
    let is_described =
        |env: &NamespaceTestEnv| env.object(MAP)["metadata"].get("annotations").is_some();
    env.wait_for("the description is restored", is_described).await;
    assert_eq!(env.object(MAP)["metadata"]["labels"], json!({"a": "b"}));
}

#[tokio::test]
async fn correct_namespaces_are_not_written() {
    let env = NamespaceTestEnv::new().await;
    env.create_namespace("n").await;
    env.wait_for_defaults().await;
    let before = env.server.store.revision();
    let label = json!({"metadata": {"labels": {"a": "b"}}});
    env.send("PATCH", "/api/v1/namespaces/n", &label).await;
    let path = "/api/v1/namespaces/n/serviceaccounts/default";
    env.send("PATCH", path, &label).await;
    // Namespaces are reconciled in the order of their changes.
    env.create_namespace("later").await;
    let key = "/configmaps/later/kube-root-ca.crt";
    env.wait_for("the later namespace has its defaults", |env| !env.object(key).is_null()).await;
    let mut watch = env.server.store.watch("/", before).unwrap();
    let changes = std::iter::from_fn(|| watch.try_next().unwrap());
    let keys: Vec<String> = changes.map(|change| change.key.to_string()).collect();
    let of_n = keys.iter().filter(|key| key.contains("/n/") || key.ends_with("/n")).count();
    assert_eq!(of_n, 2, "{keys:?}");
}

#[tokio::test]
async fn a_terminating_namespace_gets_no_defaults() {
    let env = NamespaceTestEnv::new().await;
    env.create_namespace("n").await;
    env.wait_for_defaults().await;
    env.send("DELETE", "/api/v1/namespaces/n", &Value::Null).await;
    env.wait_for("the namespace is deleted", |env| env.object("/namespaces/n").is_null()).await;
    assert!(env.object(MAP).is_null() && env.object(ACCOUNT).is_null());
}
